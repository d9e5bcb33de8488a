// ChannelUnit: groups, context shares, channels, and the token that a client rings.
#include "rm/client/channel_unit.h"

#include "rm/abi/all_structs.h"
#include "rm/abi/flags_alloc.h"
#include "rm/abi/flags_nvos.h"
#include "rm/client/engine_map.h"

namespace rm::client {

namespace {

constexpr u64 kInstanceBytes = 0x1000;
constexpr u64 kRamfcBytes = 0x200;
constexpr u64 kUserdBytes = 0x200;
constexpr u32 kSubcontextsMax = 64;
constexpr u32 kChidsPerUserdPage = 8;
constexpr u32 kAddrSysmem = 1;  // ADDR_SYSMEM, ADDR_FBMEM
constexpr u32 kAddrFbmem = 2;
constexpr u64 kNotifierBytes = sizeof(NvNotification);

// NV_KERNELCHANNEL_ALLOC_INTERNALFLAGS
using INTERNALFLAGS_PRIVILEGE = Field<1, 0>;
using INTERNALFLAGS_ERROR_NOTIFIER_TYPE = Field<3, 2>;
using INTERNALFLAGS_ECC_ERROR_NOTIFIER_TYPE = Field<5, 4>;
constexpr u32 kPrivilegeUser = 0;
constexpr u32 kPrivilegeAdmin = 1;
constexpr u32 kNotifierNone = 1;
constexpr u32 kNotifierMemory = 3;

NV_MEMORY_DESC_PARAMS describe(const MemoryData& memory, u64 offset, u64 bytes) {
    NV_MEMORY_DESC_PARAMS desc{};
    desc.base = memory.address + offset;
    desc.size = bytes;
    desc.addressSpace = memory.place == MemoryData::Place::Video ? kAddrFbmem : kAddrSysmem;
    return desc;
}

MemoryData* memory_of(ClientEntry& client, NvHandle handle) {
    Object* object = client.find(handle);
    MemoryData* memory = object != nullptr ? object->as<MemoryData>() : nullptr;
    return memory != nullptr && memory->place != MemoryData::Place::Registers ? memory : nullptr;
}

}  // namespace

void ChannelUnit::reset() {
    chids_.clear();
    if (context_.adapter.channels_per_runlist() != 0) chids_.add(0, context_.adapter.channels_per_runlist());
}

Status ChannelUnit::construct_group(AllocCall& call) {
    auto params = call.read<NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS>();
    ChannelGroupData& group = call.object.data.emplace<ChannelGroupData>();
    group.engine = params.engineType == NV2080_ENGINE_TYPE_NULL ? NV2080_ENGINE_TYPE_GR0 : params.engineType;
    const EngineName* engine = engine_by_nv2080(group.engine);
    std::optional<u32> runlist = engine != nullptr ? context_.adapter.runlist_of(engine->rm) : std::nullopt;
    if (!runlist) {
        context_.note("driver: channel group of engine type " + std::to_string(params.engineType) +
                      (engine != nullptr ? " (" + std::string(engine->name) + ")" : "") +
                      ", which the chip does not have: NV_ERR_INVALID_ARGUMENT");
        return NV_ERR_INVALID_ARGUMENT;
    }
    group.runlist = *runlist;
    group.error_memory = params.hObjectError;
    // Without a default space of the device the group may have none: each context share then names its own.
    Object* device = call.client.ancestor(call.object.parent, "Device");
    if (device == nullptr) return NV_ERR_INVALID_DEVICE;
    bool named_only = device->as<DeviceData>()->va_mode == NV_DEVICE_ALLOCATION_VAMODE_MULTIPLE_VASPACES;
    Status status = NV_OK;
    if (!named_only || params.hVASpace != 0)
        status = spaces_.resolve(call.client, call.object.parent, params.hVASpace, &group.va_space);
    if (status != NV_OK) return status;
    if (params.hObjectError != 0 && memory_of(call.client, params.hObjectError) == nullptr)
        return NV_ERR_INVALID_OBJECT_HANDLE;
    NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS told = params;
    told.engineType = group.engine;
    std::vector<u8> bytes(call.params.size());
    std::copy_n(reinterpret_cast<const u8*>(&told), std::min(bytes.size(), sizeof(told)), bytes.begin());
    status = context_.adapter.rpc().rm_alloc(call.client.handle, call.object.parent, call.object.handle,
                                             call.object.class_id, bytes);
    if (status != NV_OK) return status;
    call.object.on_gsp = true;
    call.client.spend_handle();  // its KERNEL_GRAPHICS_CONTEXT
    if (Object* space = params.hVASpace != 0 ? call.client.find(params.hVASpace) : nullptr)
        ObjectServer::depend(*space, call.object);
    return NV_OK;
}

Status ChannelUnit::construct_context_share(AllocCall& call) {
    auto params = call.read<NV_CTXSHARE_ALLOCATION_PARAMETERS>();
    ChannelGroupData* group = call.client.find(call.object.parent)->as<ChannelGroupData>();
    if (group == nullptr) return NV_ERR_INVALID_OBJECT_PARENT;
    ContextShareData& share = call.object.data.emplace<ContextShareData>();
    share.va_space = group->va_space;
    if (params.hVASpace != 0 || share.va_space == 0) {
        Status status = spaces_.resolve(call.client, call.object.parent, params.hVASpace, &share.va_space);
        if (status != NV_OK) return status;
    }
    u32 mode = NV_CTXSHARE_ALLOCATION_FLAGS_SUBCONTEXT::get(params.flags);
    if (mode == NV_CTXSHARE_ALLOCATION_FLAGS_SUBCONTEXT_SPECIFIED) {
        if (params.subctxId >= kSubcontextsMax) return NV_ERR_INVALID_ARGUMENT;
        share.subcontext = params.subctxId;
    } else if (mode == NV_CTXSHARE_ALLOCATION_FLAGS_SUBCONTEXT_SYNC) {
        share.subcontext = 0;
    } else {
        // Subcontext 0 is the synchronous one; the others are handed out downwards unless the caller prefers lower ones.
        u64 taken = 1;
        for (NvHandle sibling : call.client.find(call.object.parent)->children) {
            ContextShareData* other =
                sibling != call.object.handle ? call.client.find(sibling)->as<ContextShareData>() : nullptr;
            if (other != nullptr) taken |= u64{1} << other->subcontext;
        }
        bool lower = mode == NV_CTXSHARE_ALLOCATION_FLAGS_SUBCONTEXT_ASYNC_PREFER_LOWER;
        u32 tried = 0;
        for (; tried < kSubcontextsMax; ++tried) {
            share.subcontext = lower ? tried : kSubcontextsMax - 1 - tried;
            if ((taken >> share.subcontext & 1) == 0) break;
        }
        if (tried == kSubcontextsMax) return NV_ERR_INSUFFICIENT_RESOURCES;
    }
    for (NvHandle sibling : call.client.find(call.object.parent)->children) {
        ContextShareData* other =
            sibling != call.object.handle ? call.client.find(sibling)->as<ContextShareData>() : nullptr;
        if (other != nullptr && other->subcontext == share.subcontext) return NV_ERR_STATE_IN_USE;
    }
    NV_CTXSHARE_ALLOCATION_PARAMETERS told = params;
    told.flags =
        NV_CTXSHARE_ALLOCATION_FLAGS_SUBCONTEXT::set(told.flags, NV_CTXSHARE_ALLOCATION_FLAGS_SUBCONTEXT_SPECIFIED);
    told.subctxId = share.subcontext;
    std::vector<u8> bytes(sizeof(told));
    store(std::span<u8>(bytes), told);
    Status status = context_.adapter.rpc().rm_alloc(call.client.handle, call.object.parent, call.object.handle,
                                                    call.object.class_id, bytes);
    if (status != NV_OK) return status;
    call.object.on_gsp = true;
    if (Object* space = params.hVASpace != 0 ? call.client.find(params.hVASpace) : nullptr)
        ObjectServer::depend(*space, call.object);
    params.subctxId = share.subcontext;
    call.write(params);
    return NV_OK;
}

// USERD lies in memory that the client gives; without one the driver takes a block of its own.
Status ChannelUnit::describe_userd(AllocCall& call, NV_CHANNEL_ALLOC_PARAMS& params, ChannelData& channel) {
    if (params.hUserdMemory[0] == 0) {
        std::optional<gpu::FbPa> block = context_.adapter.alloc_fb({.bytes = kPage4K, .alignment = kPage4K});
        if (!block) return NV_ERR_NO_MEMORY;
        channel.userd = block->value;
        channel.owns_userd = true;
        for (u64 offset = 0; offset < kUserdBytes; offset += sizeof(u64))
            context_.adapter.table_store().write_entry({channel.userd + offset}, 0);
        params.userdMem = {channel.userd, kUserdBytes, kAddrFbmem, 0};
        return NV_OK;
    }
    MemoryData* memory = memory_of(call.client, params.hUserdMemory[0]);
    if (call.client.find(params.hUserdMemory[0]) == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    if (memory == nullptr) return NV_ERR_INVALID_OBJECT_HANDLE;
    u64 offset = params.userdOffset[0];
    if (offset % kUserdBytes != 0 || offset > memory->bytes || kUserdBytes > memory->bytes - offset) {
        context_.note("driver: USERD must be 512 bytes, aligned to 512, inside hUserdMemory[0]: NV_ERR_INVALID_OFFSET");
        return NV_ERR_INVALID_OFFSET;
    }
    params.userdMem = describe(*memory, offset, kUserdBytes);
    ObjectServer::depend(*call.client.find(params.hUserdMemory[0]), call.object);
    return NV_OK;
}

// A channel without a context share gets one of two that the driver makes for its group, which has none of the client's then; without a
// group it gets one of those, too. All that shows of them is the handles that they take (kchangrpapiSetLegacyMode).
Status ChannelUnit::use_legacy_shares(ClientEntry& client, ChannelGroupData* group, NvHandle parent) {
    if (group == nullptr) {
        for (int i = 0; i < 2; ++i) client.spend_handle();  // the group and its KERNEL_GRAPHICS_CONTEXT
    } else if (group->legacy) {
        return NV_OK;
    } else {
        for (NvHandle sibling : client.find(parent)->children)
            if (client.find(sibling)->as<ContextShareData>() != nullptr) return NV_ERR_INVALID_STATE;
        group->legacy = true;
    }
    for (int i = 0; i < 2; ++i) client.spend_handle();
    return NV_OK;
}

Status ChannelUnit::construct_channel(AllocCall& call) {
    auto params = call.read<NV_CHANNEL_ALLOC_PARAMS>();
    if (NVOS04_FLAGS_CHANNEL_TYPE::get(params.flags) != NVOS04_FLAGS_CHANNEL_TYPE_PHYSICAL) return NV_ERR_NOT_SUPPORTED;
    if (params.hContextShare != 0 && params.hVASpace != 0) {
        context_.note("driver: hContextShare and hVASpace cannot both be given: NV_ERR_INVALID_ARGUMENT");
        return NV_ERR_INVALID_ARGUMENT;
    }
    Object* parent = call.client.find(call.object.parent);
    ChannelGroupData* group = parent->as<ChannelGroupData>();
    if (group == nullptr && params.hContextShare != 0) return NV_ERR_INVALID_ARGUMENT;
    if (group != nullptr && params.hVASpace != 0) return NV_ERR_INVALID_ARGUMENT;

    ChannelData channel;
    channel.engine = group != nullptr ? group->engine : params.engineType;
    if (channel.engine == NV2080_ENGINE_TYPE_NULL) channel.engine = NV2080_ENGINE_TYPE_GR0;
    const EngineName* engine = engine_by_nv2080(channel.engine);
    std::optional<u32> runlist = engine != nullptr ? context_.adapter.runlist_of(engine->rm) : std::nullopt;
    if (!runlist) return NV_ERR_INVALID_ARGUMENT;
    channel.runlist = *runlist;
    u32 va_space = group != nullptr ? group->va_space : 0;
    if (params.hContextShare != 0) {
        Object* share = call.client.find(params.hContextShare);
        if (share == nullptr || share->as<ContextShareData>() == nullptr) return NV_ERR_INVALID_OBJECT_HANDLE;
        if (share->parent != call.object.parent) return NV_ERR_INVALID_OBJECT_PARENT;
        va_space = share->as<ContextShareData>()->va_space;
    } else if (group == nullptr) {
        Status status = spaces_.resolve(call.client, call.object.parent, params.hVASpace, &va_space);
        if (status != NV_OK) return status;
    }
    if (va_space == 0) return NV_ERR_INVALID_STATE;  // a group without a space, and no context share either
    if (params.hContextShare == 0) {
        Status status = use_legacy_shares(call.client, group, call.object.parent);
        if (status != NV_OK) return status;
    }
    channel.va_space = va_space;
    channel.error_memory = params.hObjectError != 0 ? params.hObjectError : group != nullptr ? group->error_memory : 0;
    MemoryData* notifier = channel.error_memory != 0 ? memory_of(call.client, channel.error_memory) : nullptr;
    if (channel.error_memory != 0 && notifier == nullptr) return NV_ERR_INVALID_STATE;  // also where the handle is nobody's
    if (notifier != nullptr && notifier->of_process) return NV_ERR_INVALID_ARGUMENT;     // Observed: 580.159.04.
    if (params.gpFifoEntries == 0) return NV_ERR_INVALID_ARGUMENT;  // that it is a power of two the firmware demands
    MemoryData* ecc_notifier = params.hObjectEccError != 0 ? memory_of(call.client, params.hObjectEccError) : nullptr;
    if (params.hObjectEccError != 0 && ecc_notifier == nullptr) return NV_ERR_INVALID_OBJECT_HANDLE;

    std::optional<u64> chid = chids_.alloc({.bytes = 1});
    if (!chid) return NV_ERR_NO_FREE_FIFOS;
    channel.chid = static_cast<u32>(*chid);
    std::optional<gpu::FbPa> instance =
        context_.adapter.alloc_fb({.bytes = kInstanceBytes, .alignment = kInstanceBytes});
    Status status = instance ? NV_OK : NV_ERR_NO_MEMORY;
    if (instance) {
        channel.instance = instance->value;
        channel.owns_instance = true;
        for (u64 offset = 0; offset < kInstanceBytes; offset += sizeof(u64))
            context_.adapter.table_store().write_entry({channel.instance + offset}, 0);
        status = describe_userd(call, params, channel);
    }
    if (status == NV_OK) {
        // What the firmware is told; the caller sees of it only the channel's number and the privilege flag.
        NV_CHANNEL_ALLOC_PARAMS told = params;
        told.hObjectBuffer = 0;
        told.engineType = channel.engine;
        told.instanceMem = {channel.instance, kInstanceBytes, kAddrFbmem, 0};
        told.ramfcMem = {channel.instance, kRamfcBytes, kAddrFbmem, 0};
        told.mthdbufMem = {};
        told.hPhysChannelGroup = 0;
        told.errorNotifierMem = notifier != nullptr ? describe(*notifier, 0, notifier->bytes) : NV_MEMORY_DESC_PARAMS{};
        told.eccErrorNotifierMem =
            ecc_notifier != nullptr ? describe(*ecc_notifier, 0, ecc_notifier->bytes) : NV_MEMORY_DESC_PARAMS{};
        u32 internal = INTERNALFLAGS_PRIVILEGE::make(call.privileged ? kPrivilegeAdmin : kPrivilegeUser);
        internal =
            INTERNALFLAGS_ERROR_NOTIFIER_TYPE::set(internal, notifier != nullptr ? kNotifierMemory : kNotifierNone);
        internal = INTERNALFLAGS_ECC_ERROR_NOTIFIER_TYPE::set(
            internal, ecc_notifier != nullptr ? kNotifierMemory : kNotifierNone);
        told.internalFlags = internal;
        told.ProcessID = call.pid;
        told.SubProcessID = 0;
        u32 flags = NVOS04_FLAGS_PRIVILEGED_CHANNEL::set(params.flags, call.privileged ? 1 : 0);
        params.flags = flags;
        flags = NVOS04_FLAGS_CHANNEL_USERD_INDEX_PAGE_FIXED::set(flags, 1);
        flags = NVOS04_FLAGS_CHANNEL_USERD_INDEX_FIXED::set(flags, 0);
        flags = NVOS04_FLAGS_CHANNEL_USERD_INDEX_VALUE::set(flags, channel.chid % kChidsPerUserdPage);
        flags = NVOS04_FLAGS_CHANNEL_USERD_INDEX_PAGE_VALUE::set(flags, channel.chid / kChidsPerUserdPage);
        told.flags = flags;
        std::vector<u8> bytes(call.params.size());
        std::copy_n(reinterpret_cast<const u8*>(&told), std::min(bytes.size(), sizeof(told)), bytes.begin());
        status = context_.adapter.rpc().rm_alloc(call.client.handle, call.object.parent, call.object.handle,
                                                 call.object.class_id, bytes);
    }
    if (status != NV_OK) {
        destroy(channel);
        return status;
    }
    call.object.on_gsp = true;
    for (NvHandle provider : {params.hContextShare, params.hVASpace, channel.error_memory})
        if (Object* object = provider != 0 ? call.client.find(provider) : nullptr)
            ObjectServer::depend(*object, call.object);
    params.cid = channel.chid;
    params.userdMem = {};  // physical addresses are not a client's business
    call.write(params);
    call.object.data = channel;
    return NV_OK;
}

void ChannelUnit::destroy(ChannelData& channel) {
    if (channel.owns_instance) context_.adapter.free_fb({channel.instance}, kInstanceBytes);
    if (channel.owns_userd) context_.adapter.free_fb({channel.userd}, kPage4K);
    channel.owns_instance = false;
    channel.owns_userd = false;
    chids_.free(channel.chid, 1);
}

u32 ChannelUnit::work_submit_token(const ChannelData& channel) const {
    return reg::NV_DOORBELL_CHID::make(channel.chid) | reg::NV_DOORBELL_RUNLIST::make(channel.runlist);
}

void ChannelUnit::notify_token(ClientEntry& client, const ChannelData& channel, u32 token) {
    MemoryData* memory = channel.error_memory != 0 ? memory_of(client, channel.error_memory) : nullptr;
    if (memory == nullptr) return;
    NvNotification notification{};
    u64 now = context_.kernel.now().ns();
    notification.timeStamp.nanoseconds[0] = static_cast<u32>(now);
    notification.timeStamp.nanoseconds[1] = static_cast<u32>(now >> 32);
    notification.info32 = token;
    std::vector<u8> bytes(kNotifierBytes);
    store(std::span<u8>(bytes), notification);
    memory_.write_memory(*memory, u64{channel.token_index} * kNotifierBytes, bytes);
}

ChannelData* ChannelUnit::find_channel(u32 runlist, u32 chid, ClientEntry** client, Object** object) {
    for (auto& [handle, entry] : context_.server.clients()) {
        for (auto& [number, node] : entry.objects) {
            ChannelData* channel = node.as<ChannelData>();
            if (channel == nullptr || channel->chid != chid) continue;
            if (runlist != ~u32{0} && channel->runlist != runlist) continue;
            *client = &entry;
            *object = &node;
            return channel;
        }
    }
    return nullptr;
}

}  // namespace rm::client
