// See explain.h. Sources: rpc.c and resserv of NVIDIA/open-gpu-kernel-modules tag 570.144, by the names of the functions.
#include "rm/gsp/explain.h"

#include <fmt/format.h>

#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/nvos.h"
#include "rm/gsp/gsp_impl.h"

namespace rm::gsp {
namespace {

struct FixedPart {
    u32 function;
    std::string_view name;
};
constexpr FixedPart kFixedParts[] = {
    {abi::NV_VGPU_MSG_FUNCTION_GSP_RM_CONTROL, "rpc_gsp_rm_control_v03_00"},
    {abi::NV_VGPU_MSG_FUNCTION_GSP_RM_ALLOC, "rpc_gsp_rm_alloc_v03_00"},
    {abi::NV_VGPU_MSG_FUNCTION_FREE, "rpc_free_v03_00"},
    {abi::NV_VGPU_MSG_FUNCTION_DUP_OBJECT, "rpc_dup_object_v03_00"},
    {abi::NV_VGPU_MSG_FUNCTION_SET_GUEST_SYSTEM_INFO, "rpc_set_guest_system_info_v03_00"},
    {abi::NV_VGPU_MSG_FUNCTION_UPDATE_BAR_PDE, "rpc_update_bar_pde_v15_00"},
    {abi::NV_VGPU_MSG_FUNCTION_SET_PAGE_DIRECTORY, "rpc_set_page_directory_v1E_05"},
    {abi::NV_VGPU_MSG_FUNCTION_UNSET_PAGE_DIRECTORY, "rpc_unset_page_directory_v1E_05"},
    {abi::NV_VGPU_MSG_FUNCTION_ALLOC_MEMORY, "rpc_alloc_memory_v13_01"},
    {abi::NV_VGPU_MSG_FUNCTION_UNLOADING_GUEST_DRIVER, "rpc_unloading_guest_driver_v1F_07"},
};

std::string unknown_client(u32 client) {
    return fmt::format("hClient {:#x} is no client here: a GSP_RM_ALLOC of NV01_ROOT makes it one (rpcRmApiAlloc_GSP)", client);
}

std::string unknown_object(std::string_view field, ObjectRef where) {
    return fmt::format("{} {:#x} is no object of client {:#x} (clientGetResourceRef)", field, where.handle, where.client);
}

std::string explain_control(const Failure& failure) {
    auto word = [&](u32 offset) { return abi::load<u32>(failure.payload, offset).value_or(0); };
    const ControlHead& head = failure.control_head;
    u32 cmd = word(head.cmd);
    u32 bytes = word(head.params_size);
    ObjectRef where{word(head.client), word(head.object)};
    u64 room = failure.payload.size() - head.bytes;
    if (bytes > room)
        return fmt::format("paramsSize is {:#x}, must be at most header.length - 32 - {} = {:#x} (rpcRmApiControl_GSP)", bytes, head.bytes,
                           room);
    if (!failure.objects.has_client(where.client)) return unknown_client(where.client);
    const Object* object = failure.objects.find(where);
    if (object == nullptr && where.handle != where.client) return unknown_object("hObject", where);
    std::optional<u32> right = control_bytes(failure.version, cmd);
    if (failure.status == abi::NV_ERR_NOT_SUPPORTED || !right) return {};
    if (bytes != *right)
        return fmt::format("paramsSize is {}, must be {} for {} in {} (rmControl_Deferred checks the exported size)", bytes, *right,
                           abi::control_name(cmd), version_name(failure.version));
    return fmt::format("{} refuses its parameters", abi::control_name(cmd));
}

std::string explain_alloc(const Failure& failure) {
    auto fixed = *abi::load<abi::rpc_gsp_rm_alloc_v03_00>(failure.payload);
    ObjectRef where{fixed.hClient, fixed.hObject};
    u64 room = failure.payload.size() - sizeof(fixed);
    if (fixed.paramsSize > room)
        return fmt::format("paramsSize is {:#x}, must fit the {:#x} bytes behind the fixed part in the element (rpcRmApiAlloc_GSP)",
                           fixed.paramsSize, room);
    const abi::ResourceRow* row = abi::find_resource(fixed.hClass);
    if (failure.status == abi::NV_ERR_INVALID_CLASS || row == nullptr)
        return fmt::format("hClass {:#x} {} is not one that this chip's firmware makes (resource_list.h)", fixed.hClass,
                           abi::class_name(fixed.hClass));
    bool is_root = row->internal_class == "RmClientResource";
    if (!is_root && !failure.objects.has_client(where.client)) return unknown_client(where.client);
    if (failure.status == abi::NV_ERR_INSERT_DUPLICATE_NAME)
        return fmt::format("hObject {:#x} of client {:#x} exists already (clientAssignResourceHandle)", where.handle, where.client);
    if (failure.status == abi::NV_ERR_INVALID_OBJECT_PARENT) {
        const Object* parent = failure.objects.find({where.client, fixed.hParent});
        if (parent == nullptr && fixed.hParent != where.client) return unknown_object("hParent", {where.client, fixed.hParent});
        return fmt::format("hParent {:#x} is a {}, and {} takes: {} (resource_list.h)", fixed.hParent,
                           parent == nullptr ? std::string_view("client") : abi::class_name(parent->class_id), row->name, row->parents);
    }
    u32 right = alloc_bytes(failure.version, fixed.hClass).value_or(row->params_bytes);
    if (fixed.paramsSize != right)
        return fmt::format("paramsSize is {}, must be {} for {} in {} (resource_list.h)", fixed.paramsSize, right, row->name,
                           version_name(failure.version));
    return fmt::format("{} refuses its parameters", row->name);
}

std::string explain_free(const Failure& failure) {
    auto call = *abi::load<abi::rpc_free_v03_00>(failure.payload);
    if (!failure.objects.has_client(call.params.hRoot)) return unknown_client(call.params.hRoot);
    return unknown_object("hObjectOld", {call.params.hRoot, call.params.hObjectOld});
}

std::string explain_dup(const Failure& failure) {
    auto call = *abi::load<abi::rpc_dup_object_v03_00>(failure.payload);
    for (u32 client : {call.params.hClientSrc, call.params.hClient})
        if (!failure.objects.has_client(client)) return unknown_client(client);
    if (failure.objects.find({call.params.hClientSrc, call.params.hObjectSrc}) == nullptr)
        return unknown_object("hObjectSrc", {call.params.hClientSrc, call.params.hObjectSrc});
    return fmt::format("hObject {:#x} under hParent {:#x} cannot stand for the source (clientCopyResource)", call.params.hObject,
                       call.params.hParent);
}

}  // namespace

std::string explain(const Failure& failure) {
    for (const FixedPart& part : kFixedParts) {
        if (part.function != failure.function) continue;
        u32 bytes = struct_bytes(failure.version, part.name);
        if (failure.payload.size() < bytes)
            return fmt::format("the payload has {} bytes, {} of {} has {}", failure.payload.size(), part.name,
                               version_name(failure.version), bytes);
    }
    switch (failure.function) {
        case abi::NV_VGPU_MSG_FUNCTION_GSP_RM_CONTROL: return explain_control(failure);
        case abi::NV_VGPU_MSG_FUNCTION_GSP_RM_ALLOC: return explain_alloc(failure);
        case abi::NV_VGPU_MSG_FUNCTION_FREE: return explain_free(failure);
        case abi::NV_VGPU_MSG_FUNCTION_DUP_OBJECT: return explain_dup(failure);
        default: return {};
    }
}

}  // namespace rm::gsp
