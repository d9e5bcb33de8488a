// nvidia-uvm: the second driver. Its files, its ioctls, mappings of its files, and the order in which things go.
// Not in this part: replayable faults, servicing of other faults than by ending their channel, migration of managed
// memory to the GPU, the event trackers of the tools node; each of these is refused and listed by name.
// Source: open-gpu-kernel-modules 570.144, kernel-open/nvidia-uvm.
#pragma once

#include "rm/client/named_view.h"
#include "rm/client/uvm/space.h"

namespace rm::client::uvm {

inline constexpr std::string_view kUvmNode = "/dev/nvidia-uvm";
inline constexpr std::string_view kUvmToolsNode = "/dev/nvidia-uvm-tools";

enum class NodeKind : u8 { Uvm, Tools };
enum class Initialized : u8 { Needed, Free };

class Uvm;
struct UvmCall;

// One row of ioctl_handlers.def.
struct HandlerRow {
    u32 number;
    std::string_view name;
    NodeKind node;
    Initialized initialized;
    std::string_view rung;
    Status (Uvm::*handler)(UvmCall&);
    std::string_view source;
};
std::span<const HandlerRow> handler_rows();

struct UvmCall {
    const Caller& caller;
    FileId file;
    AddressSpace* space;  // nullptr before UVM_INITIALIZE
    std::span<u8> bytes;
    NamedView params;
    const HandlerRow& row;

    std::vector<u8> uuid(std::string_view field = "gpuUuid") const { return params.slice(field); }
};

class Uvm {
public:
    Uvm(const Context& context, VaSpaces& spaces, MemoryUnit& memory, KernelRm& rm);

    void open(FileId file, NodeKind node);
    // The descriptor is gone. What the process still maps keeps its address space, unless `last` says that it has no
    // file left.
    void close(FileId file, u32 pid, bool last);
    i64 ioctl(const Caller& caller, FileId file, u32 number, u64 argument);
    // `file_of` names the caller's file behind a descriptor; 0: none of UVM's.
    Mapping mmap(const Caller& caller, FileId file, u64 address, u64 bytes, u32 prot, u32 flags, u64 offset);
    void munmap(u32 pid, u64 address, u64 bytes);
    // The firmware has queued faults (NV_VGPU_MSG_EVENT_MMU_FAULT_QUEUED). On a fiber.
    void service_faults();
    void visit(sim::StateVisitor& visitor);

    // --- one function per row of ioctl_handlers.def; the result goes into rmStatus
    Status initialize(UvmCall& call);
    Status mm_initialize(UvmCall& call);
    Status pageable_access(UvmCall& call);
    Status pageable_access_on_gpu(UvmCall& call);
    Status register_gpu(UvmCall& call);
    Status unregister_gpu(UvmCall& call);
    Status register_gpu_space(UvmCall& call);
    Status unregister_gpu_space(UvmCall& call);
    Status register_channel(UvmCall& call);
    Status unregister_channel(UvmCall& call);
    Status peer_access(UvmCall& call);
    Status create_external_range(UvmCall& call);
    Status map_external(UvmCall& call);
    Status map_sparse(UvmCall& call);
    Status unmap_external(UvmCall& call);
    Status free_range(UvmCall& call);
    Status map_sked_reflected(UvmCall& call);
    Status alloc_semaphore_pool(UvmCall& call);
    Status validate_range(UvmCall& call);
    Status create_range_group(UvmCall& call);
    Status destroy_range_group(UvmCall& call);
    Status set_range_group(UvmCall& call);
    Status prevent_migration(UvmCall& call);
    Status allow_migration(UvmCall& call);
    Status set_preferred_location(UvmCall& call);
    Status unset_preferred_location(UvmCall& call);
    Status set_accessed_by(UvmCall& call);
    Status unset_accessed_by(UvmCall& call);
    Status enable_duplication(UvmCall& call);
    Status disable_duplication(UvmCall& call);
    Status system_wide_atomics(UvmCall& call);
    Status migrate(UvmCall& call);
    Status migrate_range_group(UvmCall& call);
    Status populate_pageable(UvmCall& call);
    Status alloc_device_p2p(UvmCall& call);
    Status processor_uuids(UvmCall& call);
    Status processor_uuids_v2(UvmCall& call);
    Status no_event_tracker(UvmCall& call);
    Status accept(UvmCall& call);
    Status refuse(UvmCall& call);

private:
    enum class FileType : u8 { Uninitialized, AddressSpace, Mm };
    struct File {
        NodeKind node = NodeKind::Uvm;
        FileType type = FileType::Uninitialized;
        FileId space = 0;  // Mm: the file whose address space it keeps
        void visit(sim::StateVisitor& visitor);
    };
    // What a mapping of RM memory asks of its entries.
    struct MapAttributes {
        u32 mapping = 0;
        u32 caching = 0;
        u32 format = 0;
        u32 element_bits = 0;
        u32 compression = 0;
    };

