// The page tables of one GPU address space that UVM owns: tables in video memory, every entry written by UVM's copy
// engine channel, every change followed by a TLB invalidate of that channel. Order of writes, membars and invalidates:
// open-gpu-kernel-modules 570.144, nvidia-uvm/uvm_mmu.c, uvm_map_external.c (copy_ptes), uvm_pte_batch.c.
#pragma once

#include <map>

#include "rm/client/uvm/ce_channel.h"

namespace rm::client::uvm {

inline constexpr u64 kSparsePte = PTE_VOL::make<u64>(1);
inline constexpr u64 kSkedReflectedPte = PTE_VALID::make<u64>(1) | PTE_KIND::make<u64>(0x0F);  // SMSKED_MESSAGE

inline constexpr u64 kTablesPerMapMax = 0x8000;  // (model) bounds one mapping: 64 GiB in small pages

class PageTree {
public:
    PageTree(Adapter& adapter, CeChannel& channel) : adapter_(&adapter), channel_(&channel) {}

    Status create();
    // Frees every table. Nobody uses the tree any more.
    void destroy();
    bool exists() const { return !nodes_.empty(); }
    gpu::FbPa root() const { return {root_}; }

    // Entries first_pte, first_pte + step, ... Preconditions: aligned to page_bytes (4K, 64K, 2M), inside the address
    // space, nothing is mapped there. On failure nothing stays mapped.
    Status map(u64 va, u64 bytes, u64 page_bytes, u64 first_pte, u64 step);
    // Precondition: mapped by map() with the same page size.
    Status unmap(u64 va, u64 bytes, u64 page_bytes, Membar after);

    u64 table_count() const { return nodes_.size(); }
    struct Span {
        u64 va = 0;
        u64 bytes = 0;
        u64 page_bytes = kPage4K;
    };
    // Whether exactly the tables for these mappings exist: what a loaded state must satisfy.
    bool holds_exactly(std::span<const Span> spans) const;
    void visit(sim::StateVisitor& visitor);

private:
    struct Node {
        u64 address = 0;
        u64 used = 0;  // valid entries
        void visit(sim::StateVisitor& visitor);
    };
    struct Place {  // the entries of one leaf table
        MmuLevel level = kPte4K;
        u64 va = 0;
        u64 count = 0;
        u64 entry_bytes() const { return kMmuLevels[level].entry_bytes; }
    };
    static MmuLevel leaf_level(u64 page_bytes);
    // Calls `visit` for the part of the range in each leaf table, in order, while it answers NV_OK.
    template <typename Visit>
    static Status each_table(u64 va, u64 bytes, u64 page_bytes, Visit visit);

    Node* find(MmuLevel level, u64 va);
    u64 entry_address(MmuLevel level, u64 va);
    Status get(const Place& place);
    Status put(const Place& place);
    void write_pde(Push& push, MmuLevel child, u64 va);
    Status write(const Place& place, u64 first_pte, u64 step, bool last, u64 base, u64 bytes);
    Status clear(u64 va, u64 bytes, u64 page_bytes, Membar after);

    Adapter* adapter_;
    CeChannel* channel_;
    u64 root_ = 0;
    std::map<u64, Node> nodes_;  // by mmu_table_key
};

}  // namespace rm::client::uvm
