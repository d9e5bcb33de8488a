// Driver: allocation and release of objects. Order of checks: rs_server.c (serverAllocResource,
// serverAllocResourceUnderLock), alloc_free.c (serverAllocApiCopyIn, serverAllocApiCopyOut).
#include <fmt/format.h>

#include "rm/abi/all_structs.h"
#include "rm/abi/engine_types.h"
#include "rm/client/driver.h"
#include "rm/client/engine_map.h"

namespace rm::client {

namespace {

constexpr u64 kRightsBytes = sizeof(RS_ACCESS_MASK);
constexpr u32 kDevicesMax = 32;    // NV_MAX_DEVICES
constexpr u32 kSubdevicesMax = 8;  // NV_MAX_SUBDEVICES
using NV503C_ALLOC_PARAMETERS_FLAGS_TYPE = Field<1, 0>;
constexpr u32 NV503C_ALLOC_PARAMETERS_FLAGS_TYPE_PROPRIETARY = 0;
constexpr u32 NV503C_ALLOC_PARAMETERS_FLAGS_TYPE_BAR1 = 1;
constexpr u32 NV503C_ALLOC_PARAMETERS_FLAGS_TYPE_NVLINK = 2;

}  // namespace

Status Driver::alloc(const IoctlCall& call, AllocRequest& request) {
    const ResourceRow* row = find_resource(request.class_id);
    std::optional<u32> bytes = alloc_bytes(version_, request.class_id);
    if (row == nullptr || !bytes) {
        context_.note(
            fmt::format("driver: class 0x{:x} is not in the resource list: NV_ERR_INVALID_CLASS", request.class_id));
        context_.refused(fmt::format("class 0x{:04x} ?", request.class_id), "RM_ALLOC of an unknown class");
        return NV_ERR_INVALID_CLASS;
    }
    // The class decides how much is read, whatever the caller's paramsSize says.
    if (row->params == ParamsKind::Required && request.params == 0) return NV_ERR_INVALID_ARGUMENT;
    std::vector<u8> params(request.params != 0 ? *bytes : 0);
    if (!params.empty() && !call.caller.memory.read(request.params, params)) {
        context_.note(
            fmt::format("driver: parameters of {}: {} bytes at 0x{:x} are not readable: NV_ERR_INVALID_ADDRESS",
                        row->name, params.size(), request.params));
        return NV_ERR_INVALID_ADDRESS;
    }
    std::vector<u8> rights(kRightsBytes);
    if (request.rights != 0 && !call.caller.memory.read(request.rights, rights)) return NV_ERR_INVALID_ADDRESS;
    // No class has a serialized form of its parameters (FinnRmApiGetUnserializedSize is 0 for each).
    if (request.serialized) return NV_ERR_LIB_RM_VERSION_MISMATCH;
    Status status = is_root_class(*row) ? alloc_client(call, request, params) : alloc_object(call, request, params);
    if (status == NV_OK && request.rights != 0) status = grant(call, request, *load<u32>(rights));
    // A copy out that fails leaves the object in place, as the driver does.
    if (status == NV_OK && !params.empty() && !call.caller.memory.write(request.params, params))
        status = NV_ERR_INVALID_ADDRESS;
    return status;
}

// An object whose maker names rights has those and no other, and is not made at all where one of them is not his to give
// (rsAccessGrantRights).
Status Driver::grant(const IoctlCall& call, const AllocRequest& request, u32 rights) {
    const bool root = request.client == 0;  // the object is the client
    ClientEntry* client = server_.find_client(root ? request.object : request.client);
    Object* object = client->find(request.object);
    const u8 wanted = static_cast<u8>(rights & kAllRights);
    const u8 of_root = access_bit(RS_ACCESS_NICE) | access_bit(RS_ACCESS_PERFMON);
    const u8 given = static_cast<u8>(object->rights | (call.caller.privileged ? of_root : 0));
    if ((wanted & ~given) == 0) {
        object->rights = wanted;
        return NV_OK;
    }
    context_.note(fmt::format("driver: rights {:#x} are asked for, {:#x} are there to give: NV_ERR_INSUFFICIENT_PERMISSIONS", wanted,
                              given));
    if (root) free_client(request.object);
    else free_object(*client, request.object);
    return NV_ERR_INSUFFICIENT_PERMISSIONS;
}

Status Driver::alloc_object(const IoctlCall& call, AllocRequest& request, std::vector<u8>& params) {
    const ResourceRow* row = find_resource(request.class_id);
    if (row == nullptr) return NV_ERR_INVALID_CLASS;
    ClientEntry* client = nullptr;
    Status status =
        server_.client_for(request.client, FileTable::owner_of(call.file), NV_ERR_INVALID_OBJECT_HANDLE, &client);
    if (status != NV_OK) return status;
    NvHandle parent = request.parent;
    if (row->internal_class == "Event") {
        status = fix_event(request, params, &row, &parent);
        if (status != NV_OK) return status;
    }
    status = server_.check_alloc(*client, parent, request.object, *row, call.caller.privileged);
    if (status != NV_OK) return status;
    Object& object = server_.insert(*client, parent, request.object, request.class_id);
    AllocCall alloc_call{*client, object, params, call.caller.pid, call.caller.privileged, &call.caller.memory};
    status = construct(alloc_call);
    if (status != NV_OK) {
        object.data = std::monostate{};
        server_.erase(*client, request.object);
    }
    return status;
}

// What every event's parameters go through: the source is the parent that was named, whatever they say; where they name another client,
// the event itself hangs below the caller's own; NV01_EVENT is no class, theirs is (rmapiFixupAllocParams).
Status Driver::fix_event(AllocRequest& request, std::span<u8> bytes, const ResourceRow** row, NvHandle* parent) {
    auto params = load_prefix<NV0005_ALLOC_PARAMETERS>(bytes);
    if (request.class_id == NV01_EVENT) request.class_id = params.hClass;
    *row = find_resource(request.class_id);
    if (*row == nullptr || (*row)->internal_class != "Event") return NV_ERR_INVALID_CLASS;
    params.hSrcResource = request.parent;
    if (params.hParentClient != request.client) *parent = request.client;
    store(bytes, params);
    return NV_OK;
}

Status Driver::alloc_client(const IoctlCall& call, AllocRequest& request, std::vector<u8>& params) {
    if (request.client != 0) return NV_ERR_INVALID_ARGUMENT;
    ClientEntry* client = server_.create_client(call.caller.pid, FileTable::owner_of(call.file), call.caller.privileged);
    if (client == nullptr) return NV_ERR_INSUFFICIENT_RESOURCES;
    request.object = client->handle;
    if (params.size() >= sizeof(u32)) store(std::span<u8>(params), client->handle);
    return NV_OK;
}

Status Driver::construct(AllocCall& call) {
    const ResourceRow& row = call.object.row();
    if (missing_on_tu104(row, context_.classes)) {
        context_.note(
            fmt::format("driver: {} (0x{:04x}) is not a class of TU104: NV_ERR_INVALID_CLASS", row.name, row.class_id));
        context_.refused(fmt::format("class 0x{:04x} {}", row.class_id, row.name), "not a class of TU104");
        return NV_ERR_INVALID_CLASS;
    }
    struct Unit {
        std::string_view internal_class;
        Status (*construct)(Driver&, AllocCall&);
    };
    static constexpr Unit units[] = {
        {"Device", [](Driver& d, AllocCall& c) { return d.construct_device(c); }},
        {"Subdevice", [](Driver& d, AllocCall& c) { return d.construct_subdevice(c); }},
        {"VaSpaceApi", [](Driver& d, AllocCall& c) { return d.spaces_.construct(c); }},
        {"SystemMemory", [](Driver& d, AllocCall& c) { return d.memory_.construct_system(c); }},
        {"VideoMemory", [](Driver& d, AllocCall& c) { return d.memory_.construct_video(c); }},
        {"VirtualMemory", [](Driver& d, AllocCall& c) { return d.memory_.construct_virtual(c); }},
        {"VirtualMemoryRange", [](Driver& d, AllocCall& c) { return d.memory_.construct_virtual_range(c); }},
        {"OsDescMemory", [](Driver& d, AllocCall& c) { return d.memory_.construct_os_descriptor(c); }},
        {"GpuUserSharedData", [](Driver& d, AllocCall& c) { return d.memory_.construct_shared_data(c); }},
        {"ThirdPartyP2P", [](Driver& d, AllocCall& c) { return d.construct_third_party(c); }},
        {"UserModeApi", [](Driver& d, AllocCall& c) { return d.memory_.construct_usermode(c); }},
        {"KernelChannelGroupApi", [](Driver& d, AllocCall& c) { return d.channels_.construct_group(c); }},
        {"KernelCtxShareApi", [](Driver& d, AllocCall& c) { return d.channels_.construct_context_share(c); }},
        {"KernelChannel", [](Driver& d, AllocCall& c) { return d.channels_.construct_channel(c); }},
        {"KernelSMDebuggerSession", [](Driver& d, AllocCall& c) { return d.construct_debugger(c); }},
        {"ProfilerDev", [](Driver& d, AllocCall& c) { return d.construct_profiler(c); }},
        {"Profiler", [](Driver& d, AllocCall& c) { return d.may_profile(c) ? d.construct_on_gsp(c) : NV_ERR_INSUFFICIENT_PERMISSIONS; }},
        {"MemoryFabric", [](Driver&, AllocCall&) { return Status{NV_ERR_NOT_SUPPORTED}; }},  // no fabric to have addresses in
        {"Event", [](Driver& d, AllocCall& c) { return d.events_.construct(c); }},
    };
    for (const Unit& unit : units)
        if (unit.internal_class == row.internal_class) return unit.construct(*this, call);
    if (reaches_gsp(row)) return construct_on_gsp(call);
    if (row.internal_class == "ConfidentialComputeApi")
        return NV_OK;  // holds nothing: its controls say that the feature is off
    context_.refused(fmt::format("class 0x{:04x} {}", row.class_id, row.name),
                     fmt::format("{} bytes of parameters", call.params.size()));
    return NV_ERR_NOT_SUPPORTED;
}

Status Driver::construct_device(AllocCall& call) {
    // Optional as far as the table of classes goes; the factory of devices wants them all the same (resservResourceFactory).
    if (call.params.empty()) return NV_ERR_INVALID_ARGUMENT;
    auto params = call.read<NV0080_ALLOC_PARAMETERS>();
    if (params.deviceId >= kDevicesMax) return NV_ERR_INVALID_ARGUMENT;
    if (!adapter_.started() || params.deviceId != 0) {
        context_.note(
            "driver: device 0 is the only one, and some file of /dev/nvidia0 must be open: NV_ERR_INVALID_CLASS");
        return NV_ERR_INVALID_CLASS;
    }
    if (!call.client.on_gsp) {
        Status status = adapter_.alloc_client(call.client.handle, call.pid);
        if (status != NV_OK) return status;
        call.client.on_gsp = true;
    }
    DeviceData& data = call.object.data.emplace<DeviceData>();
    data.va_mode = params.vaMode;
    data.client_share = params.hClientShare;
    // The firmware is told the whole struct even when the caller gave none.
    NV0080_ALLOC_PARAMETERS told{};
    told.hClientShare = params.hClientShare;
    told.flags = params.flags;
    told.vaSpaceSize = params.vaSpaceSize;
    std::vector<u8> bytes(sizeof(told));
    store(std::span<u8>(bytes), told);
    Status status = adapter_.rpc().rm_alloc(call.client.handle, call.object.parent, call.object.handle,
                                            call.object.class_id, bytes);
    call.object.on_gsp = status == NV_OK;
    return status;
}

Status Driver::construct_subdevice(AllocCall& call) {
    auto params = call.read<NV2080_ALLOC_PARAMETERS>();
    // A device of one GPU takes any instance for it, and each instance once (gpugrpGetGpuFromSubDeviceInstance).
    if (params.subDeviceId >= kSubdevicesMax) return NV_ERR_INVALID_CLASS;
    for (NvHandle sibling : call.client.find(call.object.parent)->children) {
        SubdeviceData* other = sibling != call.object.handle ? call.client.find(sibling)->as<SubdeviceData>() : nullptr;
        if (other != nullptr && other->instance == params.subDeviceId) return NV_ERR_INSUFFICIENT_RESOURCES;
    }
    call.object.data.emplace<SubdeviceData>().instance = params.subDeviceId;
    std::vector<u8> bytes(sizeof(params));
    Status status = adapter_.rpc().rm_alloc(call.client.handle, call.object.parent, call.object.handle,
                                            call.object.class_id, bytes);
    call.object.on_gsp = status == NV_OK;
    return status;
}

// Other drivers reach the memory through BAR1; the mailboxes of old are gone, and the GPU's memory is not the CPU's.
Status Driver::construct_third_party(AllocCall& call) {
    auto params = call.read<NV503C_ALLOC_PARAMETERS>();
    switch (NV503C_ALLOC_PARAMETERS_FLAGS_TYPE::get(params.flags)) {
        case NV503C_ALLOC_PARAMETERS_FLAGS_TYPE_BAR1: call.object.data.emplace<ThirdPartyData>(); return NV_OK;
        case NV503C_ALLOC_PARAMETERS_FLAGS_TYPE_NVLINK: return NV_ERR_INVALID_STATE;
        case NV503C_ALLOC_PARAMETERS_FLAGS_TYPE_PROPRIETARY: return NV_ERR_NOT_SUPPORTED;
        default: return NV_ERR_INVALID_ARGUMENT;
    }
}

// Who may watch an object: its own process, and clients that were given the right (ksmdbgssnConstruct).
Status Driver::construct_debugger(AllocCall& call) {
    auto params = call.read<NV83DE_ALLOC_PARAMETERS>();
    if (params.hDebuggerClient_Obsolete != 0) return NV_ERR_INVALID_ARGUMENT;
    ClientEntry* watched = params.hAppClient == 0 ? &call.client : server_.find_client(params.hAppClient);
    if (watched == nullptr) return NV_ERR_INVALID_OBJECT_HANDLE;
    Object* object = watched->find(params.hClass3dObject);
    if (object == nullptr) return NV_ERR_INVALID_OBJECT_PARENT;
    if (watched->pid != call.client.pid && !shared_with(*object, *watched, call.client, RS_ACCESS_DEBUG)) {
        context_.note(fmt::format("driver: client 0x{:x} may not debug 0x{:x} of client 0x{:x}: NV_ERR_INSUFFICIENT_PERMISSIONS",
                                  call.client.handle, object->handle, watched->handle));
        return NV_ERR_INSUFFICIENT_PERMISSIONS;
    }
    if (object->internal_class() != "KernelGraphicsObject") return NV_ERR_INVALID_OBJECT;
    return construct_on_gsp(call);
}

// Profiling is for administrators (NVreg_RestrictProfilingToAdminUsers, which is on unless told otherwise).
bool Driver::may_profile(const AllocCall& call) const {
    if (!call.privileged)
        context_.note(fmt::format("driver: client 0x{:x} may not profile the device: NV_ERR_INSUFFICIENT_PERMISSIONS", call.client.handle));
    return call.privileged;
}

// The firmware is told what its client may do (profilerDevConstruct).
Status Driver::construct_profiler(AllocCall& call) {
    if (!may_profile(call)) return NV_ERR_INSUFFICIENT_PERMISSIONS;
    Status status = construct_on_gsp(call);
    if (status != NV_OK) return status;
    std::vector<u8> bytes(control_bytes(version_, NVB0CC_CTRL_CMD_INTERNAL_PERMISSIONS_INIT).value_or(0));
    NamedView params(version_, "NVB0CC_CTRL_INTERNAL_PERMISSIONS_INIT_PARAMS", bytes);
    for (std::string_view permission : {"bAdminProfilingPermitted", "bDevProfilingPermitted", "bMemoryProfilingPermitted",
                                        "bVideoMemoryProfilingPermitted", "bSysMemoryProfilingPermitted"})
        params.set(permission, 1);
    status = adapter_.rpc().rm_control(call.client.handle, call.object.handle, NVB0CC_CTRL_CMD_INTERNAL_PERMISSIONS_INIT, bytes);
    if (status != NV_OK) {
        adapter_.rpc().rm_free(call.client.handle, call.object.handle);
        call.object.on_gsp = false;
    }
    return status;
}

// Objects that live in the firmware; the kernel keeps the handle.
Status Driver::construct_on_gsp(AllocCall& call) {
    if (!adapter_.started()) return NV_ERR_INVALID_STATE;
    Status status = adapter_.rpc().rm_alloc(call.client.handle, call.object.parent, call.object.handle,
                                            call.object.class_id, call.params);
    call.object.on_gsp = status == NV_OK;
    if (ChannelData* channel = call.client.find(call.object.parent)->as<ChannelData>(); channel != nullptr && status == NV_OK)
        call.object.data.emplace<EngineObjectData>(EngineObjectData{engine_of(call, *channel)});
    return status;
}

// A copy object names its engine, by instance (version 0) or by type (version 1); every other one is of its channel's engine.
u32 Driver::engine_of(const AllocCall& call, const ChannelData& channel) {
    if (call.object.internal_class() != "KernelCeContext" || call.params.empty()) return channel.engine;
    auto params = call.read<NVB0B5_ALLOCATION_PARAMETERS>();
    return params.version == 0 ? copy_engine_type(params.engineType) : params.engineType;
}

void Driver::destroy(ClientEntry& client, NvHandle handle) {
    Object* object = client.find(handle);
    if (object->on_gsp) {
        Status status = adapter_.rpc().rm_free(client.handle, handle);
        if (status != NV_OK)
            context_.note(fmt::format("driver: the firmware refused to free 0x{:x} of client 0x{:x}: {}", handle,
                                      client.handle, status_name(status)));
    }
    if (MemoryData* memory = object->as<MemoryData>()) memory_.destroy(client, *memory, handle);
    if (VirtualMemoryData* memory = object->as<VirtualMemoryData>()) memory_.destroy(client, *memory, handle);
    if (ChannelData* channel = object->as<ChannelData>()) channels_.destroy(*channel);
    if (VaSpaceData* space = object->as<VaSpaceData>(); space != nullptr && space->owned)
        spaces_.destroy(space->va_space);
    if (DeviceData* device = object->as<DeviceData>(); device != nullptr && device->va_space != 0)
        spaces_.destroy(device->va_space);
    if (handle != client.handle) server_.erase(client, handle);
}

Status Driver::free_object(ClientEntry& client, NvHandle object) {
    if (client.find(object) == nullptr) return NV_OK;  // as the driver answers old clients, which free what is gone already
    for (NvHandle handle : client.free_order(object)) destroy(client, handle);
    return NV_OK;
}

void Driver::free_client(NvHandle handle) {
    ClientEntry* client = server_.find_client(handle);
    if (client == nullptr) return;
    free_object(*client, handle);
    if (client->on_gsp) adapter_.rpc().rm_free(handle, handle);
    events_.free_client(handle);
    server_.remove_client(handle);
}

}  // namespace rm::client
