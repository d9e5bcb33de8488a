// One tree of version-2 page tables in video memory: which tables exist, and what is written into them.
// Formats: NV_MMU_VER2_PDE, NV_MMU_VER2_DUAL_PDE, NV_MMU_VER2_PTE (open-gpu-doc dev_mmu, TU104). The tree never
// overwrites a valid leaf: whoever hands out virtual addresses owns that rule.
#pragma once

#include <map>
#include <optional>

#include "gpu_model/addresses.h"
#include "rm/client/page_table_format.h"
#include "sim/bits.h"
#include "sim/state_visitor.h"

namespace rm::client {

using namespace sim;

inline constexpr u64 kPage4K = 0x1000;
inline constexpr u64 kPage64K = 0x10000;
inline constexpr u64 kPage2M = 0x200000;
inline constexpr u64 kVaLimit = u64{1} << 49;

// Where tables live and how they are reached.
class TableStore {
public:
    // A zeroed 4 KiB page of video memory; empty when there is none.
    virtual std::optional<gpu::FbPa> alloc_table() = 0;
    virtual void free_table(gpu::FbPa table) = 0;
    // Empty: the bus answers with all ones, which is no entry that anybody wrote.
    virtual std::optional<u64> read_entry(gpu::FbPa address) = 0;
    virtual void write_entry(gpu::FbPa address, u64 value) = 0;

protected:
    ~TableStore() = default;
};

struct LeafAttributes {
    bool read_only = false;
    bool privileged = false;
    bool atomic_disable = false;
    u8 kind = 0;  // NV_MMU_PTE_KIND_*
};

// 64-bit words of entries.
u64 pde_to(gpu::FbPa table);
u64 dual_pde_big(gpu::FbPa table);
u64 dual_pde_small(gpu::FbPa table);
u64 pte_to(gpu::PhysAddr page, const LeafAttributes& attributes);

class PageTables {
public:
    explicit PageTables(TableStore& store) : store_(&store) {}

    // False: no memory for the root.
    bool create_root();
    // Continues a tree that somebody else began; its tables are entered as they are met and never freed.
    void adopt_root(gpu::FbPa root);
    gpu::FbPa root() const { return root_; }

    // Preconditions: va, target and bytes are multiples of page_bytes, nothing is mapped there, page_bytes is 4K, 64K
    // or 2M. False: no memory for a table, or an entry cannot be read; nothing stays mapped.
    bool map(gpu::GpuVa va, u64 bytes, u64 page_bytes, gpu::PhysAddr target, const LeafAttributes& attributes);
    // Precondition: mapped by map() with the same page size.
    void unmap(gpu::GpuVa va, u64 bytes, u64 page_bytes);
    // Frees every table of a tree made by create_root().
    void destroy();

    u64 table_count() const { return nodes_.size(); }
    void visit(sim::StateVisitor& visitor);

private:
    struct Node {
        u64 address = 0;
        u64 used = 0;     // entries that are valid, as far as this tree wrote them
        u64 adopted = 0;  // somebody else's
        void visit(sim::StateVisitor& visitor);
    };
    Node* find(MmuLevel level, u64 va);
    Node* open(MmuLevel level, u64 va);
    void release(MmuLevel level, u64 va);
    // False: the bus does not answer. `child` is empty when there is none.
    bool find_child(const Node& parent, MmuLevel parent_level, MmuLevel level, u64 va, std::optional<gpu::FbPa>& child);
    void link(Node& parent, MmuLevel level, u64 va, u64 table);
    void unlink(Node& parent, MmuLevel level, u64 va);
    static MmuLevel leaf_level(u64 page_bytes);

    TableStore* store_;
    gpu::FbPa root_;
    std::map<u64, Node> nodes_;
};

}  // namespace rm::client
