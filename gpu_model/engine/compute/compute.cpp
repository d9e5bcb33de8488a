// The compute class as a state machine over its method table, with report semaphores.
#include "gpu_model/engine/compute/compute.h"

#include <fmt/format.h>

#include "gpu_model/journal_records.h"
#include "gpu_model/mem/reduction.h"

namespace gpu {

namespace {

using namespace nvc5c0;

constexpr u8 kClientHubFe = 0x04;  // NV_PFAULT_CLIENT_HUB_FE
// Guess: codes of engine_error() until the front end's error registers are modelled; the firmware reports Xid 69 for
// each.
constexpr u32 kFeIllegalMethod = 1, kFeClassSubchMismatch = 2, kFeIllegalValue = 3;

// RED_ADD, RED_MIN, ... in the order of SET_REPORT_SEMAPHORE_D_REDUCTION_OP.
constexpr Reduction kReportReduction[] = {Reduction::Iadd, Reduction::Imin, Reduction::Imax, Reduction::Inc,
                                          Reduction::Dec,  Reduction::Iand, Reduction::Ior,  Reduction::Ixor};

void put_u64(std::span<u8> out, u64 value) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<u8>(value >> 8 * i);
}

// Methods that would start work which is not modelled.
bool starts_unmodelled_work(u32 method, u32 data) {
    switch (method) {
        case NOTIFY:
        case LAUNCH_DMA:
        case LOAD_INLINE_DATA:
            return true;
        case SEND_SIGNALING_PCAS_B:
            return data != 0;  // neither INVALIDATE nor SCHEDULE: nothing is asked
        default:
            return false;
    }
}

}  // namespace

Compute::Compute(sim::Kernel& kernel, const ChipSpec& spec, u32 engine_index, Mmu& mmu, IntrTree& intr,
                 const GpuClock& clock, EngineHost& host)
    : kernel_(kernel),
      row_(spec.engines[engine_index]),
      engine_index_(engine_index),
      mmu_(mmu),
      intr_(intr),
      clock_(clock),
      host_(host) {}

MethodResult Compute::method(const ChannelContext& channel, u32 subchannel, u32 method, u32 data) {
    static const MethodTable& table = *find_method_table(cls::TURING_COMPUTE_A);
    if (method == SET_OBJECT) {
        u32 class_id = SET_OBJECT_CLASS_ID::get(data);
        if (!accepts_class(class_id)) {
            std::string_view known = class_name(class_id);
            if (known.empty()) return refuse(channel, kFeClassSubchMismatch, data);
            kernel_.unmodelled().refused(fmt::format("class {:04X} {}", class_id, known), kernel_.now());
        }
        bound_[{channel.chid, subchannel}] = class_id;
        return MethodResult::Ok;
    }
    // Methods work without SET_OBJECT; a subchannel bound to a class without a model takes none.
    auto bound = bound_.find({channel.chid, subchannel});
    if (bound != bound_.end() && !accepts_class(bound->second)) {
        kernel_.unmodelled().refused(fmt::format("method {:04X} 0x{:04x}", bound->second, method), kernel_.now());
        return refuse(channel, kFeIllegalMethod, method);
    }
    if (!table.has(method)) return refuse(channel, kFeIllegalMethod, method);
    State& state = states_[channel.chid];
    state[method / 4] = data;
    if (method == SET_REPORT_SEMAPHORE_D) return report_semaphore(channel, state, data);
    if (starts_unmodelled_work(method, data)) {
        kernel_.unmodelled().invented(fmt::format("method C5C0 {}", table.method_name(method)), kernel_.now(),
                                      fmt::format("channel {} data 0x{:x}", channel.chid, data));
    }
    return MethodResult::Ok;
}

MethodResult Compute::refuse(const ChannelContext& channel, u32 code, u32 info) {
    host_.engine_error(engine_index_, channel.chid, code, info);
    return MethodResult::Error;
}

