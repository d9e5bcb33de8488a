// Fetch and decode. A run takes pushbuffer words in bursts and adds up what they cost; a method that must happen at its
// own time stops the burst, so that everything before it is charged first.
#include "gpu_model/host/pbdma.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "gpu_model/engine/method_table.h"
#include "gpu_model/host/crc.h"
#include "gpu_model/journal_records.h"
#include "sim/probe.h"

namespace gpu {

namespace {

constexpr u64 kRunCostMax_ps = 5'000'000;  // the longest that one run charges before others get their turn
constexpr u32 kHostMethodsEnd = 0x100;     // methods below are host's own
constexpr u32 kMethodSpaceEnd = 0x4000;

u32 load_u32(PhysicalMemory& memory, PhysAddr address) {
    std::array<u8, 4> bytes{0xFF, 0xFF, 0xFF, 0xFF};  // what the bus returns when nothing answers
    memory.read(address, bytes);
    return u32{bytes[0]} | u32{bytes[1]} << 8 | u32{bytes[2]} << 16 | u32{bytes[3]} << 24;
}

void store_u32(PhysicalMemory& memory, PhysAddr address, u32 value) {
    std::array<u8, 4> bytes{static_cast<u8>(value), static_cast<u8>(value >> 8), static_cast<u8>(value >> 16),
                            static_cast<u8>(value >> 24)};
    memory.write(address, bytes);
}

}  // namespace

Pbdma::Pbdma(sim::Kernel& kernel, const TimingParams& timing, PhysicalMemory& memory, Mmu& mmu, const GpuClock& clock,
             PbdmaOwner& owner, u32 index, u32 runlist_id)
    : kernel_(kernel),
      timing_(timing),
      memory_(memory),
      mmu_(mmu),
      clock_(clock),
      owner_(owner),
      index_(index),
      runlist_id_(runlist_id) {
    words_.reserve(kBurstWords);
    reset();
}

bool Pbdma::load(Channel& channel, u32 tsgid) {
    using INST_PTR = sim::Field<27, 0>;
    using INST_TARGET = sim::Field<29, 28>;
    constexpr u32 kRaminVeidByte = 0x218;  // NV_RAMIN_ENGINE_WFI_VEID
    using VEID = sim::Field<5, 0>;

    PhysAddr instance;
    aperture_from_target(INST_TARGET::get(channel.instance_register), instance.aperture);
    instance.value = u64{INST_PTR::get(channel.instance_register)} << 12;
    for (u32 i = 0; i < ramfc::kWords; ++i) fc_[i] = load_u32(memory_, instance + i * 4);

    ahead_ = {};  // what was fetched and not used is fetched again
    channel_ = &channel;
    channel.pbdma = index_;
    channel.latency_paid = false;
    channel.streaming = false;
    if (pair(ramfc::PB_GET, ramfc::PB_GET_HI) != pair(ramfc::PB_PUT, ramfc::PB_PUT_HI)) channel.entry_in_hand = true;

    context_.chid = channel.chid;
    context_.runlist_id = runlist_id_;
    context_.tsgid = tsgid;
    context_.veid = VEID::get(load_u32(memory_, instance + kRaminVeidByte));
    context_.privileged = ramfc::CONFIG_AUTH_LEVEL::get(fc_[ramfc::CONFIG]) != 0;
    context_.physical = context_.privileged || ramfc::HCE_CTRL_PRIV_MODE::get(fc_[ramfc::HCE_CTRL]) != 0;
    context_.instance = instance;
    context_.space = mmu_.load_address_space(instance);
    context_.gr_space = mmu_.load_address_space(instance, context_.veid);

    u32 signature = ramfc::SIGNATURE_HW::get(fc_[ramfc::SIGNATURE]);
    if (signature != ramfc::SIGNATURE_HW_VALID && signature != cls::TURING_CHANNEL_GPFIFO_A) {
        fail(pbdma_intr::SIGNATURE, 0, instance.value, 0, signature);
        return false;
    }
    userd_valid_ = aperture_from_target(ramfc::USERD_TARGET::get(fc_[ramfc::USERD]), userd_.aperture);
    userd_.value = u64{ramfc::USERD_ADDR::get(fc_[ramfc::USERD])} << 9 |
                   u64{ramfc::USERD_HI_ADDR::get(fc_[ramfc::USERD_HI])} << 32;
    refresh_gp_put();
    return true;
}

void Pbdma::save() {
    if (userd_valid_) write_back(true);
    for (u32 i = 0; i < ramfc::kWords; ++i) store_u32(memory_, context_.instance + i * 4, fc_[i]);
    last_chid = channel_->chid;
    channel_->pbdma = kNoPbdma;
    channel_->latency_paid = false;
    channel_ = nullptr;
    userd_valid_ = false;
}

void Pbdma::refresh_gp_put() {
    fc_[ramfc::GP_PUT] = userd_valid_ ? load_u32(memory_, userd_ + ramuserd::GP_PUT) : ~u32{0};
    channel_->gp_put = fc_[ramfc::GP_PUT];
    channel_->gp_get = fc_[ramfc::GP_GET];
}

bool Pbdma::has_work() const {
    return channel_->entry_in_hand || fc_[ramfc::GP_GET] != fc_[ramfc::GP_PUT];
}

Pbdma::Result Pbdma::run() {
    cost_ps_ = 0;
    engine_costs_ = burst_cut_ = false;
    result_ = {};
    for (;;) {
        Step step = Step::Done;
        if (pair(ramfc::PB_GET, ramfc::PB_GET_HI) != pair(ramfc::PB_PUT, ramfc::PB_PUT_HI))
            step = run_segment();
        else if (channel_->entry_in_hand)
            finish_entry();
        else
            step = fetch_entry();
        if (step != Step::Done) break;
        if (cost_ps_ >= kRunCostMax_ps || burst_cut_) {
            stop(Outcome::Continue);
            break;
        }
    }
    result_.delay_ps += cost_ps_;
    return result_;
}

// A full ring of control entries costs a host cycle each, so no ring can hold a run for ever.
Pbdma::Step Pbdma::fetch_entry() {
    if (fc_[ramfc::GP_GET] == fc_[ramfc::GP_PUT]) {
        channel_->streaming = false;
        write_back(true);
        return stop(Outcome::Idle);
    }
    u64 base = u64{ramfc::GP_BASE_OFFSET::get(fc_[ramfc::GP_BASE])} << 3 |
               u64{ramfc::GP_BASE_HI_OFFSET::get(fc_[ramfc::GP_BASE_HI])} << 32;
    u64 limit = u64{1} << ramfc::GP_BASE_HI_LIMIT2::get(fc_[ramfc::GP_BASE_HI]);
    u64 va = base + u64{fc_[ramfc::GP_GET]} * 8;
    if (fc_[ramfc::GP_GET] >= limit || fc_[ramfc::GP_PUT] >= limit) {
        return fail(pbdma_intr::GPPTR, 0, base, 0, fc_[ramfc::GP_PUT]);
    }
    if (va + 8 > kHostVaLimit) return fail(pbdma_intr::GPFIFO, 0, va, 0, 0);
    if (!channel_->streaming) {
        // The first entry waits for two dependent fetches: the entry, then its pushbuffer.
        Step step = pay(2 * fetch_latency(va));
        if (step != Step::Done) return step;
        channel_->streaming = true;
    }
    MmuFault mmu_fault;
    GpEntry entry;
    if (ahead_.entry && ahead_.gp_get == fc_[ramfc::GP_GET]) {
        entry = {ahead_.word0, ahead_.word1};
    } else {
        ahead_ = {};
        if (!read_entry(va, entry, mmu_fault)) return fault(mmu_fault);
    }
    ahead_.entry = ahead_.looked = false;
    cost_ps_ += timing_.host_clock_ps;
    channel_->entry_in_hand = true;
    channel_->entry_word0 = entry.word0;
    channel_->entry_word1 = entry.word1;
    channel_->entry_methods = 0;
    channel_->entry_digest = 0;
    fc_[ramfc::GP_FETCH] = static_cast<u32>((fc_[ramfc::GP_GET] + 1) & (limit - 1));
    if (entry.control()) return control_entry(entry);
    fc_[ramfc::GP_CRC] = crc_word(crc_word(fc_[ramfc::GP_CRC], entry.word0), entry.word1);
    if (entry.va() + u64{entry.length()} * 4 > kHostVaLimit) return fail(pbdma_intr::GPENTRY, 0, va, 0, entry.word0);
    if (entry.conditional() && !executing()) {
        SIM_PROBE(kernel_, "host.gp_entry.conditional_skipped");
        return Step::Done;
    }
    using namespace ramfc;
    u32& header = fc_[PB_HEADER];
    header = PB_HEADER_LEVEL::set(header, entry.subroutine());
    header = PB_HEADER_CONDITIONAL::set(header, entry.conditional());
    set_pair(PB_GET, PB_GET_HI, entry.va());
    set_pair(PB_PUT, PB_PUT_HI, entry.va() + u64{entry.length()} * 4);
    if (!entry.subroutine()) set_pair(TOP_LEVEL_GET, TOP_LEVEL_GET_HI, entry.va());
    if (entry.conditional() && PB_COUNT_VALUE::get(fc_[PB_COUNT]) != 0) {
        return fail(pbdma_intr::PBSEG, 0, entry.va(), PB_HEADER_METHOD::get(header) << 2, header);
    }
    return Step::Done;
}

bool Pbdma::read_entry(u64 va, GpEntry& entry, MmuFault& mmu_fault) {
    std::array<u8, 8> bytes{};
    if (!mmu_.read(context_.space, GpuVa{va}, bytes, client(), mmu_fault)) return false;
    for (u32 i = 0; i < 4; ++i) {
        entry.word0 |= u32{bytes[i]} << 8 * i;
        entry.word1 |= u32{bytes[4 + i]} << 8 * i;
    }
    return true;
}

// Host fetches the next segment while it parses this one, as long as that entry does not ask it to wait. Seed 0 never
// gets so far ahead; other seeds sometimes do, so that what this segment stores into the next one may come too late.
void Pbdma::fetch_ahead() {
    ahead_ = {};
    ahead_.looked = true;
    u32 next = fc_[ramfc::GP_FETCH];
    if (next == fc_[ramfc::GP_PUT]) return;
    sim::RandomStream stream = kernel_.stream("gpu.host.pbdma", fmt::format("{} ahead {}", index_, ++ahead_draws_));
    if (stream.below(2) == 0) return;
    u64 base = u64{ramfc::GP_BASE_OFFSET::get(fc_[ramfc::GP_BASE])} << 3 |
               u64{ramfc::GP_BASE_HI_OFFSET::get(fc_[ramfc::GP_BASE_HI])} << 32;
    GpEntry entry;
    MmuFault ignored;  // an access that fails now is made again when it counts
    if (!read_entry(base + u64{next} * 8, entry, ignored)) return;
    if (entry.sync() || entry.conditional()) return;
    ahead_.entry = true;
    ahead_.gp_get = next;
    ahead_.word0 = entry.word0;
    ahead_.word1 = entry.word1;
    if (entry.control() || entry.va() + u64{entry.length()} * 4 > kHostVaLimit) return;
    ahead_.va = entry.va();
    ahead_.words.resize(std::min(entry.length(), kAheadWords));
    std::span<u8> bytes(reinterpret_cast<u8*>(ahead_.words.data()), ahead_.words.size() * 4);
    if (!mmu_.read(context_.space, GpuVa{entry.va()}, bytes, client(), ignored)) ahead_.words.clear();
    SIM_PROBE(kernel_, "host.gp_entry.fetched_ahead");
}

Pbdma::Step Pbdma::control_entry(GpEntry entry) {
    u32 bits = 0;
    switch (static_cast<GpEntry::Opcode>(entry.opcode())) {
        case GpEntry::Opcode::Nop:
            break;
        case GpEntry::Opcode::GpCrc:
            if (fc_[ramfc::GP_CRC] != entry.word0) bits = pbdma_intr::GPCRC;
            fc_[ramfc::GP_CRC] = 0;
            break;
        case GpEntry::Opcode::PbCrc:
            if (fc_[ramfc::PB_CRC] != entry.word0) bits = pbdma_intr::PBCRC;
            fc_[ramfc::PB_CRC] = 0;
            break;
        case GpEntry::Opcode::Illegal:
        default:
            bits = pbdma_intr::GPENTRY;
            break;
    }
    if (bits == 0) return Step::Done;
    return fail(bits, 0, pair(ramfc::GP_BASE, ramfc::GP_BASE_HI), 0, entry.word0);
}

void Pbdma::finish_entry() {
    channel_->entry_in_hand = false;
    kernel_.journal().append(records::gp_entry, kernel_.now(),
                             {runlist_id_, channel_->chid, fc_[ramfc::GP_GET], channel_->entry_word0,
                              channel_->entry_word1, channel_->entry_methods, channel_->entry_digest});
    fc_[ramfc::GP_GET] = fc_[ramfc::GP_FETCH];
    channel_->gp_get = fc_[ramfc::GP_GET];
    write_back(false);
    kernel_.watchdog().progress();
}

Pbdma::Step Pbdma::run_segment() {
    u64 get = pair(ramfc::PB_GET, ramfc::PB_GET_HI);
    u64 put = pair(ramfc::PB_PUT, ramfc::PB_PUT_HI);
    if (get > put || put > kHostVaLimit) {
        set_pair(ramfc::PB_GET, ramfc::PB_GET_HI, put);
        return fail(pbdma_intr::PBPTR, 0, get, 0, 0);
    }
    u64 left = (put - get) / 4;
    u64 count = std::min<u64>(left, burst_words());
    burst_cut_ = count < std::min<u64>(left, kBurstWords);
    MmuFault mmu_fault;
    if (!ahead_.words.empty() && ahead_.va == get) {
        words_ = ahead_.words;
        words_.resize(std::min<u64>(count, words_.size()));
        ahead_.words.clear();
    } else {
        words_.resize(count);
        std::span<u8> bytes(reinterpret_cast<u8*>(words_.data()), count * 4);
        if (!mmu_.read(context_.space, GpuVa{get}, bytes, client(), mmu_fault)) {
            u64 valid = mmu_fault.va.value > get ? (mmu_fault.va.value - get) / 4 : 0;
            if (valid == 0) {
                words_.clear();
                return fault(mmu_fault);
            }
            words_.resize(std::min(valid, count));
        }
    }
    if (kernel_.seed() != 0 && !ahead_.looked) fetch_ahead();
    u32 used = 0;
    Step step = Step::Done;
    u32 available = static_cast<u32>(words_.size());
    bool segment_ended = false;
    while (used < available && step == Step::Done) {
        word_va_ = get + u64{used} * 4;
        u32 taken = 0;
        if (ramfc::PB_COUNT_VALUE::get(fc_[ramfc::PB_COUNT]) != 0) {
            step = take_data(&words_[used], available - used, taken);
        } else {
            segment_ended =
                static_cast<PbHeader::SecOp>(PbHeader::SEC_OP::get(words_[used])) == PbHeader::SecOp::EndPbSegment;
            step = take_header(words_[used]);
            taken = step == Step::Stop ? 0 : 1;
        }
        for (u32 i = 0; i < taken; ++i) fc_[ramfc::PB_CRC] = crc_word(fc_[ramfc::PB_CRC], words_[used + i]);
        cost_ps_ += u64{taken} * timing_.host_clock_ps;
        used += taken;
        if (segment_ended || (engine_costs_ && cost_ps_ >= kRunCostMax_ps)) break;
    }
    set_pair(ramfc::PB_GET, ramfc::PB_GET_HI, segment_ended ? put : get + u64{used} * 4);
    words_.clear();
    return step;
}

Pbdma::Step Pbdma::take_header(u32 header) {
    using namespace ramfc;
    u32 address = PbHeader::ADDRESS::get(header);
    u32 count = PbHeader::COUNT::get(header);
    u32 subchannel = PbHeader::SUBCHANNEL::get(header);
    PbHeader::SecOp op = static_cast<PbHeader::SecOp>(PbHeader::SEC_OP::get(header));
    u32 saved = fc_[PB_HEADER];
    fc_[PB_HEADER] = PB_HEADER_TYPE::set(PB_HEADER_SUBCHANNEL::set(PB_HEADER_METHOD::set(saved, address), subchannel),
                                         static_cast<u32>(op));
    fc_[PB_HEADER] = PB_HEADER_FIRST::set(fc_[PB_HEADER], 1);
    switch (op) {
        case PbHeader::SecOp::IncMethod:
        case PbHeader::SecOp::OneInc: {
            u32 words_addressed = op == PbHeader::SecOp::OneInc ? std::min(count, 2u) : count;
            if (address + words_addressed > kMethodSpaceEnd / 4)
                return fail(pbdma_intr::PBENTRY, 0, word_va_, address << 2, header);
            fc_[PB_COUNT] = PB_COUNT_VALUE::set(fc_[PB_COUNT], count);
            return Step::Done;
        }
        case PbHeader::SecOp::NonIncMethod:
            fc_[PB_COUNT] = PB_COUNT_VALUE::set(fc_[PB_COUNT], count);
            return Step::Done;
        case PbHeader::SecOp::ImmdDataMethod: {
            if (!executing()) return Step::Done;
            u32 data = PbHeader::IMMD_DATA::get(header);
            u32 taken = 0;
            return deliver(subchannel, address << 2, 0, &data, 1, taken);
        }
        case PbHeader::SecOp::EndPbSegment:
            return Step::Done;
        case PbHeader::SecOp::Grp0UseTert:
            break;
        case PbHeader::SecOp::Grp2UseTert:
        case PbHeader::SecOp::Reserved6:
            return fail(pbdma_intr::PBENTRY, 0, word_va_, address << 2, header);
    }
    u32 mask = PbHeader::SUBDEVICE_MASK::get(header);
    u32& subdevice = fc_[SUBDEVICE];
    switch (static_cast<PbHeader::TertOp>(PbHeader::TERT_OP::get(header))) {
        case PbHeader::TertOp::Grp0IncMethod:
            if (header == 0) return Step::Done;  // an all-zero word is a NOP
            return fail(pbdma_intr::PBENTRY, 0, word_va_, address << 2, header);
        case PbHeader::TertOp::StoreSubDevMask:
            subdevice = SUBDEVICE_STORED_MASK::set(subdevice, mask);
            return Step::Done;
        case PbHeader::TertOp::UseSubDevMask:
            mask = SUBDEVICE_STORED_MASK::get(subdevice);
            break;
        case PbHeader::TertOp::SetSubDevMask:
            break;
    }
    // Guess: a board with one GPU is sub-device 0, so bit 0 of the mask and of ID decide.
    subdevice = SUBDEVICE_STATUS::set(subdevice, mask & SUBDEVICE_ID::get(subdevice) & 1);
    return Step::Done;
}

bool Pbdma::executing() const {
    u32 subdevice = fc_[ramfc::SUBDEVICE];
    return ramfc::SUBDEVICE_CHANNEL_DMA::get(subdevice) == 0 || ramfc::SUBDEVICE_STATUS::get(subdevice) != 0;
}

Pbdma::Step Pbdma::take_data(const u32* words, u32 count, u32& taken) {
    using namespace ramfc;
    u32 header = fc_[PB_HEADER];
    u32 left = PB_COUNT_VALUE::get(fc_[PB_COUNT]);
    u32 method = PB_HEADER_METHOD::get(header) << 2;
    PbType type = static_cast<PbType>(PB_HEADER_TYPE::get(header));
    u32 batch = std::min(left, count);
    u32 increment = 0;
    if (type == PbType::Inc) {
        increment = 4;
        // A saved header may claim more than the method space holds; addresses wrap as the field does.
        batch = std::min(batch, (kMethodSpaceEnd - method) / 4);
    }
    bool once = type == PbType::IncOnce && PB_HEADER_FIRST::get(header) != 0;
    if (once) {
        increment = 4;
        batch = 1;
    }
    Step step = Step::Done;
    if (executing())
        step = deliver(PB_HEADER_SUBCHANNEL::get(header), method, increment, words, batch, taken);
    else
        taken = batch;
    header = PB_HEADER_METHOD::set(header, (method + increment * taken) >> 2);
    if (taken != 0) header = PB_HEADER_FIRST::set(header, 0);
    fc_[PB_HEADER] = header;
    fc_[PB_COUNT] = PB_COUNT_VALUE::set(fc_[PB_COUNT], left - taken);
    return step;
}

Pbdma::Step Pbdma::deliver(u32 subchannel, u32 method, u32 increment, const u32* data, u32 count, u32& taken) {
    taken = 0;
    while (taken < count) {
        u32 at = method + increment * taken;
        u32 done = 0;
        Step step = Step::Done;
        channel_->last_subchannel = subchannel;
        channel_->last_method = at;
        channel_->last_data = data[taken];
        if (at < kHostMethodsEnd) {
            step = host_method(subchannel, at, data[taken]);
            done = step == Step::Stop ? 0 : 1;
        } else {
            step = engine_methods(subchannel, at, increment, data + taken, count - taken, done);
        }
        fold(subchannel, at, increment, data + taken, done);
        taken += done;
        if (step != Step::Done) return step;
        if (engine_costs_ && cost_ps_ >= kRunCostMax_ps && taken < count) return stop(Outcome::Continue);
    }
    return Step::Done;
}

// Word by word, so that the digest of an entry does not depend on where bursts were cut.
void Pbdma::fold(u32 subchannel, u32 method, u32 increment, const u32* data, u32 count) {
    constexpr u64 kMix = 0x9E3779B97F4A7C15;
    u64 digest = channel_->entry_digest;
    u32 crc = fc_[ramfc::METHOD_CRC];
    for (u32 i = 0; i < count; ++i) {
        u32 address = (method + increment * i) | subchannel << 16;
        digest = (digest ^ (u64{address} << 32 | data[i])) * kMix;
        digest ^= digest >> 29;
        if ((address & (kMethodSpaceEnd - 1)) != nvc46f::CRC_CHECK) crc = crc_word(crc_word(crc, address), data[i]);
    }
    channel_->entry_digest = digest;
    channel_->entry_methods += count;
    fc_[ramfc::METHOD_CRC] = crc;
}

Pbdma::Step Pbdma::engine_methods(u32 subchannel, u32 method, u32 increment, const u32* data, u32 count, u32& taken) {
    if (subchannel >= kSoftwareSubchannels) {
        taken = 1;
        return fail(pbdma_intr::DEVICE, 0, word_va_, method | subchannel << 16, data[0]);
    }
    u32 engine_index = kNoEngine;
    Engine* engine = owner_.engine_for(*this, subchannel, engine_index);
    bool is_ce = engine != nullptr && engine->class_id() == cls::TURING_DMA_COPY_A;
    u32 target = fc_[ramfc::TARGET];
    u32 valid = is_ce ? ramfc::TARGET_CE_CTX_VALID::get(target) : ramfc::TARGET_ENG_CTX_VALID::get(target);
    if (engine == nullptr || valid == 0) {
        taken = 1;
        return fail(0, pbdma_intr::CTXNOTVALID, word_va_, method | subchannel << 16, data[0]);
    }
    if (!is_ce) {
        Step step = switch_context(engine_index);
        if (step != Step::Done) return step;
    }
    MethodResult result = MethodResult::Ok;
    taken = engine->methods(context_, subchannel, method, increment, data, count, result);
    if (u64 engine_ps = engine->take_cost_ps()) {
        cost_ps_ += engine_ps;
        engine_costs_ = true;
    }
    if (result == MethodResult::Ok) return Step::Done;
    u32 refused = method + increment * taken;
    Step step = engine_refusal(result, subchannel, refused, data[taken]);
    if (step == Step::DoneStop) ++taken;
    return step;
}

// Groups share the graphics engine one after the other: its context changes with the first method of another group.
// Guess: a context that comes into an idle engine which holds none costs nothing here, since its set-up has loaded it.
Pbdma::Step Pbdma::switch_context(u32 engine_index) {
    u32& inside = owner_.engine_context(engine_index);
    if (inside == context_.tsgid) return Step::Done;
    if (inside != kNoTsg) {
        if (!channel_->latency_paid) owner_.pause_timeslice(*this, SimTime{timing_.engine_switch_ps});
        Step step = pay(timing_.engine_switch_ps);
        if (step != Step::Done) return step;
    }
    inside = context_.tsgid;
    return Step::Done;
}

Pbdma::Step Pbdma::engine_refusal(MethodResult result, u32 subchannel, u32 method, u32 data) {
    u32 bits = 0;
    switch (result) {
        case MethodResult::Ok:
            return Step::Done;
        case MethodResult::Busy:
            return stop(Outcome::WaitEngine);
        case MethodResult::Error:
            stop(Outcome::Fault);
            return Step::DoneStop;
        case MethodResult::IllegalMethod:
            bits = pbdma_intr::HCE_ILLEGAL_MTHD;
            break;
        case MethodResult::IllegalClass:
            bits = pbdma_intr::HCE_ILLEGAL_CLASS;
            break;
        case MethodResult::Privilege:
            bits = pbdma_intr::HCE_PRIV;
            break;
        case MethodResult::RenderEnableOp:
            bits = pbdma_intr::HCE_RE_ILLEGAL_OP;
            break;
        case MethodResult::RenderEnableAlign:
            bits = pbdma_intr::HCE_RE_ALIGNB;
            break;
    }
    hce_dbg0 = method & (kMethodSpaceEnd - 4);
    hce_dbg1 = data;
    return fail(0, bits, word_va_, method | subchannel << 16, data);
}

void Pbdma::write_back(bool all) {
    if (!userd_valid_) return;
    using namespace ramuserd;
    store_u32(memory_, userd_ + GP_GET, fc_[ramfc::GP_GET]);
    if (!all) return;
    store_u32(memory_, userd_ + PUT, fc_[ramfc::PB_PUT]);
    store_u32(memory_, userd_ + PUT_HI, fc_[ramfc::PB_PUT_HI]);
    store_u32(memory_, userd_ + GET, fc_[ramfc::PB_GET]);
    store_u32(memory_, userd_ + GET_HI, fc_[ramfc::PB_GET_HI]);
    store_u32(memory_, userd_ + TOP_LEVEL_GET, fc_[ramfc::TOP_LEVEL_GET]);
    store_u32(memory_, userd_ + TOP_LEVEL_GET_HI, fc_[ramfc::TOP_LEVEL_GET_HI]);
    store_u32(memory_, userd_ + REF, fc_[ramfc::REF]);
}

Pbdma::Step Pbdma::pay(u64 delay_ps) {
    if (channel_->latency_paid) {
        channel_->latency_paid = false;
        return Step::Done;
    }
    channel_->latency_paid = true;
    return stop(Outcome::Continue, delay_ps);
}

Pbdma::Step Pbdma::stop(Outcome outcome, u64 delay_ps, bool switch_tsg) {
    result_ = {outcome, delay_ps, switch_tsg};
    return Step::Stop;
}

Pbdma::Step Pbdma::fail(u32 intr_0_bits, u32 intr_1_bits, u64 address, u32 method, u32 data) {
    error_ = {intr_0_bits, intr_1_bits, address, method, data};
    intr_0 |= intr_0_bits;
    intr_1 |= intr_1_bits;
    fc_[ramfc::METHOD0] = ramfc::METHOD_VALID::set(method, 1);
    fc_[ramfc::DATA0] = data;
    if (!latched_) {
        latched_ = true;
        latch_ = fc_;
        error_chid = channel_->chid;
        gp_shadow_0 = channel_->entry_word0;
        gp_shadow_1 = channel_->entry_word1;
        if ((intr_0_bits & (pbdma_intr::PBENTRY | pbdma_intr::PBSEG)) != 0) hdr_shadow = data;
    }
    stop(Outcome::Error);
    return Step::DoneStop;
}

Pbdma::Step Pbdma::fault(const MmuFault& mmu_fault) {
    owner_.pbdma_fault(*this, mmu_fault);
    return stop(Outcome::Fault);
}

MmuClient Pbdma::client() const {
    MmuClient client;
    client.engine_id = static_cast<u16>(kPbdmaFaultIdBase + index_);
    client.client_id = kClientHubHost;
    client.privileged = context_.privileged;
    return client;
}

void Pbdma::set_pair(u32 lo, u32 hi, u64 value) {
    fc_[lo] = static_cast<u32>(value);
    fc_[hi] = static_cast<u32>(value >> 32);
}

u64 Pbdma::fetch_latency(u64 va) {
    Translation translation;
    MmuFault ignored;
    bool known = mmu_.translate(context_.space, GpuVa{va}, 4, AccessType::Prefetch, client(), translation, ignored);
    bool vid = known && translation.pa.aperture == Aperture::Vid;
    return vid ? timing_.fetch_vidmem_ps : timing_.fetch_sysmem_ps;
}

// How far the fetcher is ahead of the decoder: as far as it goes at seed 0; other seeds let it lag, so that words which
// change in memory meanwhile are seen late or early.
u64 Pbdma::burst_words() {
    if (kernel_.seed() == 0) return kBurstWords;
    sim::RandomStream stream = kernel_.stream("gpu.host.pbdma", fmt::format("{} burst {}", index_, ++burst_draws_));
    return u64{1} << stream.below(std::bit_width(u64{kBurstWords}));
}

void Pbdma::set_word(u32 index, u32 value) {
    (latched_ ? latch_ : fc_)[index] = value;
}

void Pbdma::reset() {
    channel_ = nullptr;
    ahead_ = {};
    context_ = {};
    fc_ = {};
    latch_ = {};
    latched_ = false;
    userd_ = {};
    userd_valid_ = false;
    error_ = {};
    event = {};
    waiting = false;
    last_chid = ~u32{0};
    intr_0 = intr_en_0 = intr_1 = intr_en_1 = 0;
    intr_stall_0 = 0xCFFFFEFF;  // reset values of NV_PPBDMA_INTR_STALL, _STALL_1 and TIMEOUT
    intr_stall_1 = 0x8000001F;
    timeout = 0x00010000;
    gp_shadow_0 = gp_shadow_1 = hdr_shadow = hce_dbg0 = hce_dbg1 = error_chid = 0;
}

}  // namespace gpu