    void check_loaded(sim::StateVisitor& visitor);
    AddressSpace* find_space(FileId file);
    UserChannel* find_faulting(const gpu::FaultPacket& packet, AddressSpace** space_of);
    bool is_uvm_gpu(const UvmCall& call, std::span<const u8> uuid) const;
    bool has_gpu_space(const UvmCall& call, std::span<const u8> uuid) const;
    static bool mm_enabled(const AddressSpace& space);

    // Ends, in the driver's order.
    void destroy_space(FileId file);
    void shut_down_mm(AddressSpace& space);
    void unregister_gpu(AddressSpace& space);
    void remove_gpu_space(AddressSpace& space);
    void detach_channels(AddressSpace& space);
    void unset_page_directory(AddressSpace& space);
    void destroy_range(AddressSpace& space, u64 base);

    Status map_memory(AddressSpace& space, Range& range, u64 base, u64 bytes, u64 offset, const MemoryData& memory,
                      const MapAttributes& attributes);
    Status map_external_on_gpu(UvmCall& call, Range& range, const MapAttributes& attributes);
    Status unmap_in_range(AddressSpace& space, Range& range, u64 base, u64 last);
    void destroy_map(AddressSpace& space, Range& range, u64 base);
    Status map_pool(AddressSpace& space, u64 base, Range& range);

    Status create_managed(AddressSpace& space, u32 pid, u64 base, u64 bytes);
    void unmap_cpu(AddressSpace& space, u64 base, u64 last);
    void release_block(AddressSpace& space, Range& range);
    Status change_policy(UvmCall& call, void (*change)(Policy&, Processor), Processor processor, std::string_view base);
    Status find_processor(const UvmCall& call, std::string_view field, u64 base, u64 bytes, Processor* processor);
    Status set_migration(UvmCall& call, bool allow);
    Status uuid_table(UvmCall& call, u32 count);

    const Context& context_;
    MemoryUnit& memory_;
    Gpu gpu_;
    std::map<FileId, File> files_;
    std::map<FileId, AddressSpace> spaces_;
};

// A range from a process, as the driver checks it: neither 0 nor unaligned nor wrapping.
inline bool range_invalid(u64 base, u64 bytes, u64 alignment = kPage4K) {
    return base % alignment != 0 || bytes % alignment != 0 || base == 0 || bytes == 0 || base + bytes < base;
}
// Whether GPU and processor can both form the addresses: the canonical halves of a 48-bit space.
inline bool gpu_can_address(u64 base, u64 bytes) {
    constexpr u64 kHalf = u64{1} << 47;
    return base + bytes - 1 < kHalf || base >= ~u64{0} - kHalf + 1;
}
// Where the page tables have an address: without the bits that extend its sign.
inline u64 table_va(u64 address) {
    return address & (kVaLimit - 1);
}

}  // namespace rm::client::uvm
