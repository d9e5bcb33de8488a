// MemoryUnit: mappings into a process (through BAR0, BAR1 or system memory) and into GPU address spaces.
#include "rm/abi/flags_nvos.h"
#include "rm/client/memory_unit.h"

namespace rm::client {

namespace {

// What a client sees as the kernel's address of system memory: the kernel's direct map. (model)
constexpr u64 kDirectMap = 0xFFFF888000000000;

u64 align_down(u64 value, u64 alignment) {
    return value & ~(alignment - 1);
}
u64 align_up(u64 value, u64 alignment) {
    return align_down(value + alignment - 1, alignment);
}

Caching caching_of(u8 type) {
    switch (type) {
        case NVOS33_FLAGS_CACHING_TYPE_UNCACHED:
        case NVOS33_FLAGS_CACHING_TYPE_UNCACHED_WEAK:
            return Caching::Uncached;
        case NVOS33_FLAGS_CACHING_TYPE_WRITECOMBINED:
            return Caching::WriteCombined;
        default:
            return Caching::WriteBack;
    }
}

}  // namespace

Status MemoryUnit::map_cpu(ClientEntry& client, NvHandle device, NvHandle handle, CpuMap& map) {
    Object* object = client.find(handle);
    if (object == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    Object* where = client.find(device);
    if (where == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    if (NVOS33_FLAGS_ACCESS::get(map.flags) > NVOS33_FLAGS_ACCESS_WRITE_ONLY) return NV_ERR_INVALID_FLAGS;
    MemoryData* memory = object->as<MemoryData>();
    VirtualMemoryData* range = object->as<VirtualMemoryData>();
    if (memory == nullptr && range == nullptr) return NV_ERR_NOT_SUPPORTED;
    if (memory != nullptr && memory->of_process) return NV_ERR_NOT_SUPPORTED;
    u64 object_bytes = memory != nullptr ? memory->bytes : range->bytes;
    if (map.offset >= object_bytes) return NV_ERR_INVALID_BASE;
    if (map.length == 0) return NV_ERR_INVALID_LIMIT;
    if (NVOS33_FLAGS_SKIP_SIZE_CHECK::get(map.flags) != 0) return NV_ERR_INSUFFICIENT_PERMISSIONS;
    if (map.length > object_bytes - map.offset) return NV_ERR_INVALID_LIMIT;
    if (memory == nullptr) return NV_ERR_NOT_SUPPORTED;  // addresses without memory
    bool read_only = NVOS33_FLAGS_ACCESS::get(map.flags) == NVOS33_FLAGS_ACCESS_READ_ONLY;
    if (memory->user_read_only && !read_only) return NV_ERR_INVALID_ARGUMENT;

    MemoryData::CpuMapping mapping;
    u64 start = align_down(map.offset, kPage4K);
    u64 end = align_up(map.offset + map.length, kPage4K);
    MmapContext context;
    context.bytes = end - start;
    context.caching = caching_of(memory->caching);
    context.writable = !read_only;
    switch (memory->place) {
        case MemoryData::Place::System:
            context.kind = MappingExtent::Kind::SystemMemory;
            context.address = memory->address + start;
            mapping.cookie = kDirectMap + memory->address + map.offset;
            break;
        case MemoryData::Place::Registers:
            context.kind = MappingExtent::Kind::Bar0;
            context.address = memory->address + start;
            mapping.cookie = context_.adapter.pci().registers().address + memory->address + map.offset;
            break;
        case MemoryData::Place::Video: {
            u64 first = align_down(map.offset, memory->page_bytes);
            u64 bytes = align_up(map.offset + map.length, memory->page_bytes) - first;
            LeafAttributes attributes{.read_only = read_only, .kind = memory->kind};
            std::optional<u64> bar1 =
                context_.adapter.map_bar1({memory->address + first}, bytes, memory->page_bytes, attributes);
            if (!bar1) return NV_ERR_INSUFFICIENT_RESOURCES;
            mapping.bar1_offset = *bar1;
            mapping.bar1_bytes = bytes;
            context.kind = MappingExtent::Kind::Bar1;
            context.address = *bar1 + (start - first);
            mapping.cookie = context_.adapter.pci().framebuffer().address + *bar1 + (map.offset - first);
            break;
        }
    }
    memory->cpu_mappings.push_back(mapping);
    map.linear_address = mapping.cookie;
    // What the driver chose: system memory is mapped as it is, and its caching stays the memory's; all else is a window.
    bool system = memory->place == MemoryData::Place::System;
    map.flags = NVOS33_FLAGS_MAPPING::set(map.flags, system ? NVOS33_FLAGS_MAPPING_DIRECT : NVOS33_FLAGS_MAPPING_REFLECTED);
    if (!system) map.flags = NVOS33_FLAGS_CACHING_TYPE::set(map.flags, memory->caching);
    map.context = context;
    return NV_OK;
}

Status MemoryUnit::unmap_cpu(ClientEntry& client, NvHandle handle, u64 linear_address) {
    Object* object = client.find(handle);
    if (object == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    MemoryData* memory = object->as<MemoryData>();
    if (memory == nullptr) return NV_ERR_NOT_SUPPORTED;
    std::vector<MemoryData::CpuMapping>& mappings = memory->cpu_mappings;
    for (std::size_t i = mappings.size(); i-- > 0;) {
        if (mappings[i].cookie != linear_address) continue;
        release_cpu_mapping(*memory, mappings[i]);
        mappings.erase(mappings.begin() + static_cast<std::ptrdiff_t>(i));
        return NV_OK;
    }
    return NV_ERR_OBJECT_NOT_FOUND;
}

// Finds the address, then maps with the largest page that address, memory and length allow.
Status MemoryUnit::map_dma_range(VirtualMemoryData& target, const MemoryData& memory, DmaMap& map,
                                 VirtualMemoryData::DmaMapping& mapping) {
    VaSpace* space = spaces_.find(target.va_space);
    if (space == nullptr) return NV_ERR_INVALID_OBJECT_HANDLE;
    if (space->externally_owned) {
        context_.note(
            "driver: RM_MAP_MEMORY_DMA into an externally owned VA space, whose owner maps by himself: "
            "NV_ERR_NOT_SUPPORTED");
        return NV_ERR_NOT_SUPPORTED;
    }
    u64 page = memory.page_bytes;
    switch (NVOS46_FLAGS_PAGE_SIZE::get(map.flags)) {
        case NVOS46_FLAGS_PAGE_SIZE_DEFAULT:
        case NVOS46_FLAGS_PAGE_SIZE_BOTH:
            break;
        case NVOS46_FLAGS_PAGE_SIZE_4KB:
            page = kPage4K;
            break;
        case NVOS46_FLAGS_PAGE_SIZE_BIG:
            page = std::min(page, kPage64K);
            break;
        case NVOS46_FLAGS_PAGE_SIZE_HUGE:
            break;
        default:
            return NV_ERR_INVALID_ARGUMENT;
    }
    bool fixed = NVOS46_FLAGS_DMA_OFFSET_FIXED::get(map.flags) != 0;
    u64 inside = map.offset % kPage4K;  // the caller's address keeps its place in the page
    bool chosen = !target.reserved && !fixed;
    u64 va = 0;
    if (!chosen) {
        va = fixed ? map.dma_offset : target.base + map.dma_offset;
        if (va < target.base || va - target.base >= target.bytes) return NV_ERR_INVALID_OFFSET;
        if (va % kPage4K != 0 && va % kPage4K != inside) return NV_ERR_INVALID_OFFSET;
        va = align_down(va, kPage4K);
    }
    u64 first = align_down(map.offset, kPage4K);
    u64 least = align_up(map.offset + map.length, kPage4K) - first;
    if (!chosen && least > target.base + target.bytes - va) return NV_ERR_INVALID_OFFSET;
    auto fits = [&](u64 size) {
        if ((memory.address + first) % size != 0) return false;
        if (align_up(least, size) > memory.bytes - first) return false;
        return chosen || (va % size == 0 && align_up(least, size) <= target.base + target.bytes - va);
    };
    if (page == kPage2M && !fits(kPage2M)) page = kPage64K;
    if (page == kPage64K && !fits(kPage64K)) page = kPage4K;
    u64 bytes = align_up(least, page);
    for (const VirtualMemoryData::DmaMapping& other : target.mappings)
        if (!chosen && va < other.va + other.bytes && other.va < va + bytes) return NV_ERR_INVALID_OFFSET;
    if (!target.reserved) {
        u64 limit = target.base + (target.bytes - 1);
        if (chosen) {
            u64 low = VaSpaces::lowest_choice(std::max(target.base, space->start), limit, bytes);
            RangeHeap::Request request{.bytes = bytes, .alignment = page, .low = low, .high = limit};
            request.from_top = NVOS46_FLAGS_DMA_OFFSET_GROWS::get(map.flags) == NVOS46_FLAGS_DMA_OFFSET_GROWS_DOWN;
            std::optional<u64> place = space->ranges.alloc(request);
            if (!place) return NV_ERR_NO_MEMORY;
            va = *place;
        } else if (!space->ranges.alloc_at(va, bytes)) {
            return NV_ERR_NO_MEMORY;
        }
        mapping.owns_range = true;
    }
    gpu::Aperture aperture = memory.place == MemoryData::Place::Video ? gpu::Aperture::Vid : gpu::Aperture::SysCoh;
    LeafAttributes attributes{.read_only = memory.device_read_only, .kind = memory.kind};
    if (NVOS46_FLAGS_ACCESS::get(map.flags) == NVOS46_FLAGS_ACCESS_READ_ONLY) attributes.read_only = true;
    if (!space->tables.map({va}, bytes, page, {aperture, memory.address + first}, attributes)) {
        if (mapping.owns_range) space->ranges.free(va, bytes);
        return NV_ERR_NO_MEMORY;
    }
    if (NVOS46_FLAGS_DEFER_TLB_INVALIDATION::get(map.flags) == 0)
        context_.adapter.io().invalidate_tlb(space->tables.root(), false);
    mapping.va = va;
    mapping.bytes = bytes;
    mapping.page_bytes = page;
    map.dma_offset = va + inside;
    return NV_OK;
}

Status MemoryUnit::map_dma(ClientEntry& client, NvHandle dma, DmaMap& map) {
    Object* target_object = client.find(dma);
    Object* memory_object = client.find(map.memory);
    if (target_object == nullptr || memory_object == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    VirtualMemoryData* target = target_object->as<VirtualMemoryData>();
    MemoryData* memory = memory_object->as<MemoryData>();
    if (target == nullptr || memory == nullptr) return NV_ERR_INVALID_OBJECT_HANDLE;
    if (memory->place == MemoryData::Place::Registers) return NV_ERR_NOT_SUPPORTED;
    if (map.length == 0) return NV_ERR_INVALID_ARGUMENT;
    if (map.offset > memory->bytes || map.length > memory->bytes - map.offset) return NV_ERR_INVALID_BASE;
    VirtualMemoryData::DmaMapping mapping;
    mapping.memory = map.memory;
    Status status = map_dma_range(*target, *memory, map, mapping);
    if (status != NV_OK) return status;
    target->mappings.push_back(mapping);
    if (std::find(memory->dma_users.begin(), memory->dma_users.end(), dma) == memory->dma_users.end())
        memory->dma_users.push_back(dma);
    return NV_OK;
}

Status MemoryUnit::unmap_dma(ClientEntry& client, NvHandle dma, u64 dma_offset, u64 bytes) {
    Object* object = client.find(dma);
    if (object == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    VirtualMemoryData* target = object->as<VirtualMemoryData>();
    if (target == nullptr) return NV_ERR_INVALID_OBJECT_HANDLE;
    for (std::size_t i = target->mappings.size(); i-- > 0;) {
        VirtualMemoryData::DmaMapping& mapping = target->mappings[i];
        if (align_down(dma_offset, kPage4K) != mapping.va) continue;
        if (bytes != 0 && align_up(bytes, kPage4K) < mapping.bytes &&
            align_up(bytes, mapping.page_bytes) < mapping.bytes) {
            context_.refused("RM_UNMAP_MEMORY_DMA of part of a mapping", "size " + std::to_string(bytes));
            return NV_ERR_NOT_SUPPORTED;
        }
        remove_mapping(client, *target, dma, i);
        return NV_OK;
    }
    return NV_ERR_INVALID_OBJECT_HANDLE;
}

void MemoryUnit::remove_mapping(ClientEntry& client, VirtualMemoryData& target, NvHandle target_handle,
                                std::size_t index) {
    VirtualMemoryData::DmaMapping mapping = target.mappings[index];
    target.mappings.erase(target.mappings.begin() + static_cast<std::ptrdiff_t>(index));
    if (VaSpace* space = spaces_.find(target.va_space)) {
        space->tables.unmap({mapping.va}, mapping.bytes, mapping.page_bytes);
        context_.adapter.io().invalidate_tlb(space->tables.root(), false);
        if (mapping.owns_range) space->ranges.free(mapping.va, mapping.bytes);
    }
    Object* object = mapping.memory != 0 ? client.find(mapping.memory) : nullptr;
    MemoryData* memory = object != nullptr ? object->as<MemoryData>() : nullptr;
    if (memory == nullptr) return;
    for (const VirtualMemoryData::DmaMapping& other : target.mappings)
        if (other.memory == mapping.memory) return;
    std::erase(memory->dma_users, target_handle);
}

}  // namespace rm::client
