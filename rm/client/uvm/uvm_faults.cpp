// Uvm: non-replayable faults of registered channels. What is left out: managed memory does not move to the GPU, so no
// fault can be serviced, and each is fatal for its channel. Source: nvidia-uvm/uvm_gpu_non_replayable_faults.c
// (uvm_parent_gpu_service_non_replayable_fault_buffer, service_fault_once, kill_channel_delayed).
#include <fmt/format.h>

#include "rm/client/uvm/uvm.h"

namespace rm::client::uvm {

// The registered channel whose instance block the packet names; nullptr: it has gone meanwhile.
UserChannel* Uvm::find_faulting(const gpu::FaultPacket& packet, AddressSpace** space_of) {
    std::optional<gpu::PhysAddr> instance = packet.instance();
    if (!instance || instance->aperture != gpu::Aperture::Vid) return nullptr;
    for (auto& [file, space] : spaces_) {
        for (UserChannel& channel : space.channels) {
            ClientEntry* client = context_.server.find_client(channel.client);
            Object* object = client != nullptr ? client->find(channel.channel) : nullptr;
            ChannelData* data = object != nullptr ? object->as<ChannelData>() : nullptr;
            if (data == nullptr || data->chid != channel.chid || data->instance != instance->value) continue;
            *space_of = &space;
            return &channel;
        }
    }
    return nullptr;
}

void Uvm::service_faults() {
    while (std::optional<gpu::FaultPacket> packet = gpu_.next_fault()) {
        AddressSpace* space = nullptr;
        UserChannel* channel = find_faulting(*packet, &space);
        if (channel == nullptr) {
            context_.note("uvm: a fault of a channel that is not registered: NV_ERR_INVALID_CHANNEL");
            continue;
        }
        Range* range = space->find(packet->va());
        if (range != nullptr && range->type == RangeType::Managed) {
            context_.refused("uvm: servicing a GPU fault in managed memory",
                             fmt::format("channel {} at {:#x}", channel->chid, packet->va()));
        }
        context_.note(fmt::format("uvm: fatal fault of channel {} at {:#x}: NV_ERR_INVALID_ADDRESS", channel->chid, packet->va()));
        Status status = gpu_.report_fault(*packet);
        if (status != NV_OK) context_.note(fmt::format("uvm: a fault could not be reported: {}", abi::status_name(status)));
    }
}

}  // namespace rm::client::uvm
