// Uvm: ranges that the process places itself, and RM memory mapped into them. Source: nvidia-uvm/uvm_map_external.c,
// uvm_va_range.c; what RM says of the memory: rmapi/nv_gpu_ops.c (dupMemory, nvGpuOpsBuildExternalAllocPtes).
#include "rm/abi/uvm_types.h"
#include "rm/client/uvm/uvm.h"
#include "rm/client/uvm/values.h"

namespace rm::client::uvm {

namespace {

constexpr u8 kGenericMemory = 0x06;  // NV_MMU_PTE_KIND_GENERIC_MEMORY
constexpr u64 kAttributeBytes = sizeof(UvmGpuMappingAttributes);

// The largest page of the chip that is no larger than the alignment; 0: none.
u64 biggest_page(u64 alignment) {
    for (u64 page : {kPage2M, kPage64K, kPage4K})
        if (page <= alignment) return page;
    return 0;
}

u64 lowest_bit(u64 value) {
    return value & ~(value - 1);
}

}  // namespace

Status Uvm::create_external_range(UvmCall& call) {
    u64 base = call.params.get("base");
    u64 length = call.params.get("length");
    if (range_invalid(base, length)) return NV_ERR_INVALID_ADDRESS;
    Status status = call.space->check_new(base, base + length - 1);
    if (status != NV_OK) return status;
    Range range;
    range.type = RangeType::External;
    range.last = base + length - 1;
    call.space->ranges.emplace(base, range);
    return NV_OK;
}

Status Uvm::validate_range(UvmCall& call) {
    u64 base = call.params.get("base");
    auto it = call.space->ranges.find(base);
    if (it == call.space->ranges.end()) return NV_ERR_INVALID_ADDRESS;
    return it->second.last + 1 == base + call.params.get("length") ? NV_OK : NV_ERR_INVALID_ADDRESS;
}

Status Uvm::free_range(UvmCall& call) {
    u64 base = call.params.get("base");
    u64 length = call.params.get("length");
    if (range_invalid(base, length)) return NV_ERR_INVALID_ADDRESS;
    auto it = call.space->ranges.find(base);
    if (it == call.space->ranges.end() || it->second.type == RangeType::Managed) return NV_ERR_INVALID_ADDRESS;
    if (it->second.last != base + length - 1) return NV_ERR_INVALID_ADDRESS;
    if (it->second.type == RangeType::SemaphorePool && it->second.on_cpu) return NV_ERR_INVALID_ARGUMENT;
    destroy_range(*call.space, base);
    return NV_OK;
}

// --- mapping

Status Uvm::map_external(UvmCall& call) {
    u64 base = call.params.get("base");
    u64 length = call.params.get("length");
    if (range_invalid(base, length)) return NV_ERR_INVALID_ADDRESS;
    std::vector<u8> list = call.params.slice("perGpuAttributes");
    u64 count = call.params.get("gpuAttributesCount");
    if (count == 0 || count > list.size() / kAttributeBytes) return NV_ERR_INVALID_ARGUMENT;
    Range* range = call.space->find(base);
    if (range == nullptr || range->type != RangeType::External || range->last < base + length - 1)
        return NV_ERR_INVALID_ADDRESS;
    bool mapped = false;
    Status status = NV_OK;
    for (u64 i = 0; i < count && status == NV_OK; ++i) {
        auto gpu = *load<UvmGpuMappingAttributes>(list, i * kAttributeBytes);
        bool format = gpu.gpuFormatType != UvmGpuFormatTypeDefault;
        bool bits = gpu.gpuElementBits != UvmGpuFormatElementBitsDefault;
        if (gpu.gpuMappingType >= UvmGpuMappingTypeCount || gpu.gpuCachingType >= UvmGpuCachingTypeCount ||
            gpu.gpuCompressionType >= UvmGpuCompressionTypeCount || gpu.gpuFormatType > UvmGpuFormatTypeBlockLinear ||
            gpu.gpuElementBits > UvmGpuFormatElementBits128 || gpu.gpuElementBits == kUvmGpuFormatElementBits24 ||
            format != bits) {
            status = NV_ERR_INVALID_ARGUMENT;
        } else if (!has_gpu_space(call, std::span<const u8>(list).subspan(i * kAttributeBytes, kCpuUuid.size()))) {
            status = NV_ERR_INVALID_DEVICE;
        } else {
            MapAttributes attributes{gpu.gpuMappingType, gpu.gpuCachingType, gpu.gpuFormatType, gpu.gpuElementBits,
                                     gpu.gpuCompressionType};
            status = map_external_on_gpu(call, *range, attributes);
            mapped = mapped || status == NV_OK;
        }
    }
    // A later entry that fails takes the call's mappings with it.
    if (status != NV_OK && mapped) (void)unmap_in_range(*call.space, *range, base, base + length - 1);
    return status;
}

Status Uvm::map_external_on_gpu(UvmCall& call, Range& range, const MapAttributes& attributes) {
    AddressSpace& space = *call.space;
    u64 base = call.params.get("base");
    u64 length = call.params.get("length");
    if (!gpu_can_address(base, length)) return NV_ERR_OUT_OF_RANGE;
    // The new mapping replaces what is there, even when it fails below.
    Status status = unmap_in_range(space, range, base, base + length - 1);
    if (status != NV_OK) return status;
    ClientEntry* client = context_.server.find_client(call.params.get32("hClient"));
    if (client == nullptr) return NV_ERR_INVALID_OBJECT_HANDLE;
    Object* object = client->find(call.params.get32("hMemory"));
    if (object == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    MemoryData* memory = object->as<MemoryData>();
    if (memory == nullptr) return NV_ERR_INVALID_OBJECT_HANDLE;
    if (memory->place == MemoryData::Place::Registers) return NV_ERR_NOT_SUPPORTED;
    return map_memory(space, range, base, length, call.params.get("offset"), *memory, attributes);
}

Status Uvm::map_memory(AddressSpace& space, Range& range, u64 base, u64 bytes, u64 offset, const MemoryData& memory,
                       const MapAttributes& attributes) {
    u64 page = biggest_page(lowest_bit(memory.page_bytes | base | bytes | offset));
    if (page == 0) return NV_ERR_INVALID_ADDRESS;
    if (offset + bytes > memory.bytes) return NV_ERR_INVALID_OFFSET;
    // What RM answers when UVM asks it for the entries.
    if (offset >= memory.bytes) return NV_ERR_INVALID_BASE;
    if (bytes > memory.bytes - offset) return NV_ERR_INVALID_LIMIT;
    LeafAttributes leaf{.kind = memory.kind};
    // No kind of this memory is compressible, so there is no compression to refine.
    if (attributes.compression == UvmGpuCompressionTypeEnabledNoPlc) return NV_ERR_INVALID_ARGUMENT;
    if (attributes.format == UvmGpuFormatTypeBlockLinear) leaf.kind = kGenericMemory;
    bool default_or_atomic = attributes.mapping == UvmGpuMappingTypeDefault ||
                             attributes.mapping == UvmGpuMappingTypeReadWriteAtomic;
    if (memory.device_read_only) {
        bool allowed = attributes.mapping == UvmGpuMappingTypeDefault || attributes.mapping == UvmGpuMappingTypeReadOnly;
        if (!allowed) return NV_ERR_INVALID_ACCESS_TYPE;
        leaf.read_only = true;
        leaf.atomic_disable = true;
    } else {
        leaf.read_only = attributes.mapping == UvmGpuMappingTypeReadOnly;
        leaf.atomic_disable = !default_or_atomic;
    }
    bool video = memory.place == MemoryData::Place::Video;
    gpu::Aperture aperture = video ? gpu::Aperture::Vid : gpu::Aperture::SysCoh;
    u64 pte = pte_to({aperture, memory.address + offset}, leaf);
    if (attributes.caching == UvmGpuCachingTypeForceUncached) pte = PTE_VOL::set(pte, 1);
    if (attributes.caching == UvmGpuCachingTypeForceCached) pte = PTE_VOL::set(pte, 0);
    Status status = space.tree.map(table_va(base), bytes, page, pte, PTE_ADDRESS::make<u64>(page / kPage4K));
    if (status != NV_OK) return status;
    memory_.retain_pages(memory);
    ExternalMap map;
    map.last = base + bytes - 1;
    map.page_bytes = page;
    map.place = memory.place;
    map.memory = memory.address;
    range.maps.emplace(base, map);
    return NV_OK;
}

Status Uvm::map_sparse(UvmCall& call) {
    u64 base = call.params.get("base");
    u64 length = call.params.get("length");
    if (range_invalid(base, length, kPage64K)) return NV_ERR_INVALID_ADDRESS;
    Range* range = call.space->find(base);
    if (range == nullptr || range->type != RangeType::External || range->last < base + length - 1)
        return NV_ERR_INVALID_ADDRESS;
    if (!has_gpu_space(call, call.uuid())) return NV_ERR_INVALID_DEVICE;
    if (!gpu_can_address(base, length)) return NV_ERR_OUT_OF_RANGE;
    Status status = unmap_in_range(*call.space, *range, base, base + length - 1);
    if (status == NV_OK) status = call.space->tree.map(table_va(base), length, kPage64K, kSparsePte, 0);
    if (status != NV_OK) return status;
    ExternalMap map;
    map.last = base + length - 1;
    map.page_bytes = kPage64K;
    map.sparse = true;
    range->maps.emplace(base, map);
    return NV_OK;
}

Status Uvm::unmap_external(UvmCall& call) {
    u64 base = call.params.get("base");
    u64 length = call.params.get("length");
    if (range_invalid(base, length)) return NV_ERR_INVALID_ADDRESS;
    Range* range = call.space->find(base);
    if (range == nullptr || range->type != RangeType::External || range->last < base + length - 1)
        return NV_ERR_INVALID_ADDRESS;
    if (!is_uvm_gpu(call, call.uuid())) return NV_ERR_INVALID_DEVICE;
    return unmap_in_range(*call.space, *range, base, base + length - 1);
}

// Mappings that reach over an end are cut there, which only the edge of one of their pages allows.
Status Uvm::unmap_in_range(AddressSpace& space, Range& range, u64 base, u64 last) {
    auto it = range.maps.upper_bound(base);
    if (it != range.maps.begin()) --it;
    while (it != range.maps.end() && it->first <= last) {
        u64 first = it->first;
        ExternalMap& map = it->second;
        if (map.last < base) {
            ++it;
            continue;
        }
        u64 cut = first < base ? base : map.last > last ? last + 1 : 0;
        if (cut != 0) {
            if (cut % map.page_bytes != 0) return NV_ERR_INVALID_ADDRESS;
            ExternalMap upper = map;
            map.last = cut - 1;
            if (!map.sparse) memory_.retain_pages(map.place, map.memory);
            range.maps.emplace(cut, upper);
            if (first < base) {
                it = range.maps.find(cut);
                continue;
            }
        }
        ++it;
        destroy_map(space, range, first);
    }
    return NV_OK;
}

// Local memory needs a membar of the GPU only; other memory may be seen by others.
void Uvm::destroy_map(AddressSpace& space, Range& range, u64 base) {
    auto it = range.maps.find(base);
    const ExternalMap& map = it->second;
    Membar membar = map.sparse || map.place == MemoryData::Place::Video ? Membar::Gpu : Membar::Sys;
    if (space.tree.exists()) (void)space.tree.unmap(table_va(base), map.last - base + 1, map.page_bytes, membar);
    if (!map.sparse) memory_.release_pages(map.place, map.memory);
    range.maps.erase(it);
}

// --- work-creation apertures

Status Uvm::map_sked_reflected(UvmCall& call) {
    u64 base = call.params.get("base");
    u64 length = call.params.get("length");
    if (range_invalid(base, length)) return NV_ERR_INVALID_ADDRESS;
    if (!has_gpu_space(call, call.uuid())) return NV_ERR_INVALID_DEVICE;
    if (!gpu_can_address(base, length)) return NV_ERR_OUT_OF_RANGE;
    // Exactly one page of the GPU.
    if (biggest_page(length) != length || base % length != 0) return NV_ERR_INVALID_ADDRESS;
    AddressSpace& space = *call.space;
    Status status = space.check_new(base, base + length - 1);
    if (status == NV_OK) status = space.tree.map(table_va(base), length, length, kSkedReflectedPte, 0);
    if (status != NV_OK) return status;
    Range range;
    range.type = RangeType::SkedReflected;
    range.last = base + length - 1;
    range.on_gpu = true;
    range.page_bytes = length;
    space.ranges.emplace(base, range);
    return NV_OK;
}

Status Uvm::alloc_device_p2p(UvmCall& call) {
    if (range_invalid(call.params.get("base") + call.params.get("offset"), call.params.get("length")))
        return NV_ERR_INVALID_ARGUMENT;
    if (!is_uvm_gpu(call, call.uuid())) return NV_ERR_INVALID_DEVICE;
    return NV_ERR_NOT_SUPPORTED;  // needs all of video memory behind BAR1, which is smaller here
}

}  // namespace rm::client::uvm
