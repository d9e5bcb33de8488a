// See fault_buffer.h. The VALID bit of a packet is written last on hardware; here the whole packet becomes visible at
// once.
#include "gpu_model/mem/fault_buffer.h"

#include "gpu_model/intr/intr_vectors.h"
#include "gpu_model/mem/mmu_format.h"
#include "gpu_model/regs/regs.h"
#include "sim/bits.h"
#include "sim/take_front.h"

namespace gpu {

namespace {

using namespace regs;

using BUFFER_LO_ADDR_MODE = NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_LO_ADDR_MODE;
using BUFFER_LO_PHYS_APERTURE = NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_LO_PHYS_APERTURE;
using BUFFER_LO_ADDR = NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_LO_ADDR;
using GET_PTR = NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_GET_PTR;
using GET_CORRUPTED = NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_GET_GETPTR_CORRUPTED;
using GET_OVERFLOW = NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_GET_OVERFLOW;
using SIZE_VAL = NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_SIZE_VAL;
using SIZE_OVERFLOW_INTR = NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_SIZE_OVERFLOW_INTR;
using SIZE_SET_DEFAULT = NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_SIZE_SET_DEFAULT;
using SIZE_ENABLE = NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_SIZE_ENABLE;
using STATUS_VALID = NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_STATUS_VALID;
using STATUS_DROPPED = sim::Field<7, 0>;  // the eight DROPPED_* bits
using INST_ENGINE_ID = NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_INST_LO_ENGINE_ID;
using INST_APERTURE = NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_INST_LO_APERTURE;

using LOW = sim::Field<31, 0>;
using HIGH = sim::Field<63, 32>;

constexpr u32 kDefaultEntries = 1024;
constexpr u32 kPrefetchSendNone = 3;
constexpr u32 kPageFaultCtrlReset = kPrefetchSendNone;
constexpr u16 kEngineBar1 = 0x80;
constexpr u16 kEngineBar2 = 0xC0;
constexpr u16 kEnginePerBar = 0x40;  // one id per function

constexpr u32 kNotifyVector[] = {vector::mmu_non_replayable_fault, vector::mmu_replayable_fault};
constexpr u32 kErrorVector[] = {vector::mmu_non_replayable_fault_error, vector::mmu_replayable_fault_error};

bool is_bar(u16 engine_id) { return engine_id >= kEngineBar1 && engine_id < kEngineBar2 + kEnginePerBar; }

u32 page_low(u64 address) { return static_cast<u32>(LOW::get(address)) & static_cast<u32>(FaultPacket::PAGE::kMask); }
u32 high(u64 address) { return static_cast<u32>(HIGH::get(address)); }

}  // namespace

u32 FaultUnit::Buffer::entries() const { return SIZE_VAL::get(size); }
bool FaultUnit::Buffer::enabled() const { return SIZE_ENABLE::get(size) != 0 && entries() != 0; }
bool FaultUnit::Buffer::full() const { return (put + 1) % entries() == get; }

FaultUnit::FaultUnit(sim::Kernel& kernel, PhysicalMemory& memory, BarWindow& bar2, IntrTree& intr,
                     const GpuClock& clock)
    : kernel_(kernel), memory_(memory), bar2_(bar2), intr_(intr), clock_(clock) {
    reset();
}

bool FaultUnit::replayable_buffer_enabled() const { return buffers_[kReplayable].enabled(); }

void FaultUnit::on_mmu_fault(const MmuFault& fault) {
    u32 index = fault.replayable && buffers_[kReplayable].enabled() ? kReplayable : kNonReplayable;
    if (fault.access == AccessType::Prefetch && page_fault_ctrl_ == kPrefetchSendNone) return;
    if (is_bar(fault.client.engine_id) || !buffers_[index].enabled()) return latch(fault);
    Buffer& buffer = buffers_[index];
    FaultPacket packet = make_packet(fault);
    // After an overflow nothing more comes in until software has made room and cleared the condition.
    if (!buffer.full() && !buffer.overflow) return deliver(index, packet);
    SIM_PROBE(kernel_, "mmu.fault_buffer.overflow");
    buffer.overflow = true;
    if (buffer.held.size() < kHeldMax) buffer.held.push_back(packet.words);
    if (SIZE_OVERFLOW_INTR::get(buffer.size) != 0) intr_.pulse(kErrorVector[index]);
}

FaultPacket FaultUnit::make_packet(const MmuFault& fault) const {
    using P = FaultPacket;
    u64 time = clock_.timestamp_ns();
    P packet;
    packet.words[P::kInstLo] =
        page_low(fault.instance.value) | P::INST_APERTURE::make(static_cast<u64>(fault.instance.aperture));
    packet.words[P::kInstHi] = high(fault.instance.value);
    packet.words[P::kAddrLo] = page_low(fault.va.value);
    packet.words[P::kAddrHi] = high(fault.va.value);
    packet.words[P::kTimestampLo] = static_cast<u32>(LOW::get(time));
    packet.words[P::kTimestampHi] = high(time);
    packet.words[P::kEngine] = P::ENGINE_ID::make(fault.client.engine_id);
    packet.words[P::kInfo] =
        P::FAULT_TYPE::make(static_cast<u64>(fault.type)) | P::REPLAYABLE_FAULT::make(fault.replayable) |
        P::CLIENT::make(fault.client.client_id) | P::ACCESS_TYPE::make(static_cast<u64>(fault.access)) |
        P::CLIENT_TYPE::make(fault.client.gpc ? 0 : 1) | P::GPC_ID::make(fault.client.gpc_id) |
        P::REPLAYABLE_FAULT_EN::make(fault.replay_enabled) | P::VALID::make(1);
    return packet;
}

void FaultUnit::deliver(u32 index, const FaultPacket& packet) {
    Buffer& buffer = buffers_[index];
    bool was_empty = buffer.put == buffer.get;
    if (!write_packet(buffer, packet)) {
        buffer.write_error = true;
        intr_.pulse(kErrorVector[index]);
        return;
    }
    buffer.put = (buffer.put + 1) % buffer.entries();
    if (was_empty) intr_.pulse(kNotifyVector[index]);
}

bool FaultUnit::write_packet(Buffer& buffer, const FaultPacket& packet) {
    std::array<u8, FaultPacket::kBytes> bytes = packet.bytes();
    u64 base = u64{BUFFER_LO_ADDR::get(buffer.lo)} << BUFFER_LO_ADDR::kLo | HIGH::make<u64>(buffer.hi);
    u64 address = base + u64{buffer.put} * FaultPacket::kBytes;
    if (BUFFER_LO_ADDR_MODE::get(buffer.lo) == 0) return bar2_.try_write(address, bytes);
    auto aperture = mmu_format::target_aperture(BUFFER_LO_PHYS_APERTURE::get(buffer.lo));
    return aperture && memory_.write({*aperture, address}, bytes);
}

void FaultUnit::latch(const MmuFault& fault) {
    intr_.pulse(vector::mmu_info_fault);
    if (STATUS_VALID::get(latched_status_) != 0) {
        u16 engine = fault.client.engine_id;
        // All of these were virtual accesses; physical ones never reach the MMU's walk.
        if (!is_bar(engine)) latched_status_ |= NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_STATUS_DROPPED_OTHER_VIRT::make(1);
        else if (engine < kEngineBar2)
            latched_status_ |= NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_STATUS_DROPPED_BAR1_VIRT::make(1);
        else latched_status_ |= NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_STATUS_DROPPED_BAR2_VIRT::make(1);
        return;
    }
    FaultPacket packet = make_packet(fault);
    latched_status_ |= STATUS_VALID::make(1);
    addr_lo_ = packet.words[FaultPacket::kAddrLo];
    addr_hi_ = packet.words[FaultPacket::kAddrHi];
    inst_lo_ = page_low(fault.instance.value) | INST_ENGINE_ID::make(fault.client.engine_id) |
               INST_APERTURE::make(static_cast<u64>(fault.instance.aperture));
    inst_hi_ = packet.words[FaultPacket::kInstHi];
    info_ = packet.words[FaultPacket::kInfo];
}

u32 FaultUnit::read_get(u32 index) const {
    const Buffer& b = buffers_.at(index);
    return GET_PTR::make(b.get) | GET_CORRUPTED::make(b.getptr_corrupted) | GET_OVERFLOW::make(b.overflow);
}

u32 FaultUnit::read_put(u32 index) const {
    const Buffer& b = buffers_.at(index);
    return GET_PTR::make(b.put) | GET_CORRUPTED::make(b.getptr_corrupted) | GET_OVERFLOW::make(b.overflow);
}

void FaultUnit::write_get(u32 index, u32 value) {
    Buffer& b = buffers_.at(index);
    // Judged against the old pointer: software clears OVERFLOW in a second write, after the one that made room.
    bool had_room = !b.enabled() || !b.full();
    if (GET_OVERFLOW::get(value) != 0 && had_room) b.overflow = false;
    if (GET_CORRUPTED::get(value) != 0) b.getptr_corrupted = false;
    u32 pointer = GET_PTR::get(value);
    if (b.entries() == 0 || pointer >= b.entries()) {
        b.getptr_corrupted = true;
        intr_.pulse(kErrorVector[index]);
        return;
    }
    b.get = pointer;
    while (b.enabled() && !b.overflow && !b.held.empty() && !b.full()) {
        deliver(index, FaultPacket{sim::take_front(b.held)});
        if (b.write_error) break;
    }
    b.overflow = b.overflow || !b.held.empty();  // what still waits finds no room
    if (!b.enabled() || b.put == b.get) return;
    // While the overflow stands, the error is announced again and not the packets.
    if (!b.overflow) intr_.pulse(kNotifyVector[index]);
    else if (SIZE_OVERFLOW_INTR::get(b.size) != 0) intr_.pulse(kErrorVector[index]);
}

void FaultUnit::write_size(u32 index, u32 value) {
    Buffer& b = buffers_.at(index);
    if (SIZE_SET_DEFAULT::get(value) != 0) value = SIZE_VAL::set(value, kDefaultEntries);
    bool was_enabled = b.enabled();
    b.size = value;
    u32 entries = b.entries();
    if (entries != 0 && (b.put >= entries || b.get >= entries)) b.put = b.get = 0;
    if (!was_enabled || b.enabled()) return;
    b.held.clear();
    b.overflow = b.getptr_corrupted = b.write_error = false;
}

void FaultUnit::write_page_fault_ctrl(u32 value) {
    page_fault_ctrl_ = NV_VIRTUAL_FUNCTION_PRIV_MMU_PAGE_FAULT_CTRL_PRF_FILTER::get(value);
}

u32 FaultUnit::read_status() const {
    const Buffer& n = buffers_[kNonReplayable];
    const Buffer& r = buffers_[kReplayable];
    auto error = [](const Buffer& b) { return b.overflow || b.getptr_corrupted || b.write_error; };
    return latched_status_ | NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_STATUS_REPLAYABLE::make(r.put != r.get) |
           NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_STATUS_NON_REPLAYABLE::make(n.put != n.get) |
           NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_STATUS_REPLAYABLE_ERROR::make(error(r)) |
           NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_STATUS_NON_REPLAYABLE_ERROR::make(error(n)) |
           NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_STATUS_REPLAYABLE_OVERFLOW::make(r.overflow) |
           NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_STATUS_NON_REPLAYABLE_OVERFLOW::make(n.overflow) |
           NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_STATUS_REPLAYABLE_GETPTR_CORRUPTED::make(r.getptr_corrupted) |
           NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_STATUS_NON_REPLAYABLE_GETPTR_CORRUPTED::make(n.getptr_corrupted);
}

void FaultUnit::write_status(u32 value) {
    constexpr u32 kClearable = static_cast<u32>(STATUS_VALID::kMask | STATUS_DROPPED::kMask);
    latched_status_ &= ~(value & kClearable);
}

void FaultUnit::reset() {
    buffers_ = {};
    page_fault_ctrl_ = kPageFaultCtrlReset;
    addr_lo_ = addr_hi_ = inst_lo_ = inst_hi_ = info_ = latched_status_ = 0;
}

void FaultUnit::Buffer::visit(sim::StateVisitor& visitor) {
    visitor.field("lo", lo);
    visitor.field("hi", hi);
    visitor.field("get", get);
    visitor.field("put", put);
    visitor.field("size", size);
    visitor.field("overflow", overflow);
    visitor.field("getptr_corrupted", getptr_corrupted);
    visitor.field("write_error", write_error);
    visitor.field("held", held);
}

void FaultUnit::visit(sim::StateVisitor& visitor) {
    visitor.field("buffers", buffers_);
    visitor.field("page_fault_ctrl", page_fault_ctrl_);
    visitor.field("addr_lo", addr_lo_);
    visitor.field("addr_hi", addr_hi_);
    visitor.field("inst_lo", inst_lo_);
    visitor.field("inst_hi", inst_hi_);
    visitor.field("info", info_);
    visitor.field("latched_status", latched_status_);
}

}  // namespace gpu
