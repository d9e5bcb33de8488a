// MemoryUnit: mappings into a process (through BAR0, BAR1 or system memory) and into GPU address spaces.
#include <algorithm>

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

// Something is mapped there already, by this object or, where its range has other holders, by one of them.
bool MemoryUnit::taken(const VirtualMemoryData& target, u64 va, u64 bytes) {
    auto meets = [&](const VirtualMemoryData& range) {
        return std::any_of(range.mappings.begin(), range.mappings.end(), [&](const VirtualMemoryData::DmaMapping& other) {
            return va < other.va + other.bytes && other.va < va + bytes;
        });
    };
    if (meets(target)) return true;
    if (!target.reserved || shared_ranges_.count(range_key(target)) == 0) return false;
    for (auto& [handle, client] : context_.server.clients()) {
        for (auto& [name, object] : client.objects) {
            const VirtualMemoryData* other = object.as<VirtualMemoryData>();
            if (other == nullptr || !other->reserved || range_key(*other) != range_key(target)) continue;
            if (meets(*other)) return true;
        }
    }
    return false;
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
    if (!chosen && taken(target, va, bytes)) return NV_ERR_INVALID_OFFSET;
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
    if (const VirtualMemoryData* range = memory_object->as<VirtualMemoryData>(); target != nullptr && range != nullptr) {
        const bool inside = map.offset <= range->bytes && map.length <= range->bytes - map.offset;
        return inside ? NV_ERR_INVALID_OBJECT_HANDLE : NV_ERR_INVALID_LIMIT;
    }
    if (target == nullptr || memory == nullptr) return NV_ERR_INVALID_OBJECT_HANDLE;
    if (memory->place == MemoryData::Place::Registers) return NV_ERR_NOT_SUPPORTED;
    if (map.length == 0) return NV_ERR_INVALID_ARGUMENT;
    if (map.offset > memory->bytes || map.length > memory->bytes - map.offset) return NV_ERR_INVALID_BASE;
    VirtualMemoryData::DmaMapping mapping;
    mapping.memory = map.memory;
    mapping.context = map.device;
    Status status = map_dma_range(*target, *memory, map, mapping);
    if (status != NV_OK) return status;
    mapping.offset = map.dma_offset;
    mapping.length = map.length;
    target->mappings.push_back(mapping);
    if (std::find(memory->dma_users.begin(), memory->dma_users.end(), dma) == memory->dma_users.end())
        memory->dma_users.push_back(dma);
    return NV_OK;
}

Status MemoryUnit::unmap_dma(ClientEntry& client, const DmaUnmap& unmap) {
    Object* object = client.find(unmap.dma);
    if (object == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    if (unmap.memory && client.find(*unmap.memory) == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    Object* context = client.find(unmap.device);
    if (context == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    if (context->as<DeviceData>() == nullptr && context->as<SubdeviceData>() == nullptr) return NV_ERR_INVALID_OBJECT;
    if (unmap.bytes > ~u64{0} - unmap.offset) return NV_ERR_INVALID_ARGUMENT;
    const u64 end = unmap.offset + unmap.bytes;
    const bool ranged = unmap.bytes != 0;
    VirtualMemoryData* target = object->as<VirtualMemoryData>();
    if (target == nullptr) return ranged ? NV_OK : NV_ERR_OBJECT_NOT_FOUND;
    // What a cut leaves over is appended, so the walk ends where the list ends now.
    std::size_t left = target->mappings.size();
    for (std::size_t i = 0; left != 0; --left) {
        const VirtualMemoryData::DmaMapping& mapping = target->mappings[i];
        const u64 mapping_end = mapping.offset + mapping.length;
        const bool same = mapping.context == unmap.device && (!unmap.memory || mapping.memory == *unmap.memory);
        const bool met = ranged ? mapping_end > unmap.offset && mapping.offset < end : mapping.offset == unmap.offset;
        if (!same || !met) {
            ++i;
            continue;
        }
        if (!ranged) {
            remove_mapping(client, *target, unmap.dma, i);
            return NV_OK;
        }
        cut_mapping(client, *target, unmap.dma, i, std::max(mapping.offset, unmap.offset), std::min(mapping_end, end));
    }
    return ranged ? NV_OK : NV_ERR_OBJECT_NOT_FOUND;
}

// Takes [from, to) out of a mapping; what stays on either side becomes a mapping of its own. Of a range that belongs to its object
// every page goes that the cut touches; a range that was chosen for the mapping goes whole, and only when its beginning goes.
void MemoryUnit::cut_mapping(ClientEntry& client, VirtualMemoryData& target, NvHandle target_handle, std::size_t index, u64 from, u64 to) {
    const VirtualMemoryData::DmaMapping whole = target.mappings[index];
    const u64 whole_end = whole.offset + whole.length;
    if (from == whole.offset && to == whole_end) return remove_mapping(client, target, target_handle, index);
    VirtualMemoryData::DmaMapping before = whole;
    VirtualMemoryData::DmaMapping gone = whole;
    VirtualMemoryData::DmaMapping after = whole;
    before.length = from - whole.offset;
    after.offset = to;
    after.length = whole_end - to;
    if (whole.owns_range) {
        after.owns_range = false;
        after.bytes = 0;
        if (before.length != 0) gone.bytes = 0;
    } else {
        const u64 pages_end = whole.va + whole.bytes;
        gone.va = std::clamp(align_down(from, whole.page_bytes), whole.va, pages_end);
        after.va = std::clamp(align_up(to, whole.page_bytes), whole.va, pages_end);
        gone.bytes = after.va - gone.va;
        before.bytes = gone.va - whole.va;
        after.bytes = pages_end - after.va;
    }
    take_down(target, gone);
    target.mappings.erase(target.mappings.begin() + static_cast<std::ptrdiff_t>(index));
    for (const VirtualMemoryData::DmaMapping& rest : {before, after})
        if (rest.length != 0) target.mappings.push_back(rest);
}

void MemoryUnit::take_down(const VirtualMemoryData& target, const VirtualMemoryData::DmaMapping& mapping) {
    VaSpace* space = spaces_.find(target.va_space);
    if (space == nullptr || mapping.bytes == 0) return;
    space->tables.unmap({mapping.va}, mapping.bytes, mapping.page_bytes);
    context_.adapter.io().invalidate_tlb(space->tables.root(), false);
    if (mapping.owns_range) space->ranges.free(mapping.va, mapping.bytes);
}

void MemoryUnit::remove_mapping(ClientEntry& client, VirtualMemoryData& target, NvHandle target_handle,
                                std::size_t index) {
    VirtualMemoryData::DmaMapping mapping = target.mappings[index];
    target.mappings.erase(target.mappings.begin() + static_cast<std::ptrdiff_t>(index));
    take_down(target, mapping);
    Object* object = mapping.memory != 0 ? client.find(mapping.memory) : nullptr;
    MemoryData* memory = object != nullptr ? object->as<MemoryData>() : nullptr;
    if (memory == nullptr) return;
    for (const VirtualMemoryData::DmaMapping& other : target.mappings)
        if (other.memory == mapping.memory) return;
    std::erase(memory->dma_users, target_handle);
}

}  // namespace rm::client
