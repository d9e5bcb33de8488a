// Allocation and release by class. Source: NVIDIA/open-gpu-kernel-modules tag 570.144, resource_list.h, kernel_channel.c,
// kernel_channel_group_api.c, kernel_ctxshare.c, vaspace_api.c.
#include "rm/abi/alloc_channel.h"
#include "rm/abi/flags_alloc.h"
#include "rm/abi/flags_nvos.h"
#include "rm/abi/nvos.h"
#include "rm/gsp/gsp_impl.h"

namespace rm {

using abi::NV_STATUS;
using gsp::ObjectRef;

namespace {

bool is_client_class(u32 class_id) {
    return class_id == abi::NV01_ROOT || class_id == abi::NV01_ROOT_NON_PRIV || class_id == abi::NV01_ROOT_CLIENT;
}

}  // namespace

NV_STATUS Gsp::Impl::allocate(gsp::AllocCall& call) {
    if (is_client_class(call.class_id)) return objects_.insert_client(call.object.client);
    NV_STATUS status = objects_.check_new(call.object, call.parent, call.class_id);
    if (status != abi::NV_OK) return status;
    const abi::ResourceRow& row = *abi::find_resource(call.class_id);
    u32 right_bytes = alloc_bytes(version_, call.class_id).value_or(row.params_bytes);
    bool may_be_empty = row.params != abi::ParamsKind::Required;
    if (call.params.size() != right_bytes && !(may_be_empty && call.params.empty())) return abi::NV_ERR_INVALID_PARAM_STRUCT;

    if (row.internal_class == "KernelChannel") status = allocate_channel(call);
    else if (row.internal_class == "KernelChannelGroupApi") status = allocate_group(call);
    else if (row.internal_class == "KernelCtxShareApi") status = allocate_ctx_share(call);
    else if (row.internal_class == "VaSpaceApi") status = allocate_va_space(call);
    else if (row.internal_class == "KernelGraphicsObject" || row.internal_class == "KernelCeContext") status = allocate_engine_object(call);
    else if (row.internal_class == "KernelSMDebuggerSession") status = allocate_debugger(call);
    else if (row.internal_class == "Profiler" || row.internal_class == "ProfilerDev") allocate_profiler(call);
    else if (row.internal_class == "Device") call.resource = objects_.new_resource();
    if (status == abi::NV_OK) objects_.insert(call.object, call.parent, call.class_id, call.resource);
    return status;
}

u32 Gsp::Impl::va_space_of(ObjectRef near, u32 va_space_handle) {
    if (va_space_handle != 0) {
        const gsp::Object* object = objects_.find({near.client, va_space_handle});
        return object != nullptr && object->class_id == abi::FERMI_VASPACE_A ? object->resource : 0;
    }
    const gsp::Object* device = objects_.ancestor(near, "Device");
    if (device == nullptr) return 0;
    // The device's own address space comes into being when it is first used.
    u32& space = device_va_spaces_[device->resource];
    if (space == 0) {
        space = objects_.new_resource();
        fifo_.va_spaces.emplace(space, gsp::VaSpace{});
    }
    return space;
}

NV_STATUS Gsp::Impl::allocate_va_space(gsp::AllocCall& call) {
    auto params = abi::load_prefix<abi::NV_VASPACE_ALLOCATION_PARAMETERS>(call.params);
    if (params.index == abi::NV_VASPACE_ALLOCATION_INDEX_GPU_DEVICE) {
        call.resource = va_space_of({call.object.client, call.parent}, 0);
        return call.resource != 0 ? abi::NV_OK : abi::NV_ERR_INVALID_OBJECT_PARENT;
    }
    if (params.index >= abi::NV_VASPACE_ALLOCATION_INDEX_GPU_MAX) return abi::NV_ERR_INVALID_ARGUMENT;
    gsp::VaSpace space;
    space.replayable = (params.flags & abi::NV_VASPACE_ALLOCATION_FLAGS_ENABLE_PAGE_FAULTING) != 0;
    space.external = (params.flags & abi::NV_VASPACE_ALLOCATION_FLAGS_IS_EXTERNALLY_OWNED) != 0;
    call.resource = objects_.new_resource();
    fifo_.va_spaces.emplace(call.resource, space);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::allocate_group(gsp::AllocCall& call) {
    auto params = abi::load_prefix<abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS>(call.params);
    u32 space = va_space_of({call.object.client, call.parent}, params.hVASpace);
    if (space == 0) return abi::NV_ERR_INVALID_OBJECT_HANDLE;
    call.resource = objects_.new_resource();
    return fifo_.add_tsg(call.resource, params.engineType, space, false);
}

NV_STATUS Gsp::Impl::allocate_ctx_share(gsp::AllocCall& call) {
    auto params = abi::load_prefix<abi::NV_CTXSHARE_ALLOCATION_PARAMETERS>(call.params);
    const gsp::Object* group = objects_.find({call.object.client, call.parent});
    gsp::CtxShare share;
    share.tsg = group != nullptr ? group->resource : 0;
    auto tsg = fifo_.tsgs.find(share.tsg);
    if (tsg == fifo_.tsgs.end()) return abi::NV_ERR_INVALID_OBJECT_PARENT;
    share.va_space = params.hVASpace != 0 ? va_space_of({call.object.client, call.parent}, params.hVASpace) : tsg->second.va_space;
    if (share.va_space == 0) return abi::NV_ERR_INVALID_OBJECT_HANDLE;
    u32 kind = abi::NV_CTXSHARE_ALLOCATION_FLAGS_SUBCONTEXT::get(params.flags);
    bool specified = kind == abi::NV_CTXSHARE_ALLOCATION_FLAGS_SUBCONTEXT_SPECIFIED;
    // SYNC is subcontext 0; ASYNC takes a free one above it.
    bool any = kind == abi::NV_CTXSHARE_ALLOCATION_FLAGS_SUBCONTEXT_ASYNC ||
               kind == abi::NV_CTXSHARE_ALLOCATION_FLAGS_SUBCONTEXT_ASYNC_PREFER_LOWER;
    share.veid = specified ? params.subctxId : 0;
    call.resource = objects_.new_resource();
    u64 reserved = any ? ~tsg->second.veids & 1 : 0;
    tsg->second.veids |= reserved;
    NV_STATUS status = fifo_.add_ctx_share(call.resource, share, any, params.subctxId);
    tsg->second.veids &= ~reserved;
    if (status == abi::NV_OK) abi::store(call.params, params);
    return status;
}

NV_STATUS Gsp::Impl::allocate_channel(gsp::AllocCall& call) {
    auto params = abi::load_prefix<abi::NV_CHANNEL_ALLOC_PARAMS>(call.params);
    // The driver chooses the channel id and sends it in the USERD index fields.
    if (abi::NVOS04_FLAGS_CHANNEL_USERD_INDEX_PAGE_FIXED::get(params.flags) == 0) return abi::NV_ERR_INVALID_ARGUMENT;
    constexpr u32 kChannelsPerUserdPage = 8;
    u32 chid = abi::NVOS04_FLAGS_CHANNEL_USERD_INDEX_PAGE_VALUE::get(params.flags) * kChannelsPerUserdPage +
               abi::NVOS04_FLAGS_CHANNEL_USERD_INDEX_VALUE::get(params.flags);
    ObjectRef parent{call.object.client, call.parent};
    const gsp::Object* parent_object = objects_.find(parent);
    if (parent_object == nullptr) return abi::NV_ERR_INVALID_OBJECT_PARENT;
    u32 tsg = parent_object->class_id == abi::KEPLER_CHANNEL_GROUP_A ? parent_object->resource : 0;

    u32 veid = 0;
    u32 space = 0;
    if (params.hContextShare != 0) {
        const gsp::Object* share_object = objects_.find({call.object.client, params.hContextShare});
        auto share = share_object != nullptr ? fifo_.ctx_shares.find(share_object->resource) : fifo_.ctx_shares.end();
        if (share == fifo_.ctx_shares.end() || share->second.tsg != tsg) return abi::NV_ERR_INVALID_OBJECT_HANDLE;
        veid = share->second.veid;
        space = share->second.va_space;
    } else if (params.hVASpace == 0 && tsg != 0) {
        space = fifo_.tsgs.at(tsg).va_space;
    } else {
        space = va_space_of(parent, params.hVASpace);
    }
    if (space == 0) return abi::NV_ERR_INVALID_OBJECT_HANDLE;
    bool implicit = tsg == 0;
    if (implicit) {
        tsg = objects_.new_resource();
        NV_STATUS status = fifo_.add_tsg(tsg, params.engineType, space, true);
        if (status != abi::NV_OK) return status;
    }
    NV_STATUS status = fifo_.add_channel(call.object, params, chid, tsg, space, veid);
    if (status != abi::NV_OK && implicit) fifo_.tsgs.erase(tsg);
    return status;
}

NV_STATUS Gsp::Impl::allocate_engine_object(gsp::AllocCall& call) {
    gsp::Channel* channel = channel_of({call.object.client, call.parent});
    if (channel == nullptr) return abi::NV_ERR_INVALID_CHANNEL;
    const gpu::EngineRow* row = fifo_.engine(channel->engine_type);
    bool graphics_class = abi::find_resource(call.class_id)->internal_class == "KernelGraphicsObject";
    if (row != nullptr) {
        bool graphics_channel = row->on_gr_runlist;
        bool copy_channel = graphics_channel || row->kind == gpu::EngineKind::Ce;
        if (graphics_class ? !graphics_channel : !copy_channel) return abi::NV_ERR_INVALID_CLASS;
        if (row->kind == gpu::EngineKind::Ce && !graphics_class && row->class_id != call.class_id) return abi::NV_ERR_INVALID_CLASS;
    }
    if (graphics_class) fifo_.engine_context_valid(*channel);
    return abi::NV_OK;
}

// --- release -------------------------------------------------------------------------------------------------------------------

NV_STATUS Gsp::Impl::free_objects(ObjectRef where) {
    if (!objects_.has_client(where.client)) return abi::NV_ERR_INVALID_CLIENT;
    if (where.client == gsp::kInternalClient) return abi::NV_ERR_INVALID_ACCESS_TYPE;
    bool whole_client = where.handle == where.client;
    if (!whole_client && objects_.find(where) == nullptr) return abi::NV_ERR_OBJECT_NOT_FOUND;
    for (const gsp::Object& object : objects_.subtree(where)) release({where.client, object.handle}, object);
    if (whole_client) objects_.erase_client(where.client);
    return abi::NV_OK;
}

void Gsp::Impl::release(ObjectRef where, const gsp::Object& object) {
    if (gsp::Channel* channel = fifo_.find(where)) fifo_.remove_channel(channel->chid);
    if (!objects_.erase(where)) return;
    // The last object of the resource.
    u32 resource = object.resource;
    auto share = fifo_.ctx_shares.find(resource);
    if (share != fifo_.ctx_shares.end()) {
        auto tsg = fifo_.tsgs.find(share->second.tsg);
        if (tsg != fifo_.tsgs.end()) tsg->second.veids &= ~(u64{1} << share->second.veid);
        fifo_.ctx_shares.erase(share);
    }
    if (auto debugger = debuggers_.find(resource); debugger != debuggers_.end()) {
        resume(debugger->second);
        debuggers_.erase(debugger);
    }
    profilers_.erase(resource);
    auto group = fifo_.tsgs.find(resource);
    // A group that was duplicated may outlive its first handle, never its channels.
    if (group != fifo_.tsgs.end()) {
        while (!group->second.chids.empty()) fifo_.remove_channel(group->second.chids.back());
        fifo_.tsgs.erase(group);
    }
    auto device = device_va_spaces_.find(resource);
    if (device != device_va_spaces_.end()) {
        fifo_.forget_page_directory(device->second);
        fifo_.va_spaces.erase(device->second);
        device_va_spaces_.erase(device);
    }
    if (fifo_.va_spaces.count(resource) != 0) {
        bool device_owned = false;
        for (const auto& [owner, space] : device_va_spaces_) device_owned = device_owned || space == resource;
        if (!device_owned) {
            fifo_.forget_page_directory(resource);
            fifo_.va_spaces.erase(resource);
        }
    }
}

gsp::Channel* Gsp::Impl::channel_of(ObjectRef where) { return fifo_.find(where); }

gsp::Tsg* Gsp::Impl::group_of(ObjectRef where) {
    const gsp::Object* object = objects_.find(where);
    if (object == nullptr) return nullptr;
    auto group = fifo_.tsgs.find(object->resource);
    return object->class_id == abi::KEPLER_CHANNEL_GROUP_A && group != fifo_.tsgs.end() ? &group->second : nullptr;
}

}  // namespace rm
