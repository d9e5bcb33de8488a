// Builders of chip_bench.h.
#include "tests/support/chip_bench.h"

#include <algorithm>

#include "gpu_model/mem/mmu_format.h"

namespace bench {

namespace {

using namespace gpu::mmu_format;

constexpr u64 kVramBytes = u64{1} << 30;
constexpr u64 kSysmemBytes = u64{1} << 30;
constexpr u32 kVirtualChannelCfg = 0xB65000;
constexpr u32 kPendingEnable = 1u << 31;

u64 pde(u64 table) {
    return PDE_APERTURE::make<u64>(1) | PDE_ADDRESS_VID::make<u64>(table >> kPdeAddressShift);
}

u64 pte(PhysAddr pa, bool read_only) {
    u64 aperture = pa.aperture == Aperture::Vid ? 0 : 2;
    u64 address = pa.aperture == Aperture::Vid ? PTE_ADDRESS_VID::make<u64>(pa.value >> kPteAddressShift)
                                               : PTE_ADDRESS_SYS::make<u64>(pa.value >> kPteAddressShift);
    return PTE_VALID::make<u64>(1) | PTE_APERTURE::make<u64>(aperture) | PTE_READ_ONLY::make<u64>(read_only) | address;
}

}  // namespace

bool HostMemory::dma_read(SysPa address, std::span<u8> out) {
    if (!memory.contains(address.value, out.size())) return false;
    memory.read(address.value, out);
    return true;
}

bool HostMemory::dma_write(SysPa address, std::span<const u8> bytes) {
    if (!memory.contains(address.value, bytes.size())) return false;
    memory.write(address.value, bytes);
    return true;
}

std::span<u8> HostMemory::dma_window(SysPa address, u64 bytes, bool for_write) {
    if (!memory.contains(address.value, bytes)) return {};
    return memory.window(address.value, bytes, for_write);
}

ChipBench::ChipBench(u64 seed, const TimingParams& params)
    : kernel({.seed = seed}),
      spec(*find_chip("t4")),
      timing(params),
      vram("vram", kVramBytes),
      sysmem(kSysmemBytes),
      memory(vram, sysmem),
      intr(kernel, *this),
      mmu(kernel, memory),
      ptimer(kernel, intr),
      host(kernel, spec, timing, memory, mmu, intr, ptimer, *this),
      ce_unit(kernel),
      gr_regs(kernel) {
    for (u32 i = 0; i < spec.engines.size(); ++i) {
        if (spec.engines[i].kind == EngineKind::Graphics) {
            auto engine = std::make_unique<Compute>(kernel, spec, i, timing, memory, mmu, intr, ptimer, gr_regs,
                                                    host);
            compute = engine.get();
            host.attach_engine(i, *engine);
            engines.push_back(std::move(engine));
        } else if (spec.engines[i].kind == EngineKind::Ce) {
            auto engine = std::make_unique<Ce>(kernel, spec, i, timing, memory, mmu, intr, ptimer, host);
            ces.push_back(engine.get());
            ce_unit.attach(*engine);
            host.attach_engine(i, *engine);
            engines.push_back(std::move(engine));
        }
    }
    host.write(kVirtualChannelCfg, kPendingEnable | 0xFFF);
    space = make_space();
}

ChipBench::~ChipBench() = default;

u64 ChipBench::vram_alloc(u64 bytes, u64 alignment) {
    vram_next_ = (vram_next_ + alignment - 1) / alignment * alignment;
    u64 at = vram_next_;
    vram_next_ += bytes;
    SIM_CHECK(vram_next_ <= kVramBytes, vram_next_);
    return at;
}

AddressSpaceBuilder ChipBench::make_space() {
    return {vram_alloc(4096)};
}

// The table that a directory entry points to, made when there is none.
u64 ChipBench::table_at(u64 entry_address) {
    u64 entry = vram.read_u64(entry_address);
    if (entry == 0) {
        entry = pde(vram_alloc(4096));
        vram.write_u64(entry_address, entry);
    }
    return PDE_ADDRESS_VID::get(entry) << kPdeAddressShift;
}

void ChipBench::map(const AddressSpaceBuilder& to, u64 va, PhysAddr pa, u64 bytes, bool read_only) {
    for (u64 done = 0; done < bytes;) {
        u64 at = va + done;
        u64 level2 = table_at(to.pdb + PDE3_INDEX::get(at) * kPdeBytes);
        u64 level1 = table_at(level2 + PDE2_INDEX::get(at) * kPdeBytes);
        u64 level0 = table_at(level1 + PDE1_INDEX::get(at) * kPdeBytes);
        u64 dual = level0 + PDE0_INDEX::get(at) * kPde0Bytes;
        bool huge = at % kHugePageBytes == 0 && (pa.value + done) % kHugePageBytes == 0 &&
                    bytes - done >= kHugePageBytes && vram.read_u64(dual + 8) == 0;
        if (huge) {
            vram.write_u64(dual, pte(pa + done, read_only));
            done += kHugePageBytes;
            continue;
        }
        u64 table = table_at(dual + 8);
        vram.write_u64(table + PTE_4K_INDEX::get(at) * kPteBytes, pte(pa + done, read_only));
        done += kSmallPageBytes;
    }
}

u64 ChipBench::small_entry(const AddressSpaceBuilder& from, u64 va) {
    u64 level2 = table_at(from.pdb + PDE3_INDEX::get(va) * kPdeBytes);
    u64 level1 = table_at(level2 + PDE2_INDEX::get(va) * kPdeBytes);
    u64 level0 = table_at(level1 + PDE1_INDEX::get(va) * kPdeBytes);
    u64 table = table_at(level0 + PDE0_INDEX::get(va) * kPde0Bytes + 8);
    return table + PTE_4K_INDEX::get(va) * kPteBytes;
}

void ChipBench::unmap(const AddressSpaceBuilder& from, u64 va) { vram.write_u64(small_entry(from, va), 0); }

void ChipBench::mark_page(const AddressSpaceBuilder& in, u64 va, u64 pte_bits) {
    u64 entry = small_entry(in, va);
    vram.write_u64(entry, vram.read_u64(entry) | pte_bits);
}

ChipBench::Buffer ChipBench::make_buffer(u64 bytes, bool in_sysmem) {
    Buffer buffer;
    buffer.bytes = (bytes + 4095) / 4096 * 4096;
    u64 alignment = buffer.bytes >= kHugePageBytes ? kHugePageBytes : 4096;
    if (in_sysmem) {
        sysmem_next_ = (sysmem_next_ + alignment - 1) / alignment * alignment;
        buffer.pa = {Aperture::SysCoh, sysmem_next_};
        sysmem_next_ += buffer.bytes;
    } else {
        buffer.pa = {Aperture::Vid, vram_alloc(buffer.bytes, alignment)};
    }
    va_next_ = (va_next_ + alignment - 1) / alignment * alignment;
    buffer.va = va_next_;
    va_next_ += buffer.bytes + 4096;  // a hole after each buffer
    map(space, buffer.va, buffer.pa, buffer.bytes);
    return buffer;
}

std::vector<u8> ChipBench::read(const Buffer& buffer, u64 offset, u64 bytes) {
    std::vector<u8> out(bytes);
    SIM_CHECK(memory.read(buffer.pa + offset, out), offset, bytes);
    return out;
}

void ChipBench::write(const Buffer& buffer, u64 offset, std::span<const u8> bytes) {
    SIM_CHECK(memory.write(buffer.pa + offset, bytes), offset, bytes.size());
}

u64 ChipBench::read64(const Buffer& buffer, u64 offset) {
    std::vector<u8> bytes = read(buffer, offset, 8);
    u64 value = 0;
    for (std::size_t i = 0; i < 8; ++i) value |= u64{bytes[i]} << 8 * i;
    return value;
}

u32 ChipBench::read32(const Buffer& buffer, u64 offset) {
    std::vector<u8> bytes = read(buffer, offset, 4);
    return u32{bytes[0]} | u32{bytes[1]} << 8 | u32{bytes[2]} << 16 | u32{bytes[3]} << 24;
}

void ChipBench::write32(const Buffer& buffer, u64 offset, u32 value) {
    std::array<u8, 4> bytes{static_cast<u8>(value), static_cast<u8>(value >> 8), static_cast<u8>(value >> 16),
                            static_cast<u8>(value >> 24)};
    write(buffer, offset, bytes);
}

BenchChannel& ChipBench::add_channel(ChannelOptions options) {
    channels.push_back(std::make_unique<BenchChannel>());
    BenchChannel& made = *channels.back();
    made.chid = static_cast<u32>(channels.size());  // chid 0 stays unused
    if (options.tsgid == 0) options.tsgid = made.chid + 1;
    made.options = options;
    made.instance = vram_alloc(4096);
    made.userd = vram_alloc(512, 512);
    u64 ring_bytes = std::max<u64>(u64{8} << options.ring_log2, 4096);
    made.ring = vram_alloc(ring_bytes);
    made.ring_va = va_next_;
    map(space, made.ring_va, {Aperture::Vid, made.ring}, ring_bytes);
    va_next_ += ring_bytes;
    Buffer pushbuffer = make_buffer(kPushBytes);
    made.push = pushbuffer.pa.value;
    made.push_va = pushbuffer.va;

    ramfc::Image fc{};
    fc[ramfc::USERD] = static_cast<u32>(made.userd);
    fc[ramfc::USERD_HI] = static_cast<u32>(made.userd >> 32);
    fc[ramfc::SIGNATURE] = ramfc::SIGNATURE_HW_VALID;
    fc[ramfc::ACQUIRE] = options.acquire;
    fc[ramfc::GP_BASE] = static_cast<u32>(made.ring_va);
    fc[ramfc::GP_BASE_HI] = static_cast<u32>(made.ring_va >> 32) | ramfc::GP_BASE_HI_LIMIT2::make(options.ring_log2);
    fc[ramfc::PB_HEADER] = 0x20400000;
    fc[ramfc::SUBDEVICE] = options.subdevice;
    fc[ramfc::TARGET] = options.target;
    fc[ramfc::HCE_CTRL] = ramfc::HCE_CTRL_PRIV_MODE::make(options.privileged);
    fc[ramfc::CHID] = made.chid;
    fc[ramfc::CONFIG] = ramfc::CONFIG_USERD_WRITEBACK::make(1) | ramfc::CONFIG_AUTH_LEVEL::make(options.privileged);
    for (u32 i = 0; i < ramfc::kWords; ++i) vram.write_u32(made.instance + i * 4, fc[i]);
    constexpr u64 kVer2Big64k = PAGE_DIR_USE_VER2_PT_FORMAT::make<u64>(1) | PAGE_DIR_BIG_PAGE_SIZE::make<u64>(1);
    vram.write_u64(made.instance + kPageDirBaseOffset, space.pdb | kVer2Big64k);

    u32 ccsr = 0x800000 + made.chid * 8;
    host.write(ccsr, 1u << 31 | static_cast<u32>(made.instance >> 12));
    host.write(ccsr + 4, 1u << 10);  // ENABLE_SET
    return made;
}

void ChipBench::submit_runlist(u32 runlist) {
    std::vector<u32> words;
    std::vector<u32> done;
    for (const auto& first : channels) {
        u32 tsgid = first->options.tsgid;
        if (first->options.runlist != runlist || std::find(done.begin(), done.end(), tsgid) != done.end()) continue;
        done.push_back(tsgid);
        std::vector<u32> entries;
        for (const auto& member : channels) {
            if (member->options.runlist != runlist || member->options.tsgid != tsgid) continue;
            u32 userd = static_cast<u32>(member->userd);
            entries.insert(entries.end(),
                           {ramrl::CHAN_RUNQUEUE_SELECTOR::make(member->options.runqueue) | (userd & ~u32{0xFF}), 0,
                            static_cast<u32>(member->instance) | member->chid, 0});
        }
        words.insert(words.end(), {1u | ramrl::TSG_TIMESLICE_SCALE::make(first->options.timeslice_scale) |
                                       ramrl::TSG_TIMESLICE_TIMEOUT::make(first->options.timeslice_timeout),
                                   static_cast<u32>(entries.size() / 4), tsgid, 0});
        words.insert(words.end(), entries.begin(), entries.end());
    }
    u64 base = vram_alloc(std::max<u64>(words.size() * 4, 4096));
    for (std::size_t i = 0; i < words.size(); ++i) vram.write_u32(base + i * 4, words[i]);
    host.write(0x2B00 + 16 * runlist, static_cast<u32>(base));
    host.write(0x2B04 + 16 * runlist, static_cast<u32>(base >> 32));
    host.write(0x2B08 + 16 * runlist, static_cast<u32>(words.size() / 4));
    run(SimTime::from_us(10));
}

void ChipBench::push_entry(BenchChannel& channel, u32 word0, u32 word1) {
    vram.write_u32(channel.ring + channel.gp_put * 8, word0);
    vram.write_u32(channel.ring + channel.gp_put * 8 + 4, word1);
    channel.gp_put = (channel.gp_put + 1) & ((1u << channel.options.ring_log2) - 1);
    vram.write_u32(channel.userd + ramuserd::GP_PUT, channel.gp_put);
}

void ChipBench::push(BenchChannel& channel, const std::vector<u32>& words, u32 word1_flags, bool conditional) {
    if (channel.push_used + words.size() * 4 > kPushBytes) channel.push_used = 0;
    u64 at = channel.push_used;
    for (std::size_t i = 0; i < words.size(); ++i) vram.write_u32(channel.push + at + i * 4, words[i]);
    channel.push_used += words.size() * 4;
    u64 va = channel.push_va + at;
    push_entry(channel, static_cast<u32>(va) | (conditional ? 1u : 0u),
               static_cast<u32>(va >> 32) | GpEntry::LENGTH::make(words.size()) | word1_flags);
}

void ChipBench::ring_doorbell(BenchChannel& channel) {
    host.doorbell(channel.options.runlist << 16 | channel.chid);
}

void ChipBench::submit(BenchChannel& channel, const std::vector<u32>& words) {
    push(channel, words);
    ring_doorbell(channel);
}

u32 ChipBench::gp_get(const BenchChannel& channel) {
    return vram.read_u32(channel.userd + ramuserd::GP_GET);
}

void ChipBench::visit(sim::StateVisitor& visitor) {
    visitor.field("kernel", kernel);
    visitor.field("vram", vram);
    visitor.field("sysmem", sysmem.memory);
    visitor.field("intr", intr);
    visitor.field("mmu", mmu);
    visitor.field("ptimer", ptimer);
    visitor.field("host", host);
    visitor.field("ce_unit", ce_unit);
    for (std::unique_ptr<Engine>& engine : engines) visitor.field("engine", *engine);
}

void ChipBench::run(SimTime span) {
    kernel.events().run_until(kernel.now() + span);
}

u32 header(u32 sec_op, u32 subchannel, u32 method, u32 count) {
    return PbHeader::SEC_OP::make(sec_op) | PbHeader::COUNT::make(count) | PbHeader::SUBCHANNEL::make(subchannel) |
           PbHeader::ADDRESS::make(method / 4);
}

std::vector<u32> inc(u32 subchannel, u32 method, std::initializer_list<u32> data) {
    std::vector<u32> words{header(1, subchannel, method, static_cast<u32>(data.size()))};
    words.insert(words.end(), data.begin(), data.end());
    return words;
}

std::vector<u32> non_inc(u32 subchannel, u32 method, const std::vector<u32>& data) {
    return std::vector<u32>{header(3, subchannel, method, static_cast<u32>(data.size()))} + data;
}

std::vector<u32> one_inc(u32 subchannel, u32 method, const std::vector<u32>& data) {
    return std::vector<u32>{header(5, subchannel, method, static_cast<u32>(data.size()))} + data;
}

u32 immd(u32 subchannel, u32 method, u32 data) {
    return header(4, subchannel, method, data);
}

std::vector<u32> operator+(std::vector<u32> a, const std::vector<u32>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

std::vector<u32> semaphore(u64 va, u64 payload, u32 execute) {
    return inc(0, nvc46f::SEM_ADDR_LO,
               {static_cast<u32>(va), static_cast<u32>(va >> 32), static_cast<u32>(payload),
                static_cast<u32>(payload >> 32), execute});
}

}  // namespace bench
