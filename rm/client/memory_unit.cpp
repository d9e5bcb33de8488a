// MemoryUnit: making and releasing memory objects. Mappings are in memory_mapping.cpp.
#include "rm/client/memory_unit.h"

#include "rm/abi/all_structs.h"
#include "rm/abi/flags_nvos.h"
#include "sim/check.h"

namespace rm::client {

namespace {

constexpr u8 kKindZ24S8 = 0x05;               // NV_MMU_PTE_KIND_Z24S8
constexpr u8 kGenericMemory = 0x06;           // NV_MMU_PTE_KIND_GENERIC_MEMORY
constexpr u8 kKindInvalid = 0x07;             // NV_MMU_PTE_KIND_INVALID
// NVOS32_ALLOC_FLAGS_VIRTUAL_ONLY, without what is cleared first
constexpr u32 kVirtualOnlyFlags = NVOS32_ALLOC_FLAGS_VIRTUAL | NVOS32_ALLOC_FLAGS_LAZY | NVOS32_ALLOC_FLAGS_EXTERNALLY_MANAGED |
                                  NVOS32_ALLOC_FLAGS_SPARSE | NVOS32_ALLOC_FLAGS_PREFER_PTES_IN_SYSMEMORY;
constexpr u64 kAllocationMax = u64{1} << 40;  // larger than any memory of the machine

u64 align_up(u64 value, u64 alignment) {
    return (value + alignment - 1) & ~(alignment - 1);
}

bool is_power_of_two(u64 value) {
    return value != 0 && (value & (value - 1)) == 0;
}

u8 cpu_caching(u32 attr, bool video) {
    if (video) return NVOS33_FLAGS_CACHING_TYPE_WRITECOMBINED;
    switch (NVOS32_ATTR_COHERENCY::get(attr)) {
        case NVOS32_ATTR_COHERENCY_UNCACHED:
            return NVOS33_FLAGS_CACHING_TYPE_UNCACHED;
        case NVOS32_ATTR_COHERENCY_WRITE_COMBINE:
            return NVOS33_FLAGS_CACHING_TYPE_WRITECOMBINED;
        case NVOS32_ATTR_COHERENCY_WRITE_BACK:
            return NVOS33_FLAGS_CACHING_TYPE_WRITEBACK;
        default:
            return NVOS33_FLAGS_CACHING_TYPE_CACHED;
    }
}

// memmgrChooseKind_TU102, for memory that is not compressed: by the type alone.
u8 kind_of(u32 type) {
    switch (type) {
        case NVOS32_TYPE_DEPTH:
        case NVOS32_TYPE_STENCIL: return kKindZ24S8;
        case NVOS32_TYPE_FONT:
        case NVOS32_TYPE_INSTANCE:
        case NVOS32_TYPE_ZCULL: return kKindInvalid;
        default: return kGenericMemory;
    }
}

// Owners that are the driver's own (HEAP_OWNER_RM_SCRATCH_BEGIN to _END).
constexpr u32 kScratchOwnerFirst = 0xDEAF0000;
constexpr u32 kScratchOwnerLast = kScratchOwnerFirst + 9;

bool is_owner(u32 owner) {
    return owner != 0 && owner != ~u32{0} && (owner < kScratchOwnerFirst || owner > kScratchOwnerLast);
}

// What every kind of memory is checked for first, and what the driver makes of its flags (stdmemValidateParams).
Status validate(NV_MEMORY_ALLOCATION_PARAMS& params) {
    if (params.internalflags != 0) return NV_ERR_INVALID_ARGUMENT;
    if (!is_owner(params.owner)) return NV_ERR_INVALID_OWNER;
    if (params.size == 0) return NV_ERR_INVALID_ARGUMENT;
    params.flags = (params.flags | NVOS32_ALLOC_FLAGS_MAP_NOT_REQUIRED) & ~NVOS32_ALLOC_FLAGS_KERNEL_MAPPING_MAP;
    params.address = 0;
    const bool isochronous =
        params.type == NVOS32_TYPE_PRIMARY || params.type == NVOS32_TYPE_VIDEO || params.type == NVOS32_TYPE_CURSOR;
    if (!isochronous && NVOS32_ATTR2_ISO::get(params.attr2) != 0) return NV_ERR_INVALID_ARGUMENT;
    if (NVOS32_ATTR2_PAGE_OFFLINING::get(params.attr2) == NVOS32_ATTR2_PAGE_OFFLINING_OFF) return NV_ERR_INSUFFICIENT_PERMISSIONS;
    if (isochronous) params.attr2 = NVOS32_ATTR2_ISO::set(params.attr2, 1);
    if ((params.flags & NVOS32_ALLOC_FLAGS_USE_BEGIN_END) == 0 && (params.rangeLo != 0 || params.rangeHi != 0))
        return NV_ERR_INVALID_ARGUMENT;
    const bool encrypted = (params.flags & NVOS32_ALLOC_FLAGS_TURBO_CIPHER_ENCRYPTED) != 0;
    if (encrypted && NVOS32_ATTR_LOCATION::get(params.attr) == NVOS32_ATTR_LOCATION_VIDMEM) return NV_ERR_INVALID_ARGUMENT;
    if (NVOS32_ATTR2_ALLOCATE_FROM_SUBHEAP::get(params.attr2) != NVOS32_ATTR2_ALLOCATE_FROM_SUBHEAP_NO)
        return NV_ERR_INVALID_ARGUMENT;
    return NV_OK;
}

// The caller's alignment counts where he asks for it and it fits the pages (memmgrAllocDetermineAlignment_GM107).
Status choose_alignment(const NV_MEMORY_ALLOCATION_PARAMS& params, u64 page_bytes, u64* alignment) {
    *alignment = page_bytes;
    bool forced = (params.flags & NVOS32_ALLOC_FLAGS_ALIGNMENT_FORCE) != 0;
    if ((!forced && (params.flags & NVOS32_ALLOC_FLAGS_ALIGNMENT_HINT) == 0) || params.alignment == 0) return NV_OK;
    bool fits = params.alignment > page_bytes ? params.alignment % page_bytes == 0 : page_bytes % params.alignment == 0;
    if (!fits) return forced ? NV_ERR_INVALID_ARGUMENT : NV_OK;
    if (!is_power_of_two(params.alignment) || params.alignment > kAllocationMax) return NV_ERR_INVALID_ARGUMENT;
    *alignment = std::max(page_bytes, params.alignment);
    return NV_OK;
}

// Observed: without a choice the driver tells its own of the kind, of zero-bandwidth clears and of the page size.
void answer_attributes(NV_MEMORY_ALLOCATION_PARAMS& params, u64 page_bytes) {
    params.format = kind_of(params.type);
    if (NVOS32_ATTR2_ZBC::get(params.attr2) == NVOS32_ATTR2_ZBC_DEFAULT)
        params.attr2 = NVOS32_ATTR2_ZBC::set(params.attr2, NVOS32_ATTR2_ZBC_PREFER_NO_ZBC);
    if (page_bytes == kPage2M)
        params.attr2 = NVOS32_ATTR2_PAGE_SIZE_HUGE::set(params.attr2, NVOS32_ATTR2_PAGE_SIZE_HUGE_2MB);
}

void answer(NV_MEMORY_ALLOCATION_PARAMS& params, const MemoryData& memory, u64 page_bytes, u64 alignment) {
    params.size = memory.bytes;
    params.limit = memory.bytes - 1;
    params.offset = memory.address;
    u32 size_field = page_bytes == kPage4K    ? NVOS32_ATTR_PAGE_SIZE_4KB
                     : page_bytes == kPage64K ? NVOS32_ATTR_PAGE_SIZE_BIG
                                              : NVOS32_ATTR_PAGE_SIZE_HUGE;
    params.attr = NVOS32_ATTR_PAGE_SIZE::set(params.attr, size_field);
    u32 physicality = NVOS32_ATTR_PHYSICALITY::get(params.attr);
    bool whole = memory.place == MemoryData::Place::Video ? physicality != NVOS32_ATTR_PHYSICALITY_NONCONTIGUOUS
                                                          : physicality == NVOS32_ATTR_PHYSICALITY_CONTIGUOUS;
    params.attr = NVOS32_ATTR_PHYSICALITY::set(
        params.attr, whole ? NVOS32_ATTR_PHYSICALITY_CONTIGUOUS : NVOS32_ATTR_PHYSICALITY_NONCONTIGUOUS);
    answer_attributes(params, page_bytes);
    params.alignment = alignment;
    if (NVOS32_ATTR2_GPU_CACHEABLE::get(params.attr2) == NVOS32_ATTR2_GPU_CACHEABLE_DEFAULT) {
        bool video = memory.place == MemoryData::Place::Video;
        params.attr2 = NVOS32_ATTR2_GPU_CACHEABLE::set(
            params.attr2, video ? NVOS32_ATTR2_GPU_CACHEABLE_YES : NVOS32_ATTR2_GPU_CACHEABLE_NO);
    }
}

}  // namespace

// The page size that the attributes ask for. Video memory and ranges of addresses are of big pages at least.
Status MemoryUnit::choose_pages(u32 attr, u32 attr2, u64 bytes, bool video, u64* page_bytes) {
    switch (NVOS32_ATTR_PAGE_SIZE::get(attr)) {
        case NVOS32_ATTR_PAGE_SIZE_DEFAULT:
            *page_bytes = !video ? kPage4K : bytes >= kPage2M ? kPage2M : kPage64K;
            return NV_OK;
        case NVOS32_ATTR_PAGE_SIZE_4KB:
            *page_bytes = kPage4K;
            return NV_OK;
        case NVOS32_ATTR_PAGE_SIZE_BIG:
            *page_bytes = kPage64K;
            return NV_OK;
        default:
            break;
    }
    u32 huge = NVOS32_ATTR2_PAGE_SIZE_HUGE::get(attr2);
    if (huge > NVOS32_ATTR2_PAGE_SIZE_HUGE_2MB) {
        context_.note("driver: pages of 512 MiB and more are not of this generation: NV_ERR_INVALID_ARGUMENT");
        return NV_ERR_INVALID_ARGUMENT;
    }
    *page_bytes = kPage2M;
    return NV_OK;
}

Status MemoryUnit::construct_system(AllocCall& call) {
    auto params = call.read<NV_MEMORY_ALLOCATION_PARAMS>();
    Status status = validate(params);
    if (status != NV_OK) return status;
    if (NVOS32_ATTR_LOCATION::get(params.attr) == NVOS32_ATTR_LOCATION_VIDMEM) {
        context_.note(
            "driver: NV01_MEMORY_SYSTEM with attr LOCATION VIDMEM, must be PCI or ANY: NV_ERR_INVALID_ARGUMENT");
        return NV_ERR_INVALID_ARGUMENT;
    }
    if ((params.flags & (kVirtualOnlyFlags | NVOS32_ALLOC_FLAGS_FIXED_ADDRESS_ALLOCATE)) != 0) return NV_ERR_INVALID_ARGUMENT;
    if (params.hVASpace != 0) return NV_ERR_INVALID_ARGUMENT;  // addresses are another object's. Observed: 580.159.04.
    MemoryData& memory = call.object.data.emplace<MemoryData>();
    u64 page_bytes = 0;
    u64 alignment = 0;
    status = choose_pages(params.attr, params.attr2, params.size, false, &page_bytes);
    if (status == NV_OK) status = choose_alignment(params, page_bytes, &alignment);
    if (status != NV_OK) return status;
    if (params.size > ~u64{0} - (page_bytes - 1)) return NV_ERR_INVALID_ARGUMENT;
    if (params.size > kAllocationMax) {
        bool whole = NVOS32_ATTR_PHYSICALITY::get(params.attr) == NVOS32_ATTR_PHYSICALITY_CONTIGUOUS;
        return whole ? NV_ERR_INVALID_LIMIT : NV_ERR_INSUFFICIENT_RESOURCES;
    }
    memory.place = MemoryData::Place::System;
    memory.page_bytes = page_bytes;
    memory.bytes = align_up(params.size, page_bytes);
    // The operating system gives page-aligned blocks; a larger alignment is cut out of a larger block, which we keep
    // whole.
    gpu::SysPa pages = context_.host.alloc_pages(memory.bytes);
    if (pages.value == 0) return NV_ERR_NO_MEMORY;
    // (model) Where the block lies badly the GPU maps it by small pages; the client is told what it asked for.
    if (pages.value % page_bytes != 0) memory.page_bytes = kPage4K;
    memory.address = pages.value;
    memory.caching = cpu_caching(params.attr, false);
    memory.user_read_only = NVOS32_ATTR2_PROTECTION_USER::get(params.attr2) != 0;
    memory.device_read_only = NVOS32_ATTR2_PROTECTION_DEVICE::get(params.attr2) != 0;
    answer(params, memory, page_bytes, alignment);
    params.offset = 0;  // physical addresses of system memory are not a client's business
    params.attr = NVOS32_ATTR_LOCATION::set(params.attr, NVOS32_ATTR_LOCATION_PCI);
    call.write(params);
    return NV_OK;
}

Status MemoryUnit::construct_video(AllocCall& call) {
    auto params = call.read<NV_MEMORY_ALLOCATION_PARAMS>();
    Status status = validate(params);
    if (status != NV_OK) return status;
    if (NVOS32_ATTR_LOCATION::get(params.attr) == NVOS32_ATTR_LOCATION_PCI) return NV_ERR_INVALID_ARGUMENT;
    if ((params.flags & kVirtualOnlyFlags) != 0 || params.hVASpace != 0) return NV_ERR_INVALID_ARGUMENT;
    MemoryData& memory = call.object.data.emplace<MemoryData>();
    u64 alignment = 0;
    status = choose_pages(params.attr, params.attr2, params.size, true, &memory.page_bytes);
    if (status == NV_OK) status = choose_alignment(params, memory.page_bytes, &alignment);
    if (status != NV_OK) return status;
    if (params.size > kAllocationMax) {
        // Observed: a size whose last huge page would wrap around is a bad argument, unless it may lie in pieces.
        u32 physicality = NVOS32_ATTR_PHYSICALITY::get(params.attr);
        bool pieces = physicality == NVOS32_ATTR_PHYSICALITY_NONCONTIGUOUS ||
                      physicality == NVOS32_ATTR_PHYSICALITY_ALLOW_NONCONTIGUOUS;
        return !pieces && params.size > ~u64{0} - (memory.page_bytes - 1) ? NV_ERR_INVALID_ARGUMENT : NV_ERR_NO_MEMORY;
    }
    memory.place = MemoryData::Place::Video;
    memory.bytes = align_up(params.size, memory.page_bytes);
    RangeHeap::Request request{.bytes = memory.bytes, .alignment = alignment};
    if ((params.flags & NVOS32_ALLOC_FLAGS_FIXED_ADDRESS_ALLOCATE) != 0) {
        if (params.offset % memory.page_bytes != 0) return NV_ERR_INVALID_OFFSET;
        request.low = params.offset;
        request.high = params.offset > ~u64{0} - memory.bytes ? ~u64{0} : params.offset + (memory.bytes - 1);
        request.alignment = memory.page_bytes;
    } else if ((params.flags & NVOS32_ALLOC_FLAGS_USE_BEGIN_END) != 0 && params.rangeHi > params.rangeLo) {
        request.low = params.rangeLo;
        request.high = params.rangeHi;
    }
    std::optional<gpu::FbPa> address = context_.adapter.alloc_fb(request);
    if (!address) {
        memory.bytes = 0;
        return NV_ERR_NO_MEMORY;
    }
    memory.address = address->value;
    memory.caching = cpu_caching(params.attr, true);
    memory.user_read_only = NVOS32_ATTR2_PROTECTION_USER::get(params.attr2) != 0;
    memory.device_read_only = NVOS32_ATTR2_PROTECTION_DEVICE::get(params.attr2) != 0;
    memory.kind = NVOS32_ATTR_FORMAT::get(params.attr) == NVOS32_ATTR_FORMAT_BLOCK_LINEAR ? kGenericMemory : 0;
    answer(params, memory, memory.page_bytes, alignment);
    call.write(params);
    return NV_OK;
}

Status MemoryUnit::construct_usermode(AllocCall& call) {
    MemoryData& memory = call.object.data.emplace<MemoryData>();
    memory.place = MemoryData::Place::Registers;
    memory.address = reg::NV_USERMODE_BASE;
    memory.bytes = reg::kUsermodeBytes;
    memory.caching = NVOS33_FLAGS_CACHING_TYPE_UNCACHED;
    return NV_OK;
}

Status MemoryUnit::construct_virtual(AllocCall& call) {
    auto params = call.read<NV_MEMORY_ALLOCATION_PARAMS>();
    Status status = validate(params);
    if (status != NV_OK) return status;
    if ((params.flags & NVOS32_ALLOC_FLAGS_VIRTUAL) == 0) {
        context_.note("driver: NV50_MEMORY_VIRTUAL without NVOS32_ALLOC_FLAGS_VIRTUAL: NV_ERR_INVALID_ARGUMENT");
        return NV_ERR_INVALID_ARGUMENT;
    }
    VirtualMemoryData& memory = call.object.data.emplace<VirtualMemoryData>();
    status = spaces_.resolve(call.client, call.object.parent, params.hVASpace, &memory.va_space);
    if (status != NV_OK) return status;
    if (params.size > kVaLimit) return NV_ERR_INVALID_ARGUMENT;
    VaSpace* space = spaces_.find(memory.va_space);
    if (space->externally_owned) {
        // The client's own manager places things there; the object only names a range.
        memory.base = params.offset;
        memory.bytes = params.size;
        call.write(params);
        return NV_OK;
    }
    u64 page_bytes = 0;
    u64 alignment = 0;
    status = choose_pages(params.attr, params.attr2, params.size, true, &page_bytes);
    if (status == NV_OK) status = choose_alignment(params, page_bytes, &alignment);
    if (status != NV_OK) return status;
    alignment = std::max(alignment, kPage64K);  // small and big pages do not share a directory entry's range
    u64 bytes = align_up(params.size, page_bytes);
    std::optional<u64> base;
    if ((params.flags & NVOS32_ALLOC_FLAGS_FIXED_ADDRESS_ALLOCATE) != 0) {
        if (params.offset % kPage4K != 0) return NV_ERR_INVALID_OFFSET;
        if (space->ranges.alloc_at(params.offset, bytes)) base = params.offset;
    } else {
        if ((params.flags & NVOS32_ALLOC_FLAGS_USE_BEGIN_END) == 0) {
            params.rangeHi = kVaLimit - 1;
            params.rangeLo = VaSpaces::lowest_choice(space->start, params.rangeHi, bytes);
        }
        RangeHeap::Request request{.bytes = bytes, .alignment = alignment, .low = params.rangeLo};
        if (params.rangeHi > params.rangeLo) request.high = params.rangeHi;
        request.from_top = (params.flags & NVOS32_ALLOC_FLAGS_FORCE_MEM_GROWS_DOWN) != 0;
        base = space->ranges.alloc(request);
    }
    if (!base) return NV_ERR_NO_MEMORY;
    memory.base = *base;
    memory.bytes = bytes;
    memory.reserved = true;
    if (Object* provider = params.hVASpace != 0 ? call.client.find(params.hVASpace) : nullptr)
        ObjectServer::depend(*provider, call.object);
    params.offset = *base;
    params.size = bytes;
    params.limit = bytes - 1;
    params.alignment = alignment;
    // The range takes any memory, of any page size unless one was asked for.
    params.attr = NVOS32_ATTR_LOCATION::set(params.attr, NVOS32_ATTR_LOCATION_ANY);
    params.attr = NVOS32_ATTR_PHYSICALITY::set(params.attr, NVOS32_ATTR_PHYSICALITY_CONTIGUOUS);
    answer_attributes(params, page_bytes);
    if (NVOS32_ATTR2_GPU_CACHEABLE::get(params.attr2) == NVOS32_ATTR2_GPU_CACHEABLE_DEFAULT)
        params.attr2 = NVOS32_ATTR2_GPU_CACHEABLE::set(params.attr2, NVOS32_ATTR2_GPU_CACHEABLE_YES);
    call.write(params);
    return NV_OK;
}

Status MemoryUnit::construct_virtual_range(AllocCall& call) {
    auto params = call.read<NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS>();
    VirtualMemoryData& memory = call.object.data.emplace<VirtualMemoryData>();
    Status status = spaces_.resolve(call.client, call.object.parent, params.hVASpace, &memory.va_space);
    if (status != NV_OK) return status;
    if (params.limit == 0 || params.limit >= kVaLimit) params.limit = kVaLimit - 1;
    if (params.offset > params.limit) return NV_ERR_INVALID_ARGUMENT;
    memory.base = params.offset;
    memory.bytes = params.limit - params.offset + 1;
    if (Object* provider = params.hVASpace != 0 ? call.client.find(params.hVASpace) : nullptr)
        ObjectServer::depend(*provider, call.object);
    call.write(params);
    return NV_OK;
}

void MemoryUnit::release_cpu_mapping(const MemoryData& memory, const MemoryData::CpuMapping& mapping) {
    if (mapping.bar1_bytes != 0)
        context_.adapter.unmap_bar1(mapping.bar1_offset, mapping.bar1_bytes, memory.page_bytes);
}

void MemoryUnit::destroy(ClientEntry& client, MemoryData& memory, NvHandle handle) {
    for (NvHandle user : memory.dma_users) {
        Object* object = client.find(user);
        VirtualMemoryData* target = object != nullptr ? object->as<VirtualMemoryData>() : nullptr;
        if (target == nullptr) continue;
        for (std::size_t i = target->mappings.size(); i-- > 0;) {
            if (target->mappings[i].memory != handle) continue;
            target->mappings[i].memory = 0;  // the memory's own list is being walked
            remove_mapping(client, *target, user, i);
        }
    }
    for (const MemoryData::CpuMapping& mapping : memory.cpu_mappings) release_cpu_mapping(memory, mapping);
    memory.cpu_mappings.clear();
    memory.dma_users.clear();
    if (memory.bytes == 0) return;
    if (memory.borrowed) {
        if (memory.place != MemoryData::Place::Registers) release_pages(memory.place, memory.address);
        memory.bytes = 0;
        return;
    }
    auto retained = retained_.find(retained_key(memory.place, memory.address));
    if (retained != retained_.end())
        retained->second.orphaned = true;
    else
        free_pages(memory.place, memory.address, memory.bytes);
    memory.bytes = 0;
}

void MemoryUnit::free_pages(MemoryData::Place place, u64 address, u64 bytes) {
    if (place == MemoryData::Place::Video) context_.adapter.free_fb({address}, bytes);
    if (place == MemoryData::Place::System) context_.host.free_pages({address}, bytes);
}

void MemoryUnit::retain_pages(const MemoryData& memory) {
    RetainedPages& pages = retained_[retained_key(memory.place, memory.address)];
    pages.bytes = memory.bytes;
    ++pages.users;
}

void MemoryUnit::release_pages(MemoryData::Place place, u64 address) {
    auto it = retained_.find(retained_key(place, address));
    SIM_CHECK(it != retained_.end(), address);
    if (--it->second.users != 0) return;
    if (it->second.orphaned) free_pages(place, address, it->second.bytes);
    retained_.erase(it);
}

void MemoryUnit::RetainedPages::visit(sim::StateVisitor& visitor) {
    visitor.field("bytes", bytes);
    visitor.field("users", users);
    visitor.field("orphaned", orphaned);
}

void MemoryUnit::destroy(ClientEntry& client, VirtualMemoryData& memory, NvHandle handle) {
    while (!memory.mappings.empty()) remove_mapping(client, memory, handle, memory.mappings.size() - 1);
    auto holders = memory.reserved ? shared_ranges_.find(range_key(memory)) : shared_ranges_.end();
    if (holders != shared_ranges_.end()) {
        if (--holders->second == 0) shared_ranges_.erase(holders);
    } else if (VaSpace* space = memory.reserved ? spaces_.find(memory.va_space) : nullptr) {
        space->ranges.free(memory.base, memory.bytes);
    }
    memory.reserved = false;
}

void MemoryUnit::share_range(VirtualMemoryData& copy) {
    if (!copy.reserved) return;
    ++shared_ranges_[range_key(copy)];
    copy.shared = true;
}

bool MemoryUnit::read_memory(const MemoryData& memory, u64 offset, std::span<u8> out) {
    if (offset > memory.bytes || out.size() > memory.bytes - offset) return false;
    if (memory.place == MemoryData::Place::System) {
        context_.host.read({memory.address + offset}, out);
        return true;
    }
    if (memory.place != MemoryData::Place::Video) return false;
    constexpr u64 kWord = sizeof(u64);
    for (u64 done = 0; done < out.size();) {
        const u64 at = memory.address + offset + done;
        std::vector<u8> word(kWord);
        store(std::span<u8>(word), context_.adapter.read_fb({at & ~(kWord - 1)}));
        const u64 part = std::min<u64>(kWord - at % kWord, out.size() - done);
        std::copy_n(word.begin() + static_cast<std::ptrdiff_t>(at % kWord), part, out.begin() + static_cast<std::ptrdiff_t>(done));
        done += part;
    }
    return true;
}

bool MemoryUnit::write_memory(const MemoryData& memory, u64 offset, std::span<const u8> bytes) {
    if (offset > memory.bytes || bytes.size() > memory.bytes - offset || bytes.size() % sizeof(u64) != 0) return false;
    if (memory.place == MemoryData::Place::System) {
        context_.host.write({memory.address + offset}, bytes);
    } else if (memory.place == MemoryData::Place::Video) {
        for (u64 done = 0; done < bytes.size(); done += sizeof(u64))
            context_.adapter.table_store().write_entry({memory.address + offset + done}, *load<u64>(bytes, done));
    } else {
        return false;
    }
    return true;
}

}  // namespace rm::client
