// One handler per RPC function. Source: NVIDIA/open-gpu-kernel-modules tag 570.144, rpc.c (the sender's side of each).
#include <fmt/format.h>

#include <algorithm>

#include "gpu_model/regs/regs.h"
#include "rm/abi/classes.h"
#include "rm/abi/controls.h"
#include "rm/abi/registry.h"
#include "rm/gsp/gsp_impl.h"

namespace rm {

using gsp::ObjectRef;
using gsp::Reply;
using gsp::Request;

namespace {

constexpr std::string_view kControlStruct = "rpc_gsp_rm_control_v03_00";

Reply failed(u32 status, std::vector<u8> payload = {}) { return {status, 0, status, std::move(payload)}; }
Reply answered(std::vector<u8> payload) { return {abi::NV_OK, 0, abi::NV_OK, std::move(payload)}; }

// A text of the driver's inside a payload, for people.
std::string_view text_at(std::span<const u8> bytes, u64 offset) {
    if (offset >= bytes.size()) return {};
    std::span<const u8> rest = bytes.subspan(offset);
    auto end = std::find(rest.begin(), rest.end(), u8{0});
    return {reinterpret_cast<const char*>(rest.data()), static_cast<std::size_t>(end - rest.begin())};
}

}  // namespace

Reply Gsp::Impl::handle(Request& request) {
    u32 function = request.header.function;
    switch (function) {
        case abi::NV_VGPU_MSG_FUNCTION_NOP: return answered({});
        case abi::NV_VGPU_MSG_FUNCTION_GSP_SET_SYSTEM_INFO: {
            u32 bytes = struct_bytes(version_, "GspSystemInfo");
            have_system_info_ = request.payload.size() == bytes;
            if (!have_system_info_) {
                note(fmt::format("GspSystemInfo has {} bytes, {} has {}", request.payload.size(), version_name(version_), bytes));
            }
            return answered({});
        }
        case abi::NV_VGPU_MSG_FUNCTION_SET_REGISTRY: {
            std::string wrong = check_registry(request.payload);
            if (!wrong.empty()) note("SET_REGISTRY ignored: " + wrong);
            return answered({});
        }
        case abi::NV_VGPU_MSG_FUNCTION_ECC_NOTIFIER_WRITE_ACK: return answered({});
        case abi::NV_VGPU_MSG_FUNCTION_SET_GUEST_SYSTEM_INFO: return handle_guest_info(request);
        case abi::NV_VGPU_MSG_FUNCTION_GET_GSP_STATIC_INFO: return handle_static_info(request);
        case abi::NV_VGPU_MSG_FUNCTION_UPDATE_BAR_PDE: return handle_bar_pde(request);
        case abi::NV_VGPU_MSG_FUNCTION_GSP_RM_CONTROL: return handle_control(request);
        case abi::NV_VGPU_MSG_FUNCTION_GSP_RM_ALLOC: return handle_alloc(request);
        case abi::NV_VGPU_MSG_FUNCTION_FREE: return handle_free(request);
        case abi::NV_VGPU_MSG_FUNCTION_DUP_OBJECT: return handle_dup(request);
        case abi::NV_VGPU_MSG_FUNCTION_SET_PAGE_DIRECTORY: return handle_page_directory(request, true);
        case abi::NV_VGPU_MSG_FUNCTION_UNSET_PAGE_DIRECTORY: return handle_page_directory(request, false);
        case abi::NV_VGPU_MSG_FUNCTION_ALLOC_MEMORY: return handle_alloc_memory(request);
        case abi::NV_VGPU_MSG_FUNCTION_UNLOADING_GUEST_DRIVER: return handle_unloading(request);
        default: {
            std::string_view name = rpc_name(version_, function);
            kernel_.unmodelled().refused(fmt::format("rpc {} {}", function, name.empty() ? "(no such number)" : name), kernel_.now(),
                                         fmt::format("{} bytes", request.payload.size()));
            return failed(abi::NV_ERR_NOT_SUPPORTED);
        }
    }
}

// --- hand-shake ----------------------------------------------------------------------------------------------------------------

std::string Gsp::Impl::check_registry(std::span<const u8> bytes) const {
    auto table = abi::load<abi::PACKED_REGISTRY_TABLE>(bytes);
    if (!table) return "shorter than its header";
    if (table->size > bytes.size()) return fmt::format("size {} exceeds the message's {} bytes", table->size, bytes.size());
    for (u64 i = 0; i < table->numEntries; ++i) {
        auto entry = abi::load<abi::PACKED_REGISTRY_ENTRY>(bytes, sizeof(*table) + i * sizeof(abi::PACKED_REGISTRY_ENTRY));
        if (!entry) return fmt::format("entry {} of {} lies behind the end", i, table->numEntries);
        if (text_at(bytes, entry->nameOffset).empty()) return fmt::format("entry {} has no name at {:#x}", i, entry->nameOffset);
        if (entry->type < abi::REGISTRY_TABLE_ENTRY_TYPE_DWORD || entry->type > abi::REGISTRY_TABLE_ENTRY_TYPE_STRING) {
            return fmt::format("entry {} has type {}", i, entry->type);
        }
        bool inside = u64{entry->data} + entry->length <= bytes.size();
        if (entry->type != abi::REGISTRY_TABLE_ENTRY_TYPE_DWORD && !inside) return fmt::format("entry {}'s data lies behind the end", i);
    }
    return {};
}

Reply Gsp::Impl::handle_guest_info(Request& request) {
    auto info = abi::load<abi::rpc_set_guest_system_info_v03_00>(request.payload);
    if (!info) return failed(abi::NV_ERR_INVALID_PARAM_STRUCT);
    RpcVersion own = rpc_version(version_);
    Reply reply = answered(std::move(request.payload));
    if (info->vgxVersionMajorNum != own.major || info->vgxVersionMinorNum != own.minor) {
        note(fmt::format("driver speaks RPC version {:#x}.{:#x}, firmware {:#x}.{:#x}", info->vgxVersionMajorNum, info->vgxVersionMinorNum,
                         own.major, own.minor));
        info->vgxVersionMajorNum = own.major;
        info->vgxVersionMinorNum = own.minor;
        abi::store(std::span<u8>(reply.payload), *info);
        reply.rpc_result_private = abi::NV_ERR_NOT_SUPPORTED;  // (model) any value but 0 asks the driver to take our version
    }
    return reply;
}

Reply Gsp::Impl::handle_static_info(Request&) { return answered(static_info()); }

Reply Gsp::Impl::handle_unloading(Request& request) {
    auto params = abi::load<abi::rpc_unloading_guest_driver_v1F_07>(request.payload);
    if (!params) return failed(abi::NV_ERR_INVALID_PARAM_STRUCT);
    if (params->bGc6Entering != 0) {
        kernel_.unmodelled().refused("UNLOADING_GUEST_DRIVER with bGc6Entering", kernel_.now());
        return failed(abi::NV_ERR_NOT_SUPPORTED);
    }
    if (params->bInPMTransition != 0 && !by_booter_) {
        note("UNLOADING_GUEST_DRIVER asks to suspend (bInPMTransition), and there is no WPR2 to save: Booter did not start this");
        return failed(abi::NV_ERR_INVALID_STATE);
    }
    stop_fault_buffer();
    return answered(std::move(request.payload));
}

// --- address spaces ------------------------------------------------------------------------------------------------------------

void Gsp::Impl::invalidate_tlb(gpu::PhysAddr pdb) {
    namespace regs = gpu::regs;
    u32 low = regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_PDB_APERTURE::make(pdb.aperture != gpu::Aperture::Vid);
    low = regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_PDB_ADDR::set(low, pdb.value >> 12);
    bus_.reg_write(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_PDB, low);
    bus_.reg_write(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_UPPER_PDB, static_cast<u32>(pdb.value >> 40));
    u32 go = regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_ALL_VA::make(1);
    bus_.reg_write(regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE, regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_TRIGGER::set(go, 1));
}

// The driver's first root entry joins the firmware's own directory.
Reply Gsp::Impl::handle_bar_pde(Request& request) {
    constexpr u32 kBarTypeBar1 = 0;  // NV_RPC_UPDATE_PDE_BAR_1, _BAR_2
    constexpr u32 kBarTypeBar2 = 1;
    constexpr u64 kRootShift = 47;   // lowest VA bit that indexes the root of a version-2 table
    auto update = abi::load<abi::rpc_update_bar_pde_v15_00>(request.payload);
    if (!update) return failed(abi::NV_ERR_INVALID_PARAM_STRUCT);
    u32 type = update->info.barType;
    if (type != kBarTypeBar1 && type != kBarTypeBar2) return failed(abi::NV_ERR_INVALID_ARGUMENT, std::move(request.payload));
    if (update->info.entryLevelShift != kRootShift) return failed(abi::NV_ERR_INVALID_ARGUMENT, std::move(request.payload));
    gpu::PhysAddr root{gpu::Aperture::Vid, type == kBarTypeBar1 ? bar1_root_ : bar2_root_};
    if (!memory_.write_u64(root, update->info.entryValue)) return failed(abi::NV_ERR_INVALID_STATE, std::move(request.payload));
    invalidate_tlb(root);
    return answered(std::move(request.payload));
}

Reply Gsp::Impl::handle_page_directory(Request& request, bool set) {
    u32 status = abi::NV_OK;
    u32 client = 0;
    u32 device = 0;
    u32 space_handle = 0;
    gpu::PhysAddr pdb;
    if (set) {
        auto call = abi::load<abi::rpc_set_page_directory_v1E_05>(request.payload);
        if (!call) return failed(abi::NV_ERR_INVALID_PARAM_STRUCT);
        client = call->hClient;
        device = call->hDevice;
        space_handle = call->params.hVASpace;
        using NV0080_CTRL_DMA_SET_PAGE_DIRECTORY_FLAGS_APERTURE = Field<1, 0>;  // 0 vidmem, 1 coherent, 2 non-coherent
        switch (NV0080_CTRL_DMA_SET_PAGE_DIRECTORY_FLAGS_APERTURE::get(call->params.flags)) {
            case 0: pdb.aperture = gpu::Aperture::Vid; break;
            case 1: pdb.aperture = gpu::Aperture::SysCoh; break;
            case 2: pdb.aperture = gpu::Aperture::SysNonCoh; break;
            default: status = abi::NV_ERR_INVALID_ARGUMENT; break;
        }
        pdb.value = call->params.physAddress;
        if (pdb.value % msgq::kPageBytes != 0) status = abi::NV_ERR_INVALID_ADDRESS;
    } else {
        auto call = abi::load<abi::rpc_unset_page_directory_v1E_05>(request.payload);
        if (!call) return failed(abi::NV_ERR_INVALID_PARAM_STRUCT);
        client = call->hClient;
        device = call->hDevice;
        space_handle = call->params.hVASpace;
    }
    if (status == abi::NV_OK && !objects_.has_client(client)) status = abi::NV_ERR_INVALID_CLIENT;
    u32 space = status == abi::NV_OK ? va_space_of({client, device}, space_handle) : 0;
    if (status == abi::NV_OK && space == 0) status = abi::NV_ERR_INVALID_OBJECT_HANDLE;
    if (status != abi::NV_OK) return failed(status, std::move(request.payload));
    if (set) fifo_.set_page_directory(space, pdb);
    else fifo_.forget_page_directory(space);
    return answered(std::move(request.payload));
}

// --- objects -------------------------------------------------------------------------------------------------------------------

gsp::ControlHead::ControlHead(const DriverVersion& version) : bytes(struct_bytes(version, kControlStruct)) {
    auto place = [&](std::string_view field) { return field_place(version, kControlStruct, field).value_or(FieldPlace{}).offset; };
    client = place("hClient");
    object = place("hObject");
    cmd = place("cmd");
    status = place("status");
    params_size = place("paramsSize");
    flags = place(field_place(version, kControlStruct, "flags") ? "flags" : "rmapiRpcFlags");  // renamed in 580
}

// A control's own failure travels in params.status; rpc_result says only that the record was understood.
Reply Gsp::Impl::handle_control(Request& request) {
    u32 fixed = control_head_.bytes;
    auto word = [&](u32 offset) { return abi::load<u32>(request.payload, offset).value_or(0); };
    if (request.payload.size() < fixed) return failed(abi::NV_ERR_INVALID_PARAM_STRUCT);
    u32 params_size = word(control_head_.params_size);
    if (params_size > request.payload.size() - fixed) return failed(abi::NV_ERR_INVALID_PARAM_STRUCT);
    gsp::ControlCall call;
    call.object = {word(control_head_.client), word(control_head_.object)};
    call.cmd = word(control_head_.cmd);
    call.params = std::span<u8>(request.payload).subspan(fixed, params_size);
    u32 status = 0;
    if (abi::RMAPI_RPC_FLAGS_SERIALIZED::get(word(control_head_.flags)) != 0) {
        kernel_.unmodelled().refused(fmt::format("control {:#010x} {} serialized", call.cmd, abi::control_name(call.cmd)), kernel_.now());
        status = abi::NV_ERR_NOT_SUPPORTED;
    } else {
        status = control(call);
    }
    abi::store(std::span<u8>(request.payload), status, control_head_.status);
    Reply reply = answered(std::move(request.payload));
    reply.status = status;
    return reply;
}

// header.length covers the fixed part only; the parameters stand behind it in the element.
Reply Gsp::Impl::handle_alloc(Request& request) {
    std::vector<u8> bytes = std::move(request.payload);
    bytes.insert(bytes.end(), request.tail.begin(), request.tail.end());
    auto fixed = abi::load<abi::rpc_gsp_rm_alloc_v03_00>(bytes);
    if (!fixed) return failed(abi::NV_ERR_INVALID_PARAM_STRUCT);
    u32 status = abi::NV_OK;
    bool fits = fixed->paramsSize <= bytes.size() - sizeof(*fixed);
    if (!fits) {
        status = abi::NV_ERR_INVALID_PARAM_STRUCT;
        bytes.resize(sizeof(*fixed));
    } else {
        bytes.resize(sizeof(*fixed) + fixed->paramsSize);
        gsp::AllocCall call;
        call.object = {fixed->hClient, fixed->hObject};
        call.parent = fixed->hParent;
        call.class_id = fixed->hClass;
        call.params = std::span<u8>(bytes).subspan(sizeof(*fixed));
        status = allocate(call);
    }
    fixed->status = status;
    abi::store(std::span<u8>(bytes), *fixed);
    return {status, 0, status, std::move(bytes)};
}

Reply Gsp::Impl::handle_free(Request& request) {
    auto call = abi::load<abi::rpc_free_v03_00>(request.payload);
    if (!call) return failed(abi::NV_ERR_INVALID_PARAM_STRUCT);
    u32 status = free_objects({call->params.hRoot, call->params.hObjectOld});
    call->params.status = status;
    abi::store(std::span<u8>(request.payload), *call);
    return {status, 0, status, std::move(request.payload)};
}

Reply Gsp::Impl::handle_dup(Request& request) {
    auto call = abi::load<abi::rpc_dup_object_v03_00>(request.payload);
    if (!call) return failed(abi::NV_ERR_INVALID_PARAM_STRUCT);
    ObjectRef source{call->params.hClientSrc, call->params.hObjectSrc};
    ObjectRef where{call->params.hClient, call->params.hObject};
    u32 status = abi::NV_OK;
    const gsp::Object* object = objects_.find(source);
    if (!objects_.has_client(where.client) || !objects_.has_client(source.client)) status = abi::NV_ERR_INVALID_CLIENT;
    else if (object == nullptr) status = abi::NV_ERR_OBJECT_NOT_FOUND;
    // A channel is one; what stands for it elsewhere has no sense.
    else if (fifo_.find(source) != nullptr) status = abi::NV_ERR_INVALID_OBJECT_HANDLE;
    else status = objects_.check_new(where, call->params.hParent, object->class_id, object->class_id == abi::KEPLER_CHANNEL_GROUP_A);
    if (status == abi::NV_OK) {
        gsp::Object copy = *object;
        objects_.insert(where, call->params.hParent, copy.class_id, copy.resource);
    }
    call->params.status = status;
    abi::store(std::span<u8>(request.payload), *call);
    return {status, 0, status, std::move(request.payload)};
}

// Registers memory that the kernel driver already has under its handle.
Reply Gsp::Impl::handle_alloc_memory(Request& request) {
    auto call = abi::load<abi::rpc_alloc_memory_v13_01>(request.payload);
    if (!call) return failed(abi::NV_ERR_INVALID_PARAM_STRUCT);
    u32 status = abi::NV_OK;
    u64 list_bytes = u64{call->pageCount} * 8;
    if (list_bytes > request.payload.size() - sizeof(*call)) status = abi::NV_ERR_INVALID_PARAM_STRUCT;
    else status = objects_.check_new({call->hClient, call->hMemory}, call->hDevice, call->hClass);
    if (status == abi::NV_OK) objects_.insert({call->hClient, call->hMemory}, call->hDevice, call->hClass, 0);
    return {status, 0, status, std::move(request.payload)};
}

}  // namespace rm
