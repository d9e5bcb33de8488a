// Cached leaf translations, per TLB (hub or GPC), address space root and 2 MiB slot. A leaf stays as it was read, right
// or stale, until it is invalidated or evicted. Faulting pages are never cached. Source: capacity from measured
// coverage (8 GiB); entry shape and replacement are not published (model).
#pragma once

#include <array>
#include <map>
#include <vector>

#include "gpu_model/addresses.h"
#include "gpu_model/mem/page_table.h"
#include "sim/state_visitor.h"

namespace gpu {

class Tlb {
public:
    static constexpr u32 kBlocksMax = 4096;

    struct Key {
        bool gpc = false;
        PhysAddr pdb;
        u64 slot = 0;  // va / 2 MiB
        friend auto operator<=>(const Key&, const Key&) = default;
        void visit(sim::StateVisitor& visitor);
    };
    struct Block {
        u64 uniform = kNoLeaf;   // leaf of page 0 when one entry covers the whole slot
        std::vector<u64> pages;  // else one leaf per page; kNoLeaf: not cached
        u64 sequence = 0;        // order of insertion: the oldest is evicted first

        u64 leaf(u32 page) const {
            if (uniform == kSparseLeaf) return kSparseLeaf;
            if (uniform != kNoLeaf) return leaf_advance(uniform, page);
            return pages.empty() ? kNoLeaf : pages[page];
        }
        void visit(sim::StateVisitor& visitor);
    };

    // nullptr: nothing of that slot is cached.
    Block* find(const Key& key);
    // The block of the slot, made when there is none (evicting the oldest when full).
    Block& obtain(const Key& key);

    void clear();
    // Drops every leaf that overlaps [va, va + bytes); 64 KiB neighbours may go too, as entries are that large.
    void drop_range(bool hub_only, bool all_pdb, PhysAddr pdb, GpuVa va, u64 bytes);
    void drop_space(bool hub_only, bool all_pdb, PhysAddr pdb);
    // Evicts the n-th cached block in key order. Precondition: n < block_count().
    void evict(u32 n);
    u32 block_count() const { return static_cast<u32>(blocks_.size()); }

    void visit(sim::StateVisitor& visitor);

private:
    void erase(std::map<Key, Block>::iterator block);
    void forget_recent() { recent_ = {}; }

    struct Recent {
        Key key;
        Block* block = nullptr;
    };
    std::map<Key, Block> blocks_;
    std::map<u64, Key> age_;  // sequence -> key
    u64 next_sequence_ = 0;
    std::array<Recent, 64> recent_{};  // speed only, never state: the last blocks found, by slot number
};

}  // namespace gpu
