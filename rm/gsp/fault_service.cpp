// Non-replayable MMU faults. The firmware owns the chip's fault buffer for them. Packets of copy engines and PBDMAs
// whose address space has page faulting on go to the client's shadow buffer, if there is one, and wait for the client;
// all others are the firmware's own and end in robust-channel recovery (errors.cpp).
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, kern_gmmu_gv100.c (_kgmmuFaultEntryRmServiceable,
// kgmmuCopyMmuFaults), kern_gmmu_tu102.c, kern_gmmu.c (kgmmuClientShadowFaultBufferRegister), kernel_gsp.c
// (_kgspRpcMMUFaultQueued).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "gpu_model/regs/regs.h"
#include "rm/abi/ctrl2080gpu.h"
#include "rm/abi/ctrl2080internal.h"
#include "rm/gsp/gsp_impl.h"
#include "rm/shadow_queue.h"

namespace rm {

using gpu::FaultPacket;

namespace {

namespace regs = gpu::regs;
using GET_PTR = regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_GET_PTR;
using GET_OVERFLOW = regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_GET_OVERFLOW;

constexpr u32 kNonReplayable = 0;  // NV2080_CTRL_FAULT_BUFFER_NON_REPLAYABLE, and the index of the registers
constexpr u32 kReplayableType = 1;
constexpr u32 kNotifyVector = 132;  // NV_PFB_PRI_MMU_INT_VECTOR_FAULT, reset value
constexpr u32 kPbdmaFaultIds = 0x20, kPbdmaFaultIdsEnd = 0x40;
constexpr u32 kPassesMax = 8;  // faults that come in while their predecessors are read

u32 fault_reg(const gpu::Reg& reg) { return reg.at(kNonReplayable); }

gpu::PhysAddr coherent(u64 address) { return {gpu::Aperture::SysCoh, address}; }

}  // namespace

void gsp::ShadowBuffer::visit(StateVisitor& visitor) {
    visitor.field("queue", queue);
    visitor.field("pages", pages);
    visitor.field("bytes", bytes);
    if (!visitor.loading()) return;
    // A loaded size is input: every packet must have its place.
    u64 whole = u64{pages.size()} * msgq::kPageBytes;
    if (bytes > whole || bytes % FaultPacket::kBytes != 0) {
        visitor.fail("bytes", "more packets than pages");
        *this = {};
    }
}

void gsp::ClientFault::visit(StateVisitor& visitor) {
    visitor.field("instance", instance);
    visitor.field("engine_id", engine_id);
    visitor.field("page", page);
}

// --- the chip's buffer

bool Gsp::Impl::start_fault_buffer() {
    constexpr u32 kBytes = gsp::kNonReplayableFaults * FaultPacket::kBytes;
    std::optional<u64> at = heap_.allocate(kBytes);
    if (!at) return false;
    fault_buffer_ = *at;
    using LO = regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_LO_ADDR;
    using ADDR_MODE = regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_LO_ADDR_MODE;  // 1: physical, here of video memory
    bus_.reg_write(fault_reg(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_SIZE), 0);
    bus_.reg_write(fault_reg(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_LO),
                   ADDR_MODE::set(LO::make(fault_buffer_ >> LO::kLo), 1));
    bus_.reg_write(fault_reg(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_HI), static_cast<u32>(fault_buffer_ >> 32));
    u32 size = regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_SIZE_VAL::make(gsp::kNonReplayableFaults);
    size = regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_SIZE_OVERFLOW_INTR::set(size, 1);
    bus_.reg_write(fault_reg(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_SIZE), size);
    // What an earlier life of the firmware left unread is nobody's.
    u32 put = GET_PTR::get(bus_.reg_read(fault_reg(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_PUT)));
    bus_.reg_write(fault_reg(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_GET), GET_PTR::make(put));
    bus_.reg_write(fault_reg(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_SIZE),
                   regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_SIZE_ENABLE::set(size, 1));
    return true;
}

void Gsp::Impl::stop_fault_buffer() {
    if (fault_buffer_ == 0) return;
    bus_.reg_write(fault_reg(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_SIZE), 0);
    heap_.free(fault_buffer_);
    fault_buffer_ = 0;
}

// Whether the client gets the packet: faults of other engines, and of spaces without page faulting, are fatal.
bool Gsp::Impl::is_for_client(const FaultPacket& packet) const {
    if (!shadow_.registered() || FaultPacket::REPLAYABLE_FAULT_EN::get(packet.words[FaultPacket::kInfo]) == 0) return false;
    u32 id = packet.engine_id();
    if (id >= kPbdmaFaultIds && id < kPbdmaFaultIdsEnd) return true;
    return std::any_of(spec_.engines.begin(), spec_.engines.end(), [&](const gpu::EngineRow& row) {
        return row.kind == gpu::EngineKind::Ce && row.fault_id == id;
    });
}

void Gsp::Impl::service_faults() {
    if (fault_buffer_ == 0) return;
    bus_.reg_write(regs::NV_VIRTUAL_FUNCTION_PRIV_CPU_INTR_LEAF.at(kNotifyVector / 32), u32{1} << kNotifyVector % 32);
    bool queued = false;
    for (u32 pass = 0; pass < kPassesMax; ++pass) {
        u32 word = bus_.reg_read(fault_reg(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_GET));
        u32 put = GET_PTR::get(bus_.reg_read(fault_reg(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_PUT)));
        u32 get = GET_PTR::get(word);
        bool overflow = GET_OVERFLOW::get(word) != 0;
        if (get == put && !overflow) break;
        for (; get != put && get < gsp::kNonReplayableFaults; get = (get + 1) % gsp::kNonReplayableFaults) {
            std::array<u8, FaultPacket::kBytes> bytes{};
            gpu::FbPa at{fault_buffer_ + u64{get} * FaultPacket::kBytes};
            if (!bus_.fb_read(at, bytes)) break;
            FaultPacket packet = FaultPacket::from_bytes(bytes);
            if (packet.valid() && is_for_client(packet) && push_to_client(packet)) queued = true;
            // Software takes VALID back, so that it can tell a new packet in this place.
            packet.words[FaultPacket::kInfo] = FaultPacket::VALID::set(packet.words[FaultPacket::kInfo], 0);
            if (!bus_.fb_write(at, packet.bytes())) break;
        }
        // Room first, then the condition: in one write the flag would stay.
        bus_.reg_write(fault_reg(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_GET), GET_PTR::make(get));
        if (!overflow) continue;
        note(fmt::format("MMU fault: overflow of the non-replayable fault buffer, status {:#x}, GET {:#x}, PUT {:#x}",
                         bus_.reg_read(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_STATUS.offset), get, put));
        bus_.reg_write(fault_reg(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_GET), GET_OVERFLOW::set(GET_PTR::make(get), 1));
    }
    if (!queued) return;
    constexpr std::string_view kEvent = "NV_VGPU_MSG_EVENT_MMU_FAULT_QUEUED";
    send_event(rpc_number(version_, kEvent).value_or(abi::NV_VGPU_MSG_EVENT_MMU_FAULT_QUEUED), {});
}

// Takes the memory of the fault that the chip's report is about, if the client has it.
bool Gsp::Impl::taken_by_client(const gpu::ChipError& error) {
    auto channel = fifo_.channels.find(error.chid);
    if (channel == fifo_.channels.end()) return false;
    constexpr u64 kPageMask = ~(u64{msgq::kPageBytes} - 1);
    gsp::ClientFault wanted{channel->second.instance.value, error.engine_fault_id, error.address & kPageMask};
    auto found = std::find(client_faults_.begin(), client_faults_.end(), wanted);
    if (found == client_faults_.end()) return false;
    client_faults_.erase(found);
    return true;
}

// --- the client's buffer

// The queue is in the driver's memory: what it says is believed only as far as it makes sense.
bool Gsp::Impl::push_to_client(const FaultPacket& packet) {
    namespace q = shadow_queue;
    std::optional<gpu::PhysAddr> instance = packet.instance();
    u64 slots = shadow_.bytes / FaultPacket::kBytes;
    u64 capacity = memory_.read_u64(coherent(shadow_.queue + q::kCapacity)).value_or(0);
    u64 message = memory_.read_u64(coherent(shadow_.queue + q::kMessageBytes)).value_or(0);
    u64 get = memory_.read_u64(coherent(shadow_.queue + q::kGet)).value_or(~u64{0});
    u64 put = memory_.read_u64(coherent(shadow_.queue + q::kPut)).value_or(~u64{0});
    if (!instance || capacity != slots || message != FaultPacket::kBytes || get >= slots || put >= slots) {
        note(fmt::format("the client's queue of MMU faults is not usable: capacity {}, must be {}; message {}, must be {}; get {}, put {}",
                         capacity, slots, message, FaultPacket::kBytes, get, put));
        return false;
    }
    if ((put + 1) % slots == get) {
        note("the client's queue of MMU faults is full");
        return false;
    }
    u64 offset = put * FaultPacket::kBytes;
    u64 at = shadow_.pages[offset / msgq::kPageBytes] + offset % msgq::kPageBytes;
    bool done = memory_.write(coherent(at), packet.bytes()) &&
                memory_.write_u64(coherent(shadow_.queue + q::kPut), (put + 1) % slots);
    if (!done) {
        note("the client's queue of MMU faults does not answer");
        return false;
    }
    if (client_faults_.size() >= gsp::kEventBacklogMax) client_faults_.erase(client_faults_.begin());
    client_faults_.push_back({instance->value, packet.engine_id(), packet.va()});
    return true;
}

abi::NV_STATUS Gsp::Impl::ctrl_shadow_buffer(gsp::ControlCall& call) {
    auto params = abi::load_prefix<abi::NV2080_CTRL_INTERNAL_GMMU_REGISTER_CLIENT_SHADOW_FAULT_BUFFER_PARAMS>(call.params);
    // A shadow of the replayable buffer is for confidential computing, which this chip has not.
    if (params.shadowFaultBufferType == kReplayableType) return abi::NV_ERR_NOT_SUPPORTED;
    if (params.shadowFaultBufferType != kNonReplayable) return abi::NV_ERR_INVALID_ARGUMENT;
    if (shadow_.registered()) return abi::NV_ERR_NOT_SUPPORTED;
    u64 pages = (u64{params.shadowFaultBufferSize} + msgq::kPageBytes - 1) / msgq::kPageBytes;
    bool sized = pages != 0 && pages <= std::size(params.shadowFaultBufferPteArray) &&
                 params.shadowFaultBufferSize % FaultPacket::kBytes == 0 && params.shadowFaultBufferSize > FaultPacket::kBytes;
    if (!sized || params.shadowFaultBufferMetadataSize != 0) return abi::NV_ERR_INVALID_ARGUMENT;
    gsp::ShadowBuffer buffer;
    buffer.queue = params.shadowFaultBufferQueuePhysAddr;
    buffer.bytes = params.shadowFaultBufferSize;
    buffer.pages.assign(std::begin(params.shadowFaultBufferPteArray), std::begin(params.shadowFaultBufferPteArray) + pages);
    auto answers = [&](u64 page) { return page % msgq::kPageBytes == 0 && memory_.read_u64(coherent(page)).has_value(); };
    if (!answers(buffer.queue) || !std::all_of(buffer.pages.begin(), buffer.pages.end(), answers)) return abi::NV_ERR_INVALID_ADDRESS;
    shadow_ = buffer;
    return abi::NV_OK;
}

abi::NV_STATUS Gsp::Impl::ctrl_shadow_buffer_off(gsp::ControlCall& call) {
    auto params = abi::load_prefix<abi::NV2080_CTRL_INTERNAL_GMMU_UNREGISTER_CLIENT_SHADOW_FAULT_BUFFER_PARAMS>(call.params);
    if (params.shadowFaultBufferType > kReplayableType) return abi::NV_ERR_INVALID_ARGUMENT;
    if (params.shadowFaultBufferType == kNonReplayable) shadow_ = {};
    return abi::NV_OK;
}

// The client gives a packet back that it cannot service: the channel goes the way of all that fault for good.
abi::NV_STATUS Gsp::Impl::ctrl_report_fault(gsp::ControlCall& call) {
    auto params = abi::load_prefix<abi::NV2080_CTRL_GPU_REPORT_NON_REPLAYABLE_FAULT_PARAMS>(call.params);
    std::array<u8, FaultPacket::kBytes> bytes{};
    std::copy(std::begin(params.faultPacket.data), std::end(params.faultPacket.data), bytes.begin());
    FaultPacket packet = FaultPacket::from_bytes(bytes);
    std::optional<gpu::PhysAddr> instance = packet.instance();
    if (!packet.valid() || !instance) return abi::NV_ERR_INVALID_ARGUMENT;
    auto channel = std::find_if(fifo_.channels.begin(), fifo_.channels.end(), [&](const auto& entry) {
        return entry.second.instance.value == instance->value && entry.second.instance.aperture == instance->aperture;
    });
    if (channel == fifo_.channels.end()) return abi::NV_ERR_INVALID_CHANNEL;
    gpu::ChipError error;
    error.source = gpu::ChipError::Source::MmuFault;
    error.runlist_id = channel->second.runlist;
    error.chid = channel->first;
    error.engine_fault_id = packet.engine_id();
    error.info = packet.fault_type();
    error.info2 = packet.access_type();
    error.address = packet.va();
    recover(error);
    return abi::NV_OK;
}

}  // namespace rm
