// Memory objects: system and video memory, register ranges, reservations of GPU addresses, and mappings of the one into
// the other or into a process. Source: open-gpu-kernel-modules 570.144, mem_mgr (video_mem.c, system_mem.c,
// virtual_mem.c, virt_mem_range.c), rmapi/mapping_cpu.c, dma.c.
#pragma once

#include "rm/client/va_spaces.h"

namespace rm::client {

class MemoryUnit {
public:
    MemoryUnit(Context& context, VaSpaces& spaces) : context_(context), spaces_(spaces) {}

    // Constructors by class.
    Status construct_system(AllocCall& call);
    Status construct_video(AllocCall& call);
    Status construct_usermode(AllocCall& call);
    Status construct_virtual(AllocCall& call);        // NV50_MEMORY_VIRTUAL
    Status construct_virtual_range(AllocCall& call);  // NV01_MEMORY_VIRTUAL

    void destroy(ClientEntry& client, MemoryData& memory, NvHandle handle);
    void destroy(ClientEntry& client, VirtualMemoryData& memory, NvHandle handle);

    struct CpuMap {
        u64 offset = 0;
        u64 length = 0;
        u32 flags = 0;           // NVOS33_FLAGS; the caching type comes back in it
        u64 linear_address = 0;  // out: an opaque value for people and for UNMAP_MEMORY
        MmapContext context;     // out
    };
    Status map_cpu(ClientEntry& client, NvHandle device, NvHandle memory, CpuMap& map);
    Status unmap_cpu(ClientEntry& client, NvHandle memory, u64 linear_address);

    struct DmaMap {
        NvHandle memory = 0;
        u64 offset = 0;
        u64 length = 0;
        u32 flags = 0;       // NVOS46_FLAGS
        u64 dma_offset = 0;  // in and out
    };
    Status map_dma(ClientEntry& client, NvHandle dma, DmaMap& map);
    Status unmap_dma(ClientEntry& client, NvHandle dma, u64 dma_offset, u64 bytes);

    // Bytes of memory that the driver itself writes (notifiers). False: outside the object.
    bool write_memory(const MemoryData& memory, u64 offset, std::span<const u8> bytes);

private:
    Status choose_pages(u32 attr, u32 attr2, u64 bytes, bool video, u64* page_bytes);
    Status map_dma_range(VirtualMemoryData& target, const MemoryData& memory, DmaMap& map,
                         VirtualMemoryData::DmaMapping& mapping);
    void remove_mapping(ClientEntry& client, VirtualMemoryData& target, NvHandle target_handle, std::size_t index);
    void release_cpu_mapping(const MemoryData& memory, const MemoryData::CpuMapping& mapping);

    Context& context_;
    VaSpaces& spaces_;
};

}  // namespace rm::client
