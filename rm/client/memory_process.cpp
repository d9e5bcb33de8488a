// MemoryUnit: memory that a process brings along (OS descriptors) and the page that the driver shares with every process.
// Source: open-gpu-kernel-modules 570.144, os_desc_mem.c, osmemdesc.c, gpu_user_shared_data.c, rmapi_deprecated_allocmemory.c.
#include <algorithm>
#include <string>

#include "rm/abi/all_structs.h"
#include "rm/abi/flags_nvos.h"
#include "rm/client/memory_unit.h"

namespace rm::client {

namespace {

constexpr u32 kDescriptorVirtualAddress = 0;  // NVOS32_DESCRIPTOR_TYPE_VIRTUAL_ADDRESS
constexpr u32 kDescriptorFileHandle = 4;      // NVOS32_DESCRIPTOR_TYPE_OS_FILE_HANDLE
constexpr u64 kLimitMax = (u64{1} << 40) - 1;
constexpr u64 kShareBytesMax = 256u << 20;  // (model) what one call copies

}  // namespace

// The pages of the process become system memory that the GPU reads and writes: whole pages from the one that holds the address.
Status MemoryUnit::construct_os_descriptor(AllocCall& call) {
    auto params = call.read<NV_OS_DESC_MEMORY_ALLOCATION_PARAMS>();
    if (params.descriptorType == kDescriptorFileHandle) {
        if (params.limit == 0 || params.descriptor == 0) return NV_ERR_INVALID_PARAM_STRUCT;
        const auto fd = static_cast<i32>(params.descriptor);
        if (static_cast<u64>(i64{fd}) != params.descriptor) return NV_ERR_INVALID_ARGUMENT;
        // The only dma-bufs of this computer are our own, and exporting one's addresses needs the lock that this call holds.
        context_.note("driver: a dma-buf cannot be imported by the GPU that exports it: NV_ERR_OPERATING_SYSTEM");
        return NV_ERR_OPERATING_SYSTEM;
    }
    if (params.descriptorType != kDescriptorVirtualAddress) {
        context_.note("driver: an OS descriptor of a process must be a virtual address: NV_ERR_NOT_SUPPORTED");
        return NV_ERR_NOT_SUPPORTED;
    }
    if (params.limit == 0) return NV_ERR_INVALID_PARAM_STRUCT;
    if (params.limit > kLimitMax || params.descriptor > ~u64{0} - params.limit - kPage4K) return NV_ERR_INVALID_ARGUMENT;
    u64 start = params.descriptor & ~(kPage4K - 1);
    u64 bytes = ((params.descriptor + params.limit + kPage4K) & ~(kPage4K - 1)) - start;
    if (bytes > kShareBytesMax) {
        context_.refused("memory by OS descriptor of more than 256 MiB", std::to_string(bytes) + " bytes");
        return NV_ERR_INSUFFICIENT_RESOURCES;
    }
    gpu::SysPa pages = context_.host.alloc_pages(bytes);
    if (pages.value == 0) return NV_ERR_NO_MEMORY;
    if (call.user == nullptr || !call.user->share(start, pages, bytes)) {
        context_.host.free_pages(pages, bytes);
        context_.refused("memory by OS descriptor", "the process's pages cannot be shared with the GPU");
        return NV_ERR_INVALID_ADDRESS;
    }
    MemoryData& memory = call.object.data.emplace<MemoryData>();
    memory.place = MemoryData::Place::System;
    memory.of_process = true;
    memory.address = pages.value;
    memory.bytes = bytes;
    memory.page_bytes = kPage4K;
    memory.caching = NVOS33_FLAGS_CACHING_TYPE_WRITEBACK;
    retain_pages(memory);
    process_pages_.push_back({call.pid, start, bytes, bytes, pages.value});
    memory.device_read_only = NVOS32_ATTR2_PROTECTION_DEVICE::get(params.attr2) != 0;
    memory.user_read_only = NVOS32_ATTR2_PROTECTION_USER::get(params.attr2) != 0;
    params.attr = NVOS32_ATTR_PAGE_SIZE::set(params.attr, NVOS32_ATTR_PAGE_SIZE_4KB);
    params.attr = NVOS32_ATTR_LOCATION::set(params.attr, NVOS32_ATTR_LOCATION_PCI);
    call.write(params);
    return NV_OK;
}

void MemoryUnit::process_unmapped(u32 pid, u64 address, u64 bytes) {
    const u64 end = bytes > ~u64{0} - address ? ~u64{0} : address + bytes;
    std::erase_if(process_pages_, [&](ProcessPages& range) {
        if (range.pid != pid) return false;
        const u64 from = std::max(address, range.address);
        const u64 to = std::min(end, range.address + range.bytes);
        if (from >= to) return false;
        range.mapped -= std::min(range.mapped, to - from);
        if (range.mapped != 0) return false;
        release_pages(MemoryData::Place::System, range.pages);
        return true;
    });
}

void MemoryUnit::ProcessPages::visit(sim::StateVisitor& visitor) {
    visitor.field("pid", pid);
    visitor.field("address", address);
    visitor.field("bytes", bytes);
    visitor.field("mapped", mapped);
    visitor.field("pages", pages);
}

// Every section of the page carries its own time of change; zero says that it never held anything. (model) Nothing is ever written,
// so a client asks by control instead.
Status MemoryUnit::construct_shared_data(AllocCall& call) {
    MemoryData& memory = call.object.data.emplace<MemoryData>();
    gpu::SysPa pages = context_.host.alloc_pages(kPage4K);
    if (pages.value == 0) return NV_ERR_NO_MEMORY;
    memory.place = MemoryData::Place::System;
    memory.address = pages.value;
    memory.bytes = kPage4K;
    memory.page_bytes = kPage4K;
    memory.caching = NVOS33_FLAGS_CACHING_TYPE_WRITEBACK;
    memory.user_read_only = true;
    memory.device_read_only = true;
    return NV_OK;
}

u32 attributes_of_os02(u32 flags, u32* attr2) {
    u32 attr = NVOS32_ATTR_PHYSICALITY::make(NVOS02_FLAGS_PHYSICALITY::get(flags) == NVOS02_FLAGS_PHYSICALITY_CONTIGUOUS
                                                 ? NVOS32_ATTR_PHYSICALITY_CONTIGUOUS
                                                 : NVOS32_ATTR_PHYSICALITY_NONCONTIGUOUS);
    bool video = NVOS02_FLAGS_LOCATION::get(flags) == NVOS02_FLAGS_LOCATION_VIDMEM;
    attr = NVOS32_ATTR_LOCATION::set(attr, video ? NVOS32_ATTR_LOCATION_VIDMEM : NVOS32_ATTR_LOCATION_PCI);
    attr = NVOS32_ATTR_COHERENCY::set(attr, NVOS02_FLAGS_COHERENCY::get(flags));  // the two enumerations are equal
    *attr2 = NVOS32_ATTR2_GPU_CACHEABLE::make(NVOS02_FLAGS_GPU_CACHEABLE::get(flags) == NVOS02_FLAGS_GPU_CACHEABLE_YES
                                                  ? NVOS32_ATTR2_GPU_CACHEABLE_YES
                                                  : NVOS32_ATTR2_GPU_CACHEABLE_NO);
    *attr2 = NVOS32_ATTR2_PROTECTION_USER::set(*attr2, NVOS02_FLAGS_ALLOC_USER_READ_ONLY::get(flags));
    *attr2 = NVOS32_ATTR2_PROTECTION_DEVICE::set(*attr2, NVOS02_FLAGS_ALLOC_DEVICE_READ_ONLY::get(flags));
    return attr;
}

}  // namespace rm::client
