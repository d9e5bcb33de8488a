// Driver: the older ways to allocate memory, and objects that two clients hold. Source: open-gpu-kernel-modules 570.144,
// rmapi_deprecated_allocmemory.c, rmapi_deprecated_vidheapctrl.c, rs_server.c (serverCopyResource, serverShareResourceAccess).
#include <fmt/format.h>

#include <algorithm>

#include "rm/abi/all_structs.h"
#include "rm/abi/flags_nvos.h"
#include "rm/client/driver.h"

namespace rm::client {

namespace {

constexpr u32 kPartitionStride = 256;  // what every allocation answers
constexpr u32 kFreeFlagsHandleProvided = 1;  // NVOS32_FREE_FLAGS_MEMORY_HANDLE_PROVIDED
constexpr u64 kHeapLimitMax = (u64{1} << 40) - 1;
using NVOS32_ATTR2_USE_EGM = Field<24, 24>;

// NVOS32's data for each function that allocates is a struct with these names in another order.
template <typename Data>
NV_MEMORY_ALLOCATION_PARAMS params_of(const Data& data, bool with_range) {
    NV_MEMORY_ALLOCATION_PARAMS params{};
    params.owner = data.owner;
    params.type = data.type;
    params.flags = data.flags;
    if constexpr (requires { data.height; }) {
        params.height = data.height;
        params.width = data.width;
    }
    if constexpr (requires { data.pitch; }) params.pitch = data.pitch;
    params.size = data.size;
    params.alignment = data.alignment;
    params.offset = data.offset;
    params.attr = data.attr;
    params.attr2 = data.attr2;
    params.format = data.format;
    params.limit = data.limit;
    params.address = data.address;
    params.comprCovg = data.comprCovg;
    params.zcullCovg = data.zcullCovg;
    params.ctagOffset = data.ctagOffset;
    params.numaNode = data.numaNode;
    if (with_range) {
        params.rangeLo = data.rangeBegin;
        params.rangeHi = data.rangeEnd;
    }
    return params;
}

template <typename Data>
void answer(Data& data, const NV_MEMORY_ALLOCATION_PARAMS& params) {
    data.size = params.size;
    data.offset = params.offset;
    data.attr = params.attr;
    data.attr2 = params.attr2;
    data.format = params.format;
    data.limit = params.limit;
    data.address = params.address;
    data.comprCovg = params.comprCovg;
    data.zcullCovg = params.zcullCovg;
    data.ctagOffset = params.ctagOffset;
}

template <typename T>
std::vector<u8> bytes_of(const T& value) {
    std::vector<u8> bytes(sizeof(T));
    store(std::span<u8>(bytes), value);
    return bytes;
}

}  // namespace

// --- RM_ALLOC_MEMORY

i64 Driver::esc_alloc_memory(IoctlCall& call) {
    auto params = load_prefix<NVOS02_PARAMETERS>(call.bytes);
    params.status = alloc_memory(call, params);
    store(call.bytes, params);
    return 0;
}

Status Driver::alloc_memory(const IoctlCall& call, NVOS02_PARAMETERS& params) {
    AllocRequest request;
    request.client = params.hRoot;
    request.parent = params.hObjectParent;
    request.object = params.hObjectNew;
    request.class_id = params.hClass;
    u32 attr2 = 0;
    u32 attr = attributes_of_os02(params.flags, &attr2);
    if (params.hClass == NV01_MEMORY_SYSTEM_OS_DESCRIPTOR) {
        if (Status status = lock_user_pages(call, params); status != NV_OK) return status;
        NV_OS_DESC_MEMORY_ALLOCATION_PARAMS described{};
        described.flags = NVOS32_ALLOC_FLAGS_MEMORY_HANDLE_PROVIDED;
        described.attr = attr;
        described.attr2 = attr2;
        described.descriptor = params.pMemory;
        described.limit = params.limit;
        std::vector<u8> bytes = bytes_of(described);
        return alloc_object(call, request, bytes);
    }
    if (params.hClass != NV01_MEMORY_SYSTEM && params.hClass != NV01_MEMORY_LOCAL_USER) {
        context_.refused(fmt::format("RM_ALLOC_MEMORY of class 0x{:04x}", params.hClass), "an old form of RM_ALLOC");
        return NV_ERR_INVALID_CLASS;
    }
    if (params.limit > kHeapLimitMax) return NV_ERR_INVALID_ARGUMENT;
    NV_MEMORY_ALLOCATION_PARAMS memory{};
    memory.owner = params.hRoot;
    memory.flags = NVOS32_ALLOC_FLAGS_MEMORY_HANDLE_PROVIDED;
    memory.attr = attr;
    memory.attr2 = attr2;
    memory.size = params.limit + 1;
    std::vector<u8> bytes = bytes_of(memory);
    Status status = alloc_object(call, request, bytes);
    if (status == NV_OK) params.limit = load_prefix<NV_MEMORY_ALLOCATION_PARAMS>(bytes).limit;
    return status;
}

// What escape.c does for user pages before the resource manager hears of them: the client may not even exist.
Status Driver::lock_user_pages(const IoctlCall& call, const NVOS02_PARAMETERS& params) {
    bool here = NVOS02_FLAGS_LOCATION::get(params.flags) == NVOS02_FLAGS_LOCATION_PCI;
    if (!here || NVOS02_FLAGS_MAPPING::get(params.flags) != NVOS02_FLAGS_MAPPING_NO_MAP) return NV_ERR_INVALID_FLAGS;
    u32 coherency = NVOS02_FLAGS_COHERENCY::get(params.flags);
    if (coherency != NVOS02_FLAGS_COHERENCY_CACHED && coherency != NVOS02_FLAGS_COHERENCY_WRITE_BACK &&
        coherency != NVOS02_FLAGS_COHERENCY_UNCACHED)
        return NV_ERR_INVALID_FLAGS;
    return lock_pages(call, params.pMemory, params.limit);
}

Status Driver::lock_pages(const IoctlCall& call, u64 address, u64 limit) {
    if (address % kPage4K != 0) return NV_ERR_NOT_SUPPORTED;
    if (limit == ~u64{0}) return NV_ERR_INVALID_LIMIT;
    // Stops at the first page that is not there, so a process pays for no more than it has mapped.
    return call.caller.memory.present(address, limit + 1) ? NV_OK : NV_ERR_INVALID_ADDRESS;
}

// --- VID_HEAP_CONTROL

i64 Driver::esc_vid_heap_control(IoctlCall& call) {
    // The union's longest member ends the struct; all versions lay its beginning out alike.
    std::vector<u8> whole(sizeof(NVOS32_PARAMETERS));
    std::copy_n(call.bytes.begin(), std::min(call.bytes.size(), whole.size()), whole.begin());
    auto params = load_prefix<NVOS32_PARAMETERS>(whole);
    params.status = vid_heap_control(call, params);
    store(std::span<u8>(whole), params);
    std::copy_n(whole.begin(), std::min(call.bytes.size(), whole.size()), call.bytes.begin());
    return 0;
}

Status Driver::vid_heap_control(const IoctlCall& call, NVOS32_PARAMETERS& params) {
    if (params.ivcHeapNumber > 0) return NV_ERR_NOT_SUPPORTED;
    auto& data = params.data;
    switch (params.function) {
        case NVOS32_FUNCTION_ALLOC_SIZE: {
            bool ranged = (data.AllocSize.flags & NVOS32_ALLOC_FLAGS_USE_BEGIN_END) != 0;
            auto memory = params_of(data.AllocSize, ranged);
            data.AllocSize.partitionStride = kPartitionStride;
            Status status = heap_alloc(call, params, data.AllocSize.hMemory, memory);
            answer(data.AllocSize, memory);
            return status;
        }
        case NVOS32_FUNCTION_ALLOC_SIZE_RANGE: {
            auto memory = params_of(data.AllocSizeRange, true);
            data.AllocSizeRange.partitionStride = kPartitionStride;
            Status status = heap_alloc(call, params, data.AllocSizeRange.hMemory, memory);
            answer(data.AllocSizeRange, memory);
            return status;
        }
        case NVOS32_FUNCTION_FREE: {
            if ((data.Free.flags & kFreeFlagsHandleProvided) == 0) return NV_ERR_INVALID_ARGUMENT;
            ClientEntry* client = nullptr;
            Status status = server_.client_for(params.hRoot, FileTable::owner_of(call.file), NV_ERR_INVALID_OBJECT_HANDLE, &client);
            if (status != NV_OK) return status;
            return free_object(*client, data.Free.hMemory);
        }
        case NVOS32_FUNCTION_INFO: {
            ClientEntry* client = nullptr;
            Status status = server_.client_for(params.hRoot, FileTable::owner_of(call.file), NV_ERR_INVALID_OBJECT_HANDLE, &client);
            if (status != NV_OK) return status;
            if (client->find(params.hObjectParent) == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
            RangeHeap::Range largest = adapter_.fb_heap().largest();
            params.total = adapter_.fb_usable_bytes();
            params.free = adapter_.fb_heap().free_bytes();
            data.Info.offset = largest.base;
            data.Info.size = largest.bytes;
            data.Info.base = 0;
            return NV_OK;
        }
        case NVOS32_FUNCTION_ALLOC_OS_DESCRIPTOR: return heap_alloc_pages(call, params);
        case NVOS32_FUNCTION_HW_FREE: {
            ClientEntry* client = nullptr;
            Status status = server_.client_for(params.hRoot, FileTable::owner_of(call.file), NV_ERR_INVALID_OBJECT_HANDLE, &client);
            return status == NV_OK ? free_object(*client, data.HwFree.hResourceHandle) : status;
        }
        case NVOS32_FUNCTION_RELEASE_COMPR:
        case NVOS32_FUNCTION_REACQUIRE_COMPR: {
            ClientEntry* client = nullptr;
            Status status = server_.client_for(params.hRoot, FileTable::owner_of(call.file), NV_ERR_INVALID_CLIENT, &client);
            if (status != NV_OK) return status;
            if (client->find(params.hObjectParent) == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
            // Both functions lay their data out alike.
            if ((data.ReleaseCompr.flags & kFreeFlagsHandleProvided) == 0) return NV_ERR_INVALID_FLAGS;
            context_.refused(fmt::format("VID_HEAP_CONTROL function {}", params.function), "compression is not modelled");
            return NV_ERR_NOT_SUPPORTED;
        }
        case NVOS32_FUNCTION_ALLOC_TILED_PITCH_HEIGHT: {
            // Allocates as ALLOC_SIZE does, and fails first as it does: at its client and its parent.
            ClientEntry* client = nullptr;
            Status status = server_.client_for(params.hRoot, FileTable::owner_of(call.file), NV_ERR_INVALID_OBJECT_HANDLE, &client);
            auto& tiled = data.AllocTiledPitchHeight;
            if ((tiled.flags & NVOS32_ALLOC_FLAGS_MEMORY_HANDLE_PROVIDED) == 0) tiled.hMemory = 0;
            tiled.partitionStride = kPartitionStride;
            tiled.size = 0;  // only an allocation tells it
            if (status != NV_OK) return status;
            if (client->find(params.hObjectParent) == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
            context_.refused(fmt::format("VID_HEAP_CONTROL function {}", params.function), "graphics clients only");
            return NV_ERR_NOT_SUPPORTED;
        }
        case NVOS32_FUNCTION_GET_MEM_ALIGNMENT:
        case NVOS32_FUNCTION_HW_ALLOC:
            context_.refused(fmt::format("VID_HEAP_CONTROL function {}", params.function), "graphics clients only");
            return NV_ERR_NOT_SUPPORTED;
        default:
            return NV_ERR_INVALID_ARGUMENT;
    }
}

Status Driver::heap_alloc_pages(const IoctlCall& call, NVOS32_PARAMETERS& params) {
    auto& data = params.data.AllocOsDesc;
    if (Status status = lock_pages(call, data.descriptor, data.limit); status != NV_OK) return status;
    AllocRequest request;
    request.client = params.hRoot;
    request.parent = params.hObjectParent;
    request.object = (data.flags & NVOS32_ALLOC_FLAGS_MEMORY_HANDLE_PROVIDED) != 0 ? data.hMemory : 0;
    request.class_id = NV01_MEMORY_SYSTEM_OS_DESCRIPTOR;
    NV_OS_DESC_MEMORY_ALLOCATION_PARAMS described{};
    described.type = data.type;
    described.flags = data.flags;
    described.attr = data.attr;
    described.attr2 = data.attr2;
    described.descriptor = data.descriptor;
    described.limit = data.limit;
    std::vector<u8> bytes = bytes_of(described);
    Status status = alloc_object(call, request, bytes);
    data.hMemory = request.object;
    return status;
}

Status Driver::heap_alloc(const IoctlCall& call, NVOS32_PARAMETERS& params, NvHandle& memory, NV_MEMORY_ALLOCATION_PARAMS& wanted) {
    AllocRequest request;
    request.client = params.hRoot;
    request.parent = params.hObjectParent;
    request.object = (wanted.flags & NVOS32_ALLOC_FLAGS_MEMORY_HANDLE_PROVIDED) != 0 ? memory : 0;
    wanted.hVASpace = params.hVASpace;
    bool video = NVOS32_ATTR_LOCATION::get(wanted.attr) == NVOS32_ATTR_LOCATION_VIDMEM;
    if ((wanted.flags & NVOS32_ALLOC_FLAGS_VIRTUAL) != 0)
        request.class_id = NV50_MEMORY_VIRTUAL;
    else
        request.class_id = video ? NV01_MEMORY_LOCAL_USER : NV01_MEMORY_SYSTEM;
    std::vector<u8> bytes = bytes_of(wanted);
    Status status = alloc_object(call, request, bytes);
    wanted = load_prefix<NV_MEMORY_ALLOCATION_PARAMS>(bytes);
    memory = request.object;
    params.free = 0;
    params.total = 0;
    return status;
}

// --- objects that two clients hold

i64 Driver::esc_dup_object(IoctlCall& call) {
    auto params = load_prefix<NVOS55_PARAMETERS>(call.bytes);
    params.status = dup_object(call, params);
    store(call.bytes, params);
    return 0;
}

// A client of the same process may copy; another needs a policy that names it.
bool Driver::may_dup(const ClientEntry& target, const ClientEntry& source, const Object& object) const {
    if (target.handle == source.handle) return (object.rights & access_bit(RS_ACCESS_DUP_OBJECT)) != 0;
    return target.pid == source.pid || shared_with(object, source, target, RS_ACCESS_DUP_OBJECT);
}

// A policy of the object, or else of its client, gives the right (RS_ACCESS_*) to the other client.
bool Driver::shared_with(const Object& object, const ClientEntry& source, const ClientEntry& target, u32 right) {
    const Object& root = source.objects.at(source.handle);
    for (const SharePolicy& policy : object.shares.empty() ? root.shares : object.shares) {
        if ((policy.access >> right & 1) == 0) continue;
        if (policy.type == SharePolicy::kAll) return true;
        if (policy.type == SharePolicy::kClient && policy.target == target.handle) return true;
    }
    return false;
}

Status Driver::dup_object(const IoctlCall& call, NVOS55_PARAMETERS& params) {
    // Both clients are found before either is judged.
    ClientEntry* source = server_.find_client(params.hClientSrc);
    if (source == nullptr) return NV_ERR_INVALID_OBJECT_HANDLE;
    ClientEntry* target = nullptr;
    Status status = server_.client_for(params.hClient, FileTable::owner_of(call.file), NV_ERR_INVALID_OBJECT_HANDLE, &target);
    if (status != NV_OK) return status;
    return dup_unasked(*target, params.hParent, params.hObject, *source, params.hObjectSrc, false);
}

Status Driver::dup_unasked(ClientEntry& target, NvHandle parent, NvHandle& object, ClientEntry& source, NvHandle source_object,
                           bool by_driver) {
    Object* original = source.find(source_object);
    if (original == nullptr || target.find(parent) == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    if (!can_copy(original->internal_class())) return NV_ERR_INVALID_ARGUMENT;
    if (object != 0) {
        if (Status status = target.check_new_handle(object); status != NV_OK) return status;
    }
    if (!by_driver && !may_dup(target, source, *original)) {
        context_.note(fmt::format("driver: client 0x{:x} may not copy 0x{:x} of client 0x{:x}: NV_ERR_INSUFFICIENT_PERMISSIONS",
                                  target.handle, original->handle, source.handle));
        return NV_ERR_INSUFFICIENT_PERMISSIONS;
    }
    if (original->as<VaSpaceData>() != nullptr) return dup_va_space(target, parent, object, source, *original);
    if (original->as<ChannelGroupData>() != nullptr) return dup_group(target, parent, object, source, *original);
    return dup_into(target, parent, object, *original);
}

// The same space under another handle: it lives until the last of them goes.
Status Driver::dup_va_space(ClientEntry& target, NvHandle parent, NvHandle& object, ClientEntry& source, Object& original) {
    Status status = server_.check_alloc(target, parent, object, original.row(), true);
    if (status != NV_OK) return status;
    status = adapter_.rpc().rm_dup(target.handle, parent, object, source.handle, original.handle);
    if (status != NV_OK) return status;
    u32 number = original.as<VaSpaceData>()->va_space;
    u32 class_id = original.class_id;
    Object& copy = server_.insert(target, parent, object, class_id);
    copy.data = VaSpaceData{number, true};
    copy.on_gsp = true;
    spaces_.retain(number);
    return NV_OK;
}

// The same group under another handle. Its channels are the original's, and go with the original at the latest.
Status Driver::dup_group(ClientEntry& target, NvHandle parent, NvHandle& object, ClientEntry& source, Object& original) {
    // Observed: 580.159.04 lets a copy hang below any object of a device, even the group itself.
    if (target.ancestor(parent, "Device") == nullptr) return NV_ERR_INVALID_OBJECT_PARENT;
    Status status = server_.check_alloc(target, parent, object, original.row(), true, true);
    if (status != NV_OK) return status;
    status = adapter_.rpc().rm_dup(target.handle, parent, object, source.handle, original.handle);
    if (status != NV_OK) return status;
    const ChannelGroupData group = *original.as<ChannelGroupData>();
    const u32 class_id = original.class_id;
    Object& copy = server_.insert(target, parent, object, class_id);
    copy.data = group;
    copy.on_gsp = true;
    target.spend_handle();  // its KERNEL_GRAPHICS_CONTEXT
    return NV_OK;
}

Status Driver::dup_into(ClientEntry& target, NvHandle parent, NvHandle& object, Object& original) {
    if (const VirtualMemoryData* range = original.as<VirtualMemoryData>()) {
        Status status = server_.check_alloc(target, parent, object, original.row(), true);
        if (status != NV_OK) return status;
        VirtualMemoryData shared = *range;
        shared.mappings.clear();
        memory_.share_range(shared);
        const u32 class_id = original.class_id;
        server_.insert(target, parent, object, class_id).data = shared;
        return NV_OK;
    }
    MemoryData* memory = original.as<MemoryData>();
    if (memory == nullptr) {
        context_.refused(fmt::format("RM_DUP_OBJECT of {}", original.internal_class()), "only memory is copied");
        return NV_ERR_NOT_SUPPORTED;
    }
    Status status = server_.check_alloc(target, parent, object, original.row(), true);
    if (status != NV_OK) return status;
    MemoryData shared = *memory;
    shared.cpu_mappings.clear();
    shared.dma_users.clear();
    shared.borrowed = true;
    if (shared.place != MemoryData::Place::Registers) memory_.retain_pages(shared);
    Object& copy = server_.insert(target, parent, object, original.class_id);
    copy.data = shared;
    return NV_OK;
}

i64 Driver::esc_share(IoctlCall& call) {
    auto params = load_prefix<NVOS57_PARAMETERS>(call.bytes);
    const RS_SHARE_POLICY& policy = params.sharePolicy;
    ClientEntry* client = nullptr;
    if (policy.type >= SharePolicy::kTypeMax) {
        params.status = NV_ERR_INVALID_ARGUMENT;  // before its client is looked at
    } else if (policy.type == SharePolicy::kClient) {
        // Two clients are found here, and the caller's file is not asked for either.
        client = server_.find_client(params.hClient);
        bool both = client != nullptr && server_.find_client(policy.target) != nullptr;
        params.status = both ? NV_OK : NV_ERR_INVALID_OBJECT_HANDLE;
    } else {
        params.status =
            server_.client_for(params.hClient, FileTable::owner_of(call.file), NV_ERR_INVALID_OBJECT_HANDLE, &client);
    }
    Object* object = params.status == NV_OK ? client->find(params.hObject) : nullptr;
    if (params.status == NV_OK && object == nullptr) params.status = NV_ERR_OBJECT_NOT_FOUND;
    if (params.status == NV_OK)
        params.status = object->share({policy.target, policy.accessMask.limbs[0], policy.type, policy.action});
    store(call.bytes, params);
    return 0;
}

}  // namespace rm::client