MethodResult Compute::report_semaphore(const ChannelContext& channel, const State& state, u32 data) {
    u32 operation = SET_REPORT_SEMAPHORE_D_OPERATION::get(data);
    u64 va = u64{SET_REPORT_SEMAPHORE_A_OFFSET_UPPER::get(state[SET_REPORT_SEMAPHORE_A / 4])} << 32 |
             state[SET_REPORT_SEMAPHORE_B / 4];
    u32 payload = state[SET_REPORT_SEMAPHORE_C / 4];
    if (operation == SET_REPORT_SEMAPHORE_D_OPERATION_TRAP) {
        kernel_.unmodelled().refused("method C5C0 SET_REPORT_SEMAPHORE_D TRAP", kernel_.now());
        return refuse(channel, kFeIllegalValue, data);
    }
    bool reduces = SET_REPORT_SEMAPHORE_D_REDUCTION_ENABLE::get(data) != 0;
    bool one_word =
        reduces || SET_REPORT_SEMAPHORE_D_STRUCTURE_SIZE::get(data) == SET_REPORT_SEMAPHORE_D_STRUCTURE_SIZE_ONE_WORD;
    if (operation != SET_REPORT_SEMAPHORE_D_OPERATION_RELEASE || va % (one_word ? 4 : 16) != 0) {
        return refuse(channel, kFeIllegalValue, data);
    }
    MmuClient client;
    client.engine_id = static_cast<u16>(row_.fault_id + channel.veid);
    client.client_id = kClientHubFe;
    client.privileged = channel.privileged;
    MmuFault fault;
    std::array<u8, 8> bytes{};
    std::span<u8> word(bytes.data(), 4);
    bool ok = true;
    records::ReleaseFormat format = records::ReleaseFormat::ReportOneWord;
    if (reduces) {
        ok = mmu_.read(channel.gr_space, GpuVa{va}, word, client, fault);
        u32 memory = u32{bytes[0]} | u32{bytes[1]} << 8 | u32{bytes[2]} << 16 | u32{bytes[3]} << 24;
        bool is_signed =
            SET_REPORT_SEMAPHORE_D_REDUCTION_FORMAT::get(data) == SET_REPORT_SEMAPHORE_D_REDUCTION_FORMAT_SIGNED_32;
        if (!reduce_u32(kReportReduction[SET_REPORT_SEMAPHORE_D_REDUCTION_OP::get(data)], is_signed, memory, payload,
                        payload)) {
            return refuse(channel, kFeIllegalValue, data);
        }
        format = records::ReleaseFormat::ReportReduction;
    } else if (!one_word) {
        put_u64(bytes, clock_.timestamp_ns());
        ok = mmu_.write(channel.gr_space, GpuVa{va + 8}, bytes, client, fault);
        word = bytes;
        format = records::ReleaseFormat::ReportFourWord;
    }
    put_u64(word, payload);
    if (!ok || !mmu_.write(channel.gr_space, GpuVa{va}, word, client, fault)) {
        host_.engine_fault(engine_index_, channel.chid, fault);
        return MethodResult::Error;
    }
    kernel_.journal().append(records::semaphore_release, kernel_.now(),
                             {channel.chid, va, payload, static_cast<u64>(format)});
    if (SET_REPORT_SEMAPHORE_D_AWAKEN_ENABLE::get(data) != 0 && row_.intr_nonstall_vector < IntrTree::kVectors) {
        intr_.pulse(row_.intr_nonstall_vector);
    }
    host_.engine_ready(engine_index_);
    return MethodResult::Ok;
}

void Compute::drop_channel(u32 chid) {
    states_.erase(chid);
    bound_.erase(bound_.lower_bound({chid, 0}), bound_.lower_bound({chid + 1, 0}));
}

void Compute::reset() {
    states_.clear();
    bound_.clear();
}

u32 Compute::state(u32 chid, u32 method) const {
    auto it = states_.find(chid);
    return it == states_.end() || method / 4 >= MethodTable::kWords ? 0 : it->second[method / 4];
}

void Compute::visit(sim::StateVisitor& visitor) {
    visitor.field("states", states_);
    visitor.field("bound", bound_);
}

}  // namespace gpu
