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
    Status construct_os_descriptor(AllocCall& call);  // NV01_MEMORY_SYSTEM_OS_DESCRIPTOR
    Status construct_shared_data(AllocCall& call);    // RM_USER_SHARED_DATA
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
        NvHandle device = 0;  // or subdevice
        NvHandle memory = 0;
        u64 offset = 0;
        u64 length = 0;
        u32 flags = 0;       // NVOS46_FLAGS
        u64 dma_offset = 0;  // in and out
    };
    Status map_dma(ClientEntry& client, NvHandle dma, DmaMap& map);

    struct DmaUnmap {
        NvHandle device = 0;
        NvHandle dma = 0;
        std::optional<NvHandle> memory;  // drivers before 545 look for the mapping of this memory alone
        u64 offset = 0;
        u64 bytes = 0;  // 0: the one mapping that begins at `offset`; else all that lies in the range, cut to it
    };
    Status unmap_dma(ClientEntry& client, const DmaUnmap& unmap);

    // Bytes of memory that the driver itself writes (notifiers). False: outside the object.
    bool write_memory(const MemoryData& memory, u64 offset, std::span<const u8> bytes);
    bool read_memory(const MemoryData& memory, u64 offset, std::span<u8> out);

    // The process has unmapped [address, address + bytes), or (bytes ~0) is gone: pages of its own that it had brought along.
    void process_unmapped(u32 pid, u64 address, u64 bytes);

    // Keeps the pages of a memory object when the object goes, until the matching release. `address` names them.
    void retain_pages(const MemoryData& memory);
    // Once more; precondition: retained.
    void retain_pages(MemoryData::Place place, u64 address) { ++retained_.at(retained_key(place, address)).users; }
    void release_pages(MemoryData::Place place, u64 address);
    // A copy of a range of addresses: it is free again when the last holder goes.
    void share_range(VirtualMemoryData& copy);
    bool retained(MemoryData::Place place, u64 address) const { return retained_.count(retained_key(place, address)) != 0; }
    void visit(sim::StateVisitor& visitor) {
        visitor.field("retained", retained_);
        visitor.field("shared_ranges", shared_ranges_);
        visitor.field("process_pages", process_pages_);
    }

private:
    struct RetainedPages {
        u64 bytes = 0;
        u32 users = 0;
        bool orphaned = false;  // the object is gone
        void visit(sim::StateVisitor& visitor);
    };
    static u64 retained_key(MemoryData::Place place, u64 address) { return address | static_cast<u64>(place); }
    // Space and first page: a reserved range begins at a page of its own, below 2^49.
    static u64 range_key(const VirtualMemoryData& range) { return u64{range.va_space} << 37 | range.base / kPage4K; }
    void free_pages(MemoryData::Place place, u64 address, u64 bytes);
    Status choose_pages(u32 attr, u32 attr2, u64 bytes, bool video, u64* page_bytes);
    Status map_dma_range(VirtualMemoryData& target, const MemoryData& memory, DmaMap& map,
                         VirtualMemoryData::DmaMapping& mapping);
    void remove_mapping(ClientEntry& client, VirtualMemoryData& target, NvHandle target_handle, std::size_t index);
    void cut_mapping(ClientEntry& client, VirtualMemoryData& target, NvHandle target_handle, std::size_t index, u64 from, u64 to);
    void take_down(const VirtualMemoryData& target, const VirtualMemoryData::DmaMapping& mapping);
    void release_cpu_mapping(const MemoryData& memory, const MemoryData::CpuMapping& mapping);

    Context& context_;
    VaSpaces& spaces_;
    bool taken(const VirtualMemoryData& target, u64 va, u64 bytes);
    // Pages that a process brought along and still has mapped: they are retained until it has not.
    struct ProcessPages {
        u32 pid = 0;
        u64 address = 0;  // in the process
        u64 bytes = 0;
        u64 mapped = 0;  // bytes of it that are mapped still
        u64 pages = 0;
        void visit(sim::StateVisitor& visitor);
    };
    std::vector<ProcessPages> process_pages_;
    std::map<u64, u32> shared_ranges_;  // range_key(): holders besides the first
    std::map<u64, RetainedPages> retained_;  // pages are aligned, so the place fits below the address
};

// Flags of RM_ALLOC_MEMORY as the attributes of RM_ALLOC.
u32 attributes_of_os02(u32 flags, u32* attr2);

}  // namespace rm::client
