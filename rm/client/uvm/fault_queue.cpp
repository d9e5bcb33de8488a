// FaultQueue: the circular queue in memory that driver and firmware share.
#include "rm/client/uvm/fault_queue.h"

#include <fmt/format.h>

#include "rm/abi/all_structs.h"
#include "rm/shadow_queue.h"

namespace rm::client::uvm {

namespace {

namespace q = shadow_queue;

constexpr u32 kShadowNonReplayable = 0;  // NV2080_CTRL_FAULT_BUFFER_NON_REPLAYABLE

}  // namespace

Status FaultQueue::create() {
    std::vector<u8> info(sizeof(NV2080_CTRL_INTERNAL_GMMU_GET_STATIC_INFO_PARAMS));
    Status status = context_.adapter.internal_control(NV2080_CTRL_CMD_INTERNAL_GMMU_GET_STATIC_INFO, info);
    if (status != NV_OK) return status;
    bytes_ = load_prefix<NV2080_CTRL_INTERNAL_GMMU_GET_STATIC_INFO_PARAMS>(info).nonReplayableFaultBufferSize;
    u64 pages = (u64{bytes_} + kPage4K - 1) / kPage4K;
    NV2080_CTRL_INTERNAL_GMMU_REGISTER_CLIENT_SHADOW_FAULT_BUFFER_PARAMS params{};
    if (pages == 0) return NV_ERR_INVALID_ARGUMENT;
    if (pages > std::size(params.shadowFaultBufferPteArray)) return NV_ERR_BUFFER_TOO_SMALL;
    queue_ = context_.host.alloc_pages(kPage4K).value;
    buffer_ = context_.host.alloc_pages(pages * kPage4K).value;
    if (queue_ == 0 || buffer_ == 0) {
        free_memory();
        return NV_ERR_NO_MEMORY;
    }
    write_word(q::kCapacity, bytes_ / gpu::FaultPacket::kBytes);
    write_word(q::kMessageBytes, gpu::FaultPacket::kBytes);
    write_word(q::kGet, 0);
    write_word(q::kPut, 0);
    params.shadowFaultBufferQueuePhysAddr = queue_;
    params.shadowFaultBufferSize = bytes_;
    params.shadowFaultBufferType = kShadowNonReplayable;
    for (u64 i = 0; i < pages; ++i) params.shadowFaultBufferPteArray[i] = buffer_ + i * kPage4K;
    std::vector<u8> bytes(sizeof(params));
    store(std::span<u8>(bytes), params);
    status = context_.adapter.internal_control(NV2080_CTRL_CMD_INTERNAL_GMMU_REGISTER_CLIENT_SHADOW_FAULT_BUFFER, bytes);
    registered_ = status == NV_OK;
    if (!registered_) free_memory();
    return status;
}

void FaultQueue::destroy() {
    if (registered_) {
        NV2080_CTRL_INTERNAL_GMMU_UNREGISTER_CLIENT_SHADOW_FAULT_BUFFER_PARAMS params{};
        params.shadowFaultBufferType = kShadowNonReplayable;
        std::vector<u8> bytes(sizeof(params));
        store(std::span<u8>(bytes), params);
        Status status =
            context_.adapter.internal_control(NV2080_CTRL_CMD_INTERNAL_GMMU_UNREGISTER_CLIENT_SHADOW_FAULT_BUFFER, bytes);
        if (status != NV_OK)
            context_.note(fmt::format("driver: unregistering the shadow fault buffer: {}", abi::status_name(status)));
    }
    registered_ = false;
    free_memory();
}

void FaultQueue::free_memory() {
    u64 pages = (u64{bytes_} + kPage4K - 1) / kPage4K;
    if (queue_ != 0) context_.host.free_pages({queue_}, kPage4K);
    if (buffer_ != 0) context_.host.free_pages({buffer_}, pages * kPage4K);
    queue_ = buffer_ = 0;
    bytes_ = 0;
}

std::optional<gpu::FaultPacket> FaultQueue::pop() {
    if (!registered_) return std::nullopt;
    u64 slots = bytes_ / gpu::FaultPacket::kBytes;
    u64 get = read_word(q::kGet);
    u64 put = read_word(q::kPut);
    if (get == put || get >= slots || put >= slots) return std::nullopt;
    std::array<u8, gpu::FaultPacket::kBytes> bytes{};
    context_.host.read({buffer_ + get * gpu::FaultPacket::kBytes}, bytes);
    write_word(q::kGet, (get + 1) % slots);
    return gpu::FaultPacket::from_bytes(bytes);
}

u64 FaultQueue::read_word(u64 offset) const {
    std::vector<u8> bytes(sizeof(u64));
    context_.host.read({queue_ + offset}, bytes);
    return load<u64>(bytes).value_or(0);
}

void FaultQueue::write_word(u64 offset, u64 value) const {
    std::vector<u8> bytes(sizeof(u64));
    store(std::span<u8>(bytes), value);
    context_.host.write({queue_ + offset}, bytes);
}

void FaultQueue::visit(sim::StateVisitor& visitor) {
    visitor.field("queue", queue_);
    visitor.field("buffer", buffer_);
    visitor.field("bytes", bytes_);
    visitor.field("registered", registered_);
}

}  // namespace rm::client::uvm
