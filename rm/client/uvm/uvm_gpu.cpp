// Uvm: the GPU, its address space, and the process's channels. Source: nvidia-uvm/uvm_va_space.c, uvm_user_channel.c.
#include "rm/client/engine_map.h"
#include "rm/client/uvm/uvm.h"
#include "rm/client/uvm/values.h"

namespace rm::client::uvm {

namespace {

constexpr u64 kMaxChannelVa = u64{1} << 40;  // not all units on Turing form wider addresses

}  // namespace

// --- the GPU

// The machine's kernel has neither a shared page table (ATS) nor pages that a device can own (HMM).
Status Uvm::pageable_access(UvmCall& call) {
    call.params.set("pageableMemAccess", 0);
    return NV_OK;
}

Status Uvm::pageable_access_on_gpu(UvmCall& call) {
    if (!is_uvm_gpu(call, call.uuid("gpu_uuid"))) return NV_ERR_INVALID_DEVICE;
    call.params.set("pageableMemAccess", 0);
    return NV_OK;
}

Status Uvm::register_gpu(UvmCall& call) {
    Status status = gpu_.retain(call.uuid("gpu_uuid"));
    if (status != NV_OK) return status;
    if (call.space->gpu_registered)
        status = NV_ERR_INVALID_DEVICE;
    else if (call.space->disallow_new_registers)
        status = NV_ERR_PAGE_TABLE_NOT_AVAIL;
    if (status != NV_OK) {
        gpu_.release();
        return status;
    }
    call.space->gpu_registered = true;
    call.params.set("numaEnabled", 0);
    call.params.set("numaNodeId", ~u64{0});
    return NV_OK;
}

Status Uvm::unregister_gpu(UvmCall& call) {
    if (!is_uvm_gpu(call, call.uuid("gpu_uuid"))) return NV_ERR_INVALID_DEVICE;
    unregister_gpu(*call.space);
    return NV_OK;
}

void Uvm::unregister_gpu(AddressSpace& space) {
    if (space.gpu_space_registered) remove_gpu_space(space);
    for (auto& [base, range] : space.ranges) {
        if (range.policy.preferred == Processor::Gpu) range.policy.preferred = Processor::None;
        range.policy.accessed_by_gpu = false;
    }
    space.gpu_registered = false;
    gpu_.release();
}

// Peers are two different GPUs, and there is one.
Status Uvm::peer_access(UvmCall&) {
    return NV_ERR_INVALID_DEVICE;
}

// --- its address space

Status Uvm::register_gpu_space(UvmCall& call) {
    AddressSpace& space = *call.space;
    if (!is_uvm_gpu(call, call.uuid())) return NV_ERR_INVALID_DEVICE;
    if (mm_enabled(space) && space.mm != MmState::Alive) return NV_ERR_PAGE_TABLE_NOT_AVAIL;
    NvHandle duped = 0;
    u32 number = 0;
    Status status = gpu_.dup_va_space(call.params.get32("hClient"), call.params.get32("hVaSpace"), &duped, &number);
    if (status != NV_OK) return status;
    PageTree tree = gpu_.make_tree();
    if (space.gpu_space_registered) status = NV_ERR_INVALID_DEVICE;
    if (status == NV_OK) status = tree.create();
    if (status == NV_OK) status = gpu_.set_page_directory(duped, number, tree.root());
    if (status == NV_ERR_NOT_SUPPORTED) status = NV_ERR_INVALID_DEVICE;  // somebody registered it already
    if (status != NV_OK) {
        if (tree.exists()) tree.destroy();
        gpu_.free_duped(duped);
        return status;
    }
    space.tree = tree;
    space.duped_space = duped;
    space.rm_space = number;
    space.gpu_space_registered = true;
    // Pools made before appear to the GPU now.
    for (auto& [base, range] : space.ranges) {
        if (range.type != RangeType::SemaphorePool) continue;
        status = map_pool(space, base, range);
        if (status != NV_OK) {
            remove_gpu_space(space);
            return status;
        }
    }
    return NV_OK;
}

Status Uvm::unregister_gpu_space(UvmCall& call) {
    if (!has_gpu_space(call, call.uuid())) return NV_ERR_INVALID_DEVICE;
    remove_gpu_space(*call.space);
    return NV_OK;
}

void Uvm::unset_page_directory(AddressSpace& space) {
    if (space.gpu_space_registered) gpu_.unset_page_directory(space.duped_space, space.rm_space);
}

void Uvm::remove_gpu_space(AddressSpace& space) {
    detach_channels(space);
    std::vector<u64> reflected;
    for (auto& [base, range] : space.ranges) {
        while (!range.maps.empty()) destroy_map(space, range, range.maps.begin()->first);
        if (range.on_gpu) {
            (void)space.tree.unmap(table_va(base), range.last - base + 1, range.page_bytes, Membar::Sys);
            range.on_gpu = false;
        }
        if (range.type == RangeType::SkedReflected) reflected.push_back(base);
    }
    for (u64 base : reflected) space.ranges.erase(base);
    unset_page_directory(space);
    space.tree.destroy();
    gpu_.free_duped(space.duped_space);
    space.duped_space = 0;
    space.rm_space = 0;
    space.gpu_space_registered = false;
}

// --- channels

// The driver maps a graphics channel's context buffers into [base, base + length) and tells RM where. The firmware of
// this machine keeps these buffers to itself, so only the range is checked. (model)
Status Uvm::register_channel(UvmCall& call) {
    AddressSpace& space = *call.space;
    if (!has_gpu_space(call, call.uuid())) return NV_ERR_INVALID_DEVICE;
    NvHandle client_handle = call.params.get32("hClient");
    NvHandle handle = call.params.get32("hChannel");
    ClientEntry* client = context_.server.find_client(client_handle);
    if (client == nullptr) return NV_ERR_INVALID_OBJECT_HANDLE;
    Object* object = client->find(handle);
    ChannelData* channel = object != nullptr ? object->as<ChannelData>() : nullptr;
    if (channel == nullptr) return NV_ERR_INVALID_OBJECT_HANDLE;
    if (channel->va_space != space.rm_space) return NV_ERR_INVALID_CHANNEL;
    const EngineName* graphics = engine_by_nv2080(NV2080_ENGINE_TYPE_GR0);
    bool has_buffers = context_.adapter.runlist_of(graphics->rm) == channel->runlist;
    u64 base = call.params.get("base");
    u64 length = call.params.get("length");
    if (has_buffers && range_invalid(base, length)) return NV_ERR_INVALID_ADDRESS;
    if (space.find_channel(client_handle, handle) != nullptr) return NV_ERR_INVALID_CHANNEL;
    if (has_buffers && base + length - 1 >= kMaxChannelVa) return NV_ERR_OUT_OF_RANGE;
    space.channels.push_back(UserChannel{client_handle, handle, channel->chid});
    return NV_OK;
}

Status Uvm::unregister_channel(UvmCall& call) {
    AddressSpace& space = *call.space;
    UserChannel* channel = space.find_channel(call.params.get32("hClient"), call.params.get32("hChannel"));
    if (channel == nullptr) return NV_ERR_INVALID_CHANNEL;
    gpu_.stop_channel(channel->client, channel->channel, channel->chid);
    space.channels.erase(space.channels.begin() + (channel - space.channels.data()));
    return NV_OK;
}

void Uvm::detach_channels(AddressSpace& space) {
    for (const UserChannel& channel : space.channels) gpu_.stop_channel(channel.client, channel.channel, channel.chid);
    space.channels.clear();
}

}  // namespace rm::client::uvm
