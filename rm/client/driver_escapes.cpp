// Driver: the ioctl envelope and the escapes. Source: open-gpu-kernel-modules 570.144, kernel-open/nvidia/nv.c
// (nvidia_ioctl), arch/nvalloc/unix/src/escape.c (RmIoctl), osapi.c.
#include <fmt/format.h>

#include <algorithm>

#include "rm/abi/controls.h"
#include "rm/abi/flags_nvos.h"
#include "rm/abi/ioctls.h"
#include "rm/abi/nv_ioctl.h"
#include "rm/abi/nvos.h"
#include "rm/client/driver.h"
#include "rm/client/embedded_lists.h"
#include "rm/client/named_view.h"

namespace rm::client {

namespace {

constexpr u64 kIoctlBytesMax = 16384;       // NV_ABSOLUTE_MAX_IOCTL_SIZE
constexpr u64 kControlBytesMax = 1u << 20;  // RMAPI_PARAM_COPY_MAX_PARAMS_SIZE
constexpr u32 kFlagsIrqlRaised = 0x1;       // NVOS54_FLAGS_IRQL_RAISED
constexpr u32 kFlagsLockBypass = 0x2;       // NVOS54_FLAGS_LOCK_BYPASS
constexpr u32 kFlagsControlFinn = 0x4;      // NVOS54_FLAGS_FINN_SERIALIZED
constexpr u32 kFlagsFinnSerialized = 0x1;   // NVOS64_FLAGS_FINN_SERIALIZED
using CTRL_CMD_CATEGORY = Field<13, 8>;
using CTRL_CMD_INDEX = Field<7, 0>;
constexpr u32 kVersionRelaxed = '1';
constexpr u32 kVersionQuery = '2';

// nv_ioctl_nvos33_parameters_with_fd: the struct and the descriptor that will be mapped.
struct MapMemoryWithFd {
    NVOS33_PARAMETERS params;
    i32 fd;
};
static_assert(sizeof(MapMemoryWithFd) == 56);

// rmapiRmControlCanBeBypassLock.
bool may_bypass_locks(u32 cmd) {
    constexpr u32 kControls[] = {
        NV2080_CTRL_CMD_RC_READ_VIRTUAL_MEM, NV2080_CTRL_CMD_TIMER_GET_TIME, NV906F_CTRL_CMD_GET_MMU_FAULT_INFO,
        NV2080_CTRL_CMD_BUS_SYSMEM_ACCESS,   NV2080_CTRL_CMD_NVD_SET_NOCAT_JOURNAL_DATA,
    };
    return std::find(std::begin(kControls), std::end(kControls), cmd) != std::end(kControls);
}

template <typename T>
T take(std::span<const u8> bytes) {
    return load_prefix<T>(bytes);
}

}  // namespace

const EscapeRow* Driver::find_escape_row(u32 number) {
    using enum NodeRule;
    static constexpr EscapeRow rows[] = {
        {NV_ESC_RM_ALLOC_MEMORY, Gpu, "nv_ioctl_nvos02_parameters_with_fd", &Driver::esc_alloc_memory},
        {NV_ESC_RM_ALLOC_OBJECT, Control, "NVOS05_PARAMETERS", &Driver::esc_unmodelled},
        {NV_ESC_RM_FREE, Control, "NVOS00_PARAMETERS", &Driver::esc_free},
        {NV_ESC_RM_CONTROL, Control, "NVOS54_PARAMETERS", &Driver::esc_control},
        {NV_ESC_RM_ALLOC, Any, "", &Driver::esc_alloc},
        {NV_ESC_RM_DUP_OBJECT, Control, "NVOS55_PARAMETERS", &Driver::esc_dup_object},
        {NV_ESC_RM_SHARE, Control, "NVOS57_PARAMETERS", &Driver::esc_share},
        {NV_ESC_RM_I2C_ACCESS, Gpu, "NVOS_I2C_ACCESS_PARAMS", &Driver::esc_unmodelled},
        {NV_ESC_RM_IDLE_CHANNELS, Control, "NVOS30_PARAMETERS", &Driver::esc_unmodelled},
        {NV_ESC_RM_VID_HEAP_CONTROL, Control, "NVOS32_PARAMETERS", &Driver::esc_vid_heap_control},
        {NV_ESC_RM_ACCESS_REGISTRY, Control, "NVOS38_PARAMETERS", &Driver::esc_unmodelled},
        {NV_ESC_RM_MAP_MEMORY, Control, "nv_ioctl_nvos33_parameters_with_fd", &Driver::esc_map_memory},
        {NV_ESC_RM_UNMAP_MEMORY, Control, "NVOS34_PARAMETERS", &Driver::esc_unmap_memory},
        {NV_ESC_RM_GET_EVENT_DATA, Any, "NVOS41_PARAMETERS", &Driver::esc_get_event_data},
        {NV_ESC_RM_ALLOC_CONTEXT_DMA2, Control, "NVOS39_PARAMETERS", &Driver::esc_unmodelled},
        {NV_ESC_RM_MAP_MEMORY_DMA, Control, "NVOS46_PARAMETERS", &Driver::esc_map_memory_dma},
        {NV_ESC_RM_UNMAP_MEMORY_DMA, Control, "NVOS47_PARAMETERS", &Driver::esc_unmap_memory_dma},
        {NV_ESC_RM_BIND_CONTEXT_DMA, Control, "NVOS49_PARAMETERS", &Driver::esc_unmodelled},
        {NV_ESC_RM_UPDATE_DEVICE_MAPPING_INFO, Control, "NVOS56_PARAMETERS", &Driver::esc_update_mapping_info},
        {NV_ESC_CARD_INFO, Control, "", &Driver::esc_card_info},
        {NV_ESC_REGISTER_FD, Any, "nv_ioctl_register_fd_t", &Driver::esc_register_fd},
        {NV_ESC_ALLOC_OS_EVENT, Any, "nv_ioctl_alloc_os_event_t", &Driver::esc_alloc_os_event},
        {NV_ESC_FREE_OS_EVENT, Any, "nv_ioctl_free_os_event_t", &Driver::esc_free_os_event},
        {NV_ESC_STATUS_CODE, Control, "nv_ioctl_status_code_t", &Driver::esc_status_code},
        {NV_ESC_CHECK_VERSION_STR, Control, "nv_ioctl_rm_api_version_t", &Driver::esc_check_version},
        {NV_ESC_ATTACH_GPUS_TO_FD, Control, "", &Driver::esc_attach_gpus},
        {NV_ESC_QUERY_DEVICE_INTR, Gpu, "", &Driver::esc_query_device_intr},
        {NV_ESC_SYS_PARAMS, Control, "nv_ioctl_sys_params_t", &Driver::esc_sys_params},
        {NV_ESC_NUMA_INFO, Gpu, "nv_ioctl_numa_info_t", &Driver::esc_numa_info},
        {NV_ESC_SET_NUMA_STATUS, Gpu, "nv_ioctl_set_numa_status_t", &Driver::esc_set_numa_status},
        {NV_ESC_EXPORT_TO_DMABUF_FD, Gpu, "nv_ioctl_export_to_dma_buf_fd_t", &Driver::esc_export_dma_buf},
        {NV_ESC_WAIT_OPEN_COMPLETE, Any, "", &Driver::esc_wait_open_complete},
    };
    for (const EscapeRow& row : rows)
        if (row.number == number) return &row;
    return nullptr;
}

i64 Driver::ioctl(const Caller& caller, int fd, u64 request, u64 argument) {
    ApiLock lock(kernel_.fibers(), api_);
    OpenFile* file = files_.find(caller.pid, fd);
    if (file == nullptr) return -kEbadf;
    adapter_.io().spend(kSyscallCost);
    if (file->node == Node::Uvm) return uvm_.ioctl(caller, file->id, static_cast<u32>(request), argument);
    if (file->node == Node::DmaBuf) return dma_bufs_.ioctl(caller, static_cast<u32>(request), argument);
    auto word = static_cast<u32>(request);  // only the number and the size of the command are looked at
    u32 number = IOC_NR::get(word);
    u64 bytes = IOC_SIZE::get(word);
    if (number == NV_ESC_IOCTL_XFER_CMD) {
        std::vector<u8> xfer_bytes(sizeof(nv_ioctl_xfer_t));
        if (bytes != xfer_bytes.size()) return -kEinval;
        if (!caller.memory.read(argument, xfer_bytes)) return -kEfault;
        auto xfer = take<nv_ioctl_xfer_t>(xfer_bytes);
        number = xfer.cmd;
        bytes = xfer.size;
        argument = xfer.ptr;
        if (bytes > kIoctlBytesMax) return -kEinval;
    }
    std::vector<u8> copy(bytes);
    if (!copy.empty() && !caller.memory.read(argument, copy)) return -kEfault;
    i64 result = dispatch(caller, *file, number, argument, copy);
    adapter_.io().settle();
    if (result != -kEfault && !copy.empty() && !caller.memory.write(argument, copy)) result = -kEfault;
    return result;
}

i64 Driver::dispatch(const Caller& caller, OpenFile& file, u32 number, u64 argument, std::span<u8> bytes) {
    const EscapeRow* row = find_escape_row(number);
    auto refuse = [&](std::string_view why) {
        context_.note(fmt::format("driver: ioctl 0x{:x} {}: EINVAL", number, why));
        return -kEinval;
    };
    if (row == nullptr) {
        context_.refused(fmt::format("ioctl 0x{:x} ?", number), fmt::format("{} bytes", bytes.size()));
        return refuse("is no number of this driver");
    }
    if (row->node == NodeRule::Control && file.node != Node::Control) return refuse("is for /dev/nvidiactl only");
    if (row->node == NodeRule::Gpu && file.node != Node::Gpu) return refuse("is for /dev/nvidia0 only");
    if (!row->type.empty()) {
        u32 right = struct_bytes(version_, row->type);
        const IoctlRow* known = find_escape(number);
        if (right == 0 && known != nullptr) right = known->bytes;
        if (right != 0 && bytes.size() != right)
            return refuse(fmt::format("has {} bytes, must have {}", bytes.size(), right));
    }
    IoctlCall call{caller, file, argument, bytes, *row};
    return (this->*row->handler)(call);
}

// The struct is known and its size right, and nobody does what it asks: NV_ERR_NOT_SUPPORTED where it keeps its status.
i64 Driver::esc_unmodelled(IoctlCall& call) {
    const IoctlRow* known = find_escape(call.row.number);
    context_.refused(fmt::format("ioctl 0x{:x} {}", call.row.number, known != nullptr ? known->name : "?"),
                     fmt::format("{} bytes", call.bytes.size()));
    if (!field_place(version_, call.row.type, "status")) return -kEinval;
    NamedView(version_, call.row.type, call.bytes).set("status", NV_ERR_NOT_SUPPORTED);
    return 0;
}

// --- RM calls
// ------------------------------------------------------------------------------------------------------------------

i64 Driver::esc_alloc(IoctlCall& call) {
    bool wide = call.bytes.size() == sizeof(NVOS64_PARAMETERS);
    if (!wide && call.bytes.size() != sizeof(NVOS21_PARAMETERS)) return -kEinval;
    // The first four words are the same in both forms.
    auto narrow = take<NVOS21_PARAMETERS>(call.bytes);
    bool root = narrow.hClass == NV01_ROOT || narrow.hClass == NV01_ROOT_NON_PRIV || narrow.hClass == NV01_ROOT_CLIENT;
    bool event = narrow.hClass == NV01_EVENT || narrow.hClass == NV01_EVENT_OS_EVENT ||
                 narrow.hClass == NV01_EVENT_KERNEL_CALLBACK || narrow.hClass == NV01_EVENT_KERNEL_CALLBACK_EX;
    if (!event && call.file.node != Node::Control) return -kEinval;
    if (root) narrow.hClass = NV01_ROOT_CLIENT;
    AllocRequest request;
    request.client = narrow.hRoot;
    request.parent = narrow.hObjectParent;
    request.object = narrow.hObjectNew;
    request.class_id = narrow.hClass;
    request.params = narrow.pAllocParms;
    if (wide) {
        auto params = take<NVOS64_PARAMETERS>(call.bytes);
        request.rights = params.pRightsRequested;
        request.serialized = (params.flags & kFlagsFinnSerialized) != 0;
        params.status = alloc(call, request);
        params.hClass = narrow.hClass;
        params.hObjectNew = request.object;
        store(call.bytes, params);
    } else {
        narrow.status = alloc(call, request);
        narrow.hObjectNew = request.object;
        store(call.bytes, narrow);
    }
    return 0;
}

i64 Driver::esc_free(IoctlCall& call) {
    auto params = take<NVOS00_PARAMETERS>(call.bytes);
    ClientEntry* client = nullptr;
    params.status =
        server_.client_for(params.hRoot, FileTable::owner_of(call.file), NV_ERR_INVALID_OBJECT_HANDLE, &client);
    if (params.status == NV_OK) {
        if (params.hObjectOld == params.hRoot)
            free_client(params.hRoot);
        else
            params.status = free_object(*client, params.hObjectOld);
    }
    store(call.bytes, params);
    return 0;
}

i64 Driver::esc_control(IoctlCall& call) {
    auto params = take<NVOS54_PARAMETERS>(call.bytes);
    params.status = control(call, params);
    store(call.bytes, params);
    return 0;
}

Status Driver::control(const IoctlCall& call, NVOS54_PARAMETERS& params) {
    u32 cmd = params.cmd;
    if (cmd == 0 || (CTRL_CMD_CATEGORY::get(cmd) == 0 && CTRL_CMD_INDEX::get(cmd) == 0)) return NV_OK;
    bool bypass_known = (params.flags & kFlagsIrqlRaised) == 0 && may_bypass_locks(cmd);
    if ((params.flags & (kFlagsIrqlRaised | kFlagsLockBypass)) != 0 && !bypass_known) return NV_ERR_INVALID_ARGUMENT;
    if (server_.find_client(params.hClient) == nullptr) return NV_ERR_INVALID_CLIENT;
    if ((params.flags & kFlagsLockBypass) != 0) return NV_ERR_INVALID_CLIENT;  // the kernel's privilege
    const ControlRow* row = abi::find_control(cmd);
    const std::optional<u32> version_bytes = control_bytes(version_, cmd);
    bool known = row != nullptr && version_bytes && control_exported(cmd);
    // A control that only other versions than 570.144 have is known by its size, and answered by nobody.
    bool sized = known || (row == nullptr && version_bytes);
    u32 right = sized ? *version_bytes : params.paramsSize;
    bool pointer_fits = (params.paramsSize == 0) == (params.params == 0);
    if (!pointer_fits || params.paramsSize != right) {
        context_.note(fmt::format(
            "driver: control 0x{:08x} {}: paramsSize {} with pointer 0x{:x}, must be {}: NV_ERR_INVALID_ARGUMENT", cmd,
            control_name(cmd), params.paramsSize, params.params, right));
        return NV_ERR_INVALID_ARGUMENT;
    }
    if (params.paramsSize > kControlBytesMax) return NV_ERR_INVALID_ARGUMENT;
    bool cacheable = known && (row->flags & (RMCTRL_FLAGS_CACHEABLE | RMCTRL_FLAGS_INTERNAL)) == RMCTRL_FLAGS_CACHEABLE;
    std::vector<u8> bytes(params.paramsSize);
    std::optional<u64> key;
    if (cacheable) key = cmd;
    else if (known && !bytes.empty() && call.caller.memory.read(params.params, bytes)) key = cache_key(cmd, bytes);
    const std::vector<u8>* cached = key ? cached_control(params, *key) : nullptr;
    if (cached != nullptr && call.caller.memory.write(params.params, *cached)) return NV_OK;
    // What is answered the same for every input is not read, so that nothing of it can leak back.
    bool skip_copy_in = known && (row->flags & RMCTRL_FLAGS_CACHEABLE) != 0;
    if (!bytes.empty() && !skip_copy_in && !call.caller.memory.read(params.params, bytes))
        return NV_ERR_INVALID_ADDRESS;
    bool finn = (params.flags & kFlagsControlFinn) != 0;
    Status status = known && !finn ? check_embedded_lists(version_, cmd, call.caller.memory, bytes) : NV_OK;
    if (status != NV_OK) return call.caller.memory.write(params.params, bytes) ? status : NV_ERR_INVALID_ADDRESS;
    ClientEntry* client = nullptr;
    status = server_.client_for(params.hClient, FileTable::owner_of(call.file), NV_ERR_INVALID_CLIENT, &client);
    if (status != NV_OK) return status;
    Object* object = client->find(params.hObject);
    if (object == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    if (finn) return NV_ERR_LIB_RM_VERSION_MISMATCH;  // as in alloc()
    ControlCall control_call{*client, *object, cmd, bytes, call.caller.memory, call.caller.privileged};
    status = controls_.control(control_call);
    if (status == NV_OK && key) control_cache_[*key] = bytes;
    bool copy_out = status == NV_OK || (known && RMCTRL_FLAGS_COPYOUT_ON_ERROR::get(row->flags) != 0);
    if (copy_out && !bytes.empty() && !call.caller.memory.write(params.params, bytes) && status == NV_OK)
        return NV_ERR_INVALID_ADDRESS;
    return status;
}

// What one client was told is told to all: the cache asks neither whose the client is nor, where the control is about the system, for
// an object; the controls of a GPU only need a device or subdevice of it (rmapi_cache.c).
const std::vector<u8>* Driver::cached_control(const NVOS54_PARAMETERS& params, u64 key) {
    auto it = control_cache_.find(key);
    if (it == control_cache_.end() || it->second.size() != params.paramsSize || params.params == 0) return nullptr;
    if (is_system_control(key)) return &it->second;
    Object* object = server_.find_client(params.hClient)->find(params.hObject);
    bool of_gpu = object != nullptr && (object->as<DeviceData>() != nullptr || object->as<SubdeviceData>() != nullptr);
    return of_gpu ? &it->second : nullptr;
}

// Of the controls that the driver keeps by their input, the one whose answer shows it: the lists are answered alike either way.
std::optional<u64> Driver::cache_key(u32 cmd, std::span<const u8> params) {
    if (cmd != NV2080_CTRL_CMD_GPU_GET_NAME_STRING) return std::nullopt;
    std::optional<u32> flags = load<u32>(params);  // in which characters
    return flags ? std::optional(u64{*flags} << 32 | cmd) : std::nullopt;
}

i64 Driver::esc_map_memory(IoctlCall& call) {
    auto with_fd = take<MapMemoryWithFd>(call.bytes);
    NVOS33_PARAMETERS& params = with_fd.params;
    ClientEntry* client = nullptr;
    MemoryUnit::CpuMap map;
    map.offset = params.offset;
    map.length = params.length;
    // A process has no say in the caching type.
    map.flags = NVOS33_FLAGS_CACHING_TYPE::set(params.flags, NVOS33_FLAGS_CACHING_TYPE_DEFAULT);
    params.status =
        server_.client_for(params.hClient, FileTable::owner_of(call.file), NV_ERR_INVALID_OBJECT_HANDLE, &client);
    if (params.status == NV_OK) params.status = memory_.map_cpu(*client, params.hDevice, params.hMemory, map);
    params.flags = map.flags;
    if (params.status == NV_OK) {
        params.pLinearAddress = map.linear_address;
        OpenFile* file = files_.find(call.caller.pid, with_fd.fd);
        Node node = map.context.kind == MappingExtent::Kind::SystemMemory ? Node::Control : Node::Gpu;
        if (client->pid != call.caller.pid) {
            params.status = NV_ERR_INVALID_CLIENT;
        } else if (file == nullptr || file->node != node) {
            context_.note(fmt::format("driver: the mapping of 0x{:x} needs a descriptor of {}: NV_ERR_INVALID_ARGUMENT",
                                      params.hMemory, node == Node::Control ? "/dev/nvidiactl" : "/dev/nvidia0"));
            params.status = NV_ERR_INVALID_ARGUMENT;
        } else if (file->context) {
            context_.note(
                "driver: the descriptor has a mapping context, each mapping needs a fresh one: NV_ERR_STATE_IN_USE");
            params.status = NV_ERR_STATE_IN_USE;
        } else {
            file->context = map.context;
        }
        if (params.status != NV_OK) memory_.unmap_cpu(*client, params.hMemory, map.linear_address);
    }
    store(call.bytes, with_fd);
    return 0;
}

i64 Driver::esc_unmap_memory(IoctlCall& call) {
    auto params = take<NVOS34_PARAMETERS>(call.bytes);
    ClientEntry* client = nullptr;
    params.status =
        server_.client_for(params.hClient, FileTable::owner_of(call.file), NV_ERR_INVALID_OBJECT_HANDLE, &client);
    if (params.status == NV_OK) params.status = memory_.unmap_cpu(*client, params.hMemory, params.pLinearAddress);
    store(call.bytes, params);
    return 0;
}

i64 Driver::esc_map_memory_dma(IoctlCall& call) {
    NamedView params(version_, "NVOS46_PARAMETERS", call.bytes);
    ClientEntry* client = nullptr;
    MemoryUnit::DmaMap map;
    map.device = params.get32("hDevice");
    map.memory = params.get32("hMemory");
    map.offset = params.get("offset");
    map.length = params.get("length");
    map.flags = params.get32("flags");
    map.dma_offset = params.get("dmaOffset");
    // A mapping of nothing is refused before its client is looked at.
    Status status = map.length == 0 ? NV_ERR_INVALID_LIMIT : NV_OK;
    if (status == NV_OK) {
        status = server_.client_for(params.get32("hClient"), FileTable::owner_of(call.file),
                                    NV_ERR_INVALID_OBJECT_HANDLE, &client);
    }
    if (status == NV_OK && client->find(params.get32("hDevice")) == nullptr) status = NV_ERR_OBJECT_NOT_FOUND;
    if (status == NV_OK) status = memory_.map_dma(*client, params.get32("hDma"), map);
    if (status == NV_OK) params.set("dmaOffset", map.dma_offset);
    params.set("status", status);
    return 0;
}

i64 Driver::esc_unmap_memory_dma(IoctlCall& call) {
    NamedView params(version_, "NVOS47_PARAMETERS", call.bytes);
    ClientEntry* client = nullptr;
    Status status = server_.client_for(params.get32("hClient"), FileTable::owner_of(call.file),
                                       NV_ERR_INVALID_OBJECT_HANDLE, &client);
    if (status == NV_OK) {
        MemoryUnit::DmaUnmap unmap;
        unmap.device = params.get32("hDevice");
        unmap.dma = params.get32("hDma");
        unmap.offset = params.get("dmaOffset");
        if (field_place(version_, "NVOS47_PARAMETERS", "size")) unmap.bytes = params.get("size");
        else unmap.memory = params.get32("hMemory");
        status = memory_.unmap_dma(*client, unmap);
    }
    params.set("status", status);
    return 0;
}

// The client tells where its mapping moved to; the address is opaque to us too.
i64 Driver::esc_update_mapping_info(IoctlCall& call) {
    auto params = take<NVOS56_PARAMETERS>(call.bytes);
    ClientEntry* client = nullptr;
    params.status =
        server_.client_for(params.hClient, FileTable::owner_of(call.file), NV_ERR_INVALID_OBJECT_HANDLE, &client);
    if (params.status == NV_OK) {
        Object* object = client->find(params.hMemory);
        MemoryData* memory = object != nullptr ? object->as<MemoryData>() : nullptr;
        params.status = object == nullptr ? NV_ERR_OBJECT_NOT_FOUND : NV_ERR_INVALID_OBJECT_HANDLE;
        for (std::size_t i = 0; memory != nullptr && i < memory->cpu_mappings.size(); ++i) {
            if (memory->cpu_mappings[i].cookie != params.pOldCpuAddress) continue;
            memory->cpu_mappings[i].cookie = params.pNewCpuAddress;
            params.status = NV_OK;
            break;
        }
    }
    store(call.bytes, params);
    return 0;
}

// --- events
// --------------------------------------------------------------------------------------------------------------------

i64 Driver::esc_get_event_data(IoctlCall& call) {
    auto params = take<NVOS41_PARAMETERS>(call.bytes);
    UnixEvent event;
    params.status = events_.pop(call.file, &event, &params.MoreEvents);
    if (params.status == NV_OK) {
        NvUnixEvent out{};
        out.hObject = event.object;
        out.NotifyIndex = event.index;
        out.info32 = event.info32;
        out.info16 = event.info16;
        std::vector<u8> bytes(sizeof(out));
        store(std::span<u8>(bytes), out);
        if (!call.caller.memory.write(params.pEvent, bytes)) params.status = NV_ERR_INVALID_ADDRESS;
    }
    store(call.bytes, params);
    return 0;
}

i64 Driver::esc_alloc_os_event(IoctlCall& call) {
    auto params = take<nv_ioctl_alloc_os_event_t>(call.bytes);
    params.Status = events_.allocate_os_event(params.hClient, params.fd, call.file.id);
    store(call.bytes, params);
    return 0;
}

i64 Driver::esc_free_os_event(IoctlCall& call) {
    auto params = take<nv_ioctl_free_os_event_t>(call.bytes);
    params.Status = events_.free_os_event(params.hClient, params.fd);
    store(call.bytes, params);
    return 0;
}

// --- handshake
// -----------------------------------------------------------------------------------------------------------------

i64 Driver::esc_card_info(IoctlCall& call) {
    std::size_t count = call.bytes.size() / sizeof(nv_ioctl_card_info_t);
    std::fill(call.bytes.begin(), call.bytes.end(), u8{0});
    if (count == 0) return -kEinval;
    PciFunction& pci = adapter_.pci();
    if (pci.vendor() == 0 && !pci.enable())
        return 0;  // nobody opened the device yet: probe it as the module's load did
    PciLocation place = pci.location();
    nv_ioctl_card_info_t card{};
    card.valid = 1;
    card.pci_info.domain = place.domain;
    card.pci_info.bus = place.bus;
    card.pci_info.slot = place.slot;
    card.pci_info.vendor_id = pci.vendor();
    card.pci_info.device_id = pci.device();
    card.gpu_id = place.gpu_id();
    card.reg_address = pci.registers().address;
    card.reg_size = pci.registers().bytes;
    card.fb_address = pci.framebuffer().address;
    card.fb_size = pci.framebuffer().bytes;
    store(call.bytes, card);
    return 0;
}

i64 Driver::esc_register_fd(IoctlCall& call) {
    auto params = take<nv_ioctl_register_fd_t>(call.bytes);
    OpenFile* control = files_.find(call.caller.pid, static_cast<int>(params.ctl_fd));
    // A file is tied once, to a control file that is itself free, and never to itself.
    if (call.file.control != 0) return -kEinval;
    if (control == nullptr || control->node != Node::Control || control->id == call.file.id || control->control != 0)
        return -kEinval;
    call.file.control = control->id;
    ++control->users;
    return 0;
}

i64 Driver::esc_status_code(IoctlCall& call) {
    auto params = take<nv_ioctl_status_code_t>(call.bytes);
    PciLocation place = adapter_.pci().location();
    if (params.domain != place.domain || params.bus != place.bus || params.slot != place.slot) return -kEinval;
    params.status = adapter_.last_start_status();
    store(call.bytes, params);
    return 0;
}

i64 Driver::esc_check_version(IoctlCall& call) {
    auto params = take<nv_ioctl_rm_api_version_t>(call.bytes);
    std::string_view theirs(params.versionString, strnlen(params.versionString, sizeof(params.versionString)));
    std::string_view ours = version_name(version_);
    auto major = [](std::string_view text) { return text.substr(0, text.find('.')); };
    bool same = params.cmd == kVersionRelaxed ? major(theirs) == major(ours) : theirs == ours;
    params.reply = 1;
    bool fine = params.cmd == kVersionQuery || same;
    if (params.cmd == kVersionQuery || !same) {
        std::fill(std::begin(params.versionString), std::end(params.versionString), '\0');
        std::copy_n(ours.begin(), std::min(ours.size(), sizeof(params.versionString) - 1), params.versionString);
    }
    if (!fine)
        context_.note(fmt::format("driver: the client is of version {}, the driver of {}: EINVAL", theirs, ours));
    store(call.bytes, params);
    return fine ? 0 : -kEinval;
}

i64 Driver::esc_attach_gpus(IoctlCall& call) {
    if (call.bytes.empty() || call.bytes.size() % sizeof(u32) != 0 || call.file.attached) return -kEinval;
    bool any = false;
    for (u64 at = 0; at < call.bytes.size(); at += sizeof(u32)) {
        u32 id = *load<u32>(call.bytes, at);
        if (id == 0) continue;
        if (id != adapter_.pci().location().gpu_id()) return -kEinval;
        any = true;
    }
    if (any && !call.file.holds_gpu) {
        if (gpu_get() != NV_OK) return -kEinval;
        call.file.holds_gpu = true;
    }
    call.file.attached = true;
    return 0;
}

i64 Driver::esc_query_device_intr(IoctlCall& call) {
    if (call.bytes.size() < sizeof(nv_ioctl_query_device_intr)) return -kEinval;
    constexpr u32 NV_RM_DEVICE_INTR_ADDRESS = 0x100;
    nv_ioctl_query_device_intr params{};
    params.intrStatus = adapter_.io().reg_read(NV_RM_DEVICE_INTR_ADDRESS);
    store(call.bytes, params);
    return 0;
}

i64 Driver::esc_sys_params(IoctlCall& call) {
    auto params = take<nv_ioctl_sys_params_t>(call.bytes);
    if (memblock_bytes_ == 0) memblock_bytes_ = params.memblock_size;
    return memblock_bytes_ == params.memblock_size ? 0 : -kEbusy;
}

i64 Driver::esc_numa_info(IoctlCall& call) {
    // No memory of the GPU is a node of the system's: nid -1, status disabled, sizes zero but the block size.
    std::fill(call.bytes.begin(), call.bytes.end(), u8{0});
    store(call.bytes, u32{0xFFFFFFFF});
    return 0;
}

i64 Driver::esc_set_numa_status(IoctlCall& call) {
    return call.caller.privileged ? -kEbusy : -kEacces;
}

i64 Driver::esc_export_dma_buf(IoctlCall& call) {
    NamedView params(version_, call.row.type, call.bytes);
    params.set("status", dma_bufs_.export_to_fd(call.caller, call.address, params));
    return 0;
}

i64 Driver::esc_wait_open_complete(IoctlCall& call) {
    nv_ioctl_wait_open_complete_t params{};
    store(call.bytes, params);
    return 0;
}

}  // namespace rm::client
