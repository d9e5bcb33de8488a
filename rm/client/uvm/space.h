// One UVM address space: what a /dev/nvidia-uvm file is after UVM_INITIALIZE. Plain state: ranges of the process's
// addresses, the GPU's page tables for them, registered channels, range groups. uvm.h acts on it.
// Source: open-gpu-kernel-modules 570.144, nvidia-uvm (uvm_va_space.h, uvm_va_range.h, uvm_range_group.h).
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "rm/client/uvm/gpu.h"

namespace rm::client::uvm {

// A mapping of one RM memory object, or of nothing (sparse), inside an external range.
struct ExternalMap {
    u64 last = 0;
    u64 page_bytes = kPage4K;
    bool sparse = false;
    MemoryData::Place place = MemoryData::Place::System;
    u64 memory = 0;  // the memory object's first page: what is retained
    void visit(sim::StateVisitor& visitor);
};

enum class Processor : u8 { None, Cpu, Gpu };
enum class ReadDuplication : u8 { Unset, Enabled, Disabled };

struct Policy {
    Processor preferred = Processor::None;
    bool accessed_by_cpu = false;
    bool accessed_by_gpu = false;
    ReadDuplication read_duplication = ReadDuplication::Unset;
    friend bool operator==(const Policy&, const Policy&) = default;
    void visit(sim::StateVisitor& visitor);
};

enum class RangeType : u8 { External, Managed, SemaphorePool, SkedReflected };

struct Range {
    RangeType type = RangeType::External;
    u64 last = 0;
    std::map<u64, ExternalMap> maps;  // External: by first address
    Policy policy;                    // Managed
    u64 block = 0;                    // Managed, SemaphorePool: the block of system memory, and where in it the range begins
    u64 block_offset = 0;
    bool on_cpu = false;              // the process has it mapped
    u32 cpu_pid = 0;
    bool on_gpu = false;              // SemaphorePool, SkedReflected: entries are written
    u64 page_bytes = kPage4K;         // of these entries
    u64 pte_flags = 0;                // SemaphorePool: protection and volatility bits of its entries
    void visit(sim::StateVisitor& visitor);
};

struct MemoryBlock {
    u64 bytes = 0;
    u32 users = 0;  // ranges
    void visit(sim::StateVisitor& visitor);
};

struct UserChannel {
    NvHandle client = 0;
    NvHandle channel = 0;
    u32 chid = 0;
    void visit(sim::StateVisitor& visitor);
};

// Addresses that belong to a range group.
struct GroupRange {
    u64 last = 0;
    u64 group = 0;
    bool migrated = true;  // not looked at since it was assigned
    void visit(sim::StateVisitor& visitor);
};

enum class MmState : u8 { Uninitialized, Alive, Released };

inline constexpr std::size_t kRangesMax = 0x10000;      // (model) bounds what one file can make us keep
inline constexpr u64 kSemaphorePoolMax = u64{1} << 30;  // (model)

class AddressSpace {
public:
    AddressSpace(u64 initialization_flags, u32 creator, PageTree page_tree)
        : flags(initialization_flags), pid(creator), tree(page_tree) {}

    u64 flags = 0;
    u32 pid = 0;
    MmState mm = MmState::Uninitialized;
    bool closed = false;  // the descriptor is gone, mappings keep the rest
    bool disallow_new_registers = false;

    bool gpu_registered = false;
    bool gpu_space_registered = false;
    NvHandle duped_space = 0;
    u32 rm_space = 0;  // the number of RM's address space
    PageTree tree;

    std::vector<UserChannel> channels;
    std::map<u64, Range> ranges;  // by first address
    std::map<u64, MemoryBlock> blocks;
    std::map<u64, bool> groups;  // id -> migration is allowed
    std::map<u64, GroupRange> group_ranges;
    u64 last_group = 0;

    // The range that holds the address; nullptr: none.
    Range* find(u64 address);
    // The range's first address too.
    std::map<u64, Range>::iterator find_at(u64 address);
    bool is_free(u64 base, u64 last) const;
    // NV_OK, or why no new range can be there.
    Status check_new(u64 base, u64 last) const;
    // Whether ranges of managed memory cover [base, last] without a gap and nothing else is there.
    bool is_managed(u64 base, u64 last);
    UserChannel* find_channel(NvHandle client, NvHandle channel);
    bool any_on_cpu() const;
    // Ranges of managed memory are cut so that one begins at `address` where its policy will differ.
    void split(u64 address);
    void assign_group(u64 base, u64 last, u64 group);  // 0: none
    bool migratable(u64 base, u64 last) const;
    // Why a loaded space does not hang together; empty: it does.
    std::string_view wrong() const;
    void visit(sim::StateVisitor& visitor);
};

}  // namespace rm::client::uvm
