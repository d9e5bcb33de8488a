// The page walk: a pure function over memory, from a root page directory to the tables of one 2 MiB slot, and from
// those to the leaves of its 512 small pages. Knows no TLB, no permission and no client.
#pragma once

#include <array>
#include <span>

#include "gpu_model/addresses.h"
#include "gpu_model/mem/memory.h"

namespace gpu {

inline constexpr u32 kSlotPages = 512;  // 4 KiB pages of one PDE0 slot

enum class WalkStatus : u8 {
    Tables,       // `big` and / or `small` name tables of PTEs
    Huge,         // `huge_pte` maps the whole slot
    Sparse,       // a sparse marker in a directory: the slot (or more) reads zero and drops writes
    InvalidPde,   // a directory entry names nothing, or is a leaf where this generation has none
    Unreachable,  // a table lies where no memory answers
};

struct SlotWalk {
    WalkStatus status = WalkStatus::InvalidPde;
    u64 huge_pte = 0;
    bool has_big = false;
    bool has_small = false;
    PhysAddr big{};
    PhysAddr small{};
};

// Precondition: va < 2^49.
SlotWalk walk_to_slot(PhysicalMemory& memory, PhysAddr pdb, GpuVa va);

// Leaves of pages [first, first + out.size()) of the slot, in the PTE format with the address of each 4 KiB page filled
// in:
//   VALID = 1      the page is mapped;
//   VOL alone      the page is sparse;
//   0              the page faults.
// Precondition: first + out.size() <= kSlotPages and slot.status is Tables or Huge. False: a table is unreachable.
bool read_slot_leaves(PhysicalMemory& memory, const SlotWalk& slot, u32 first, std::span<u64> out);

inline constexpr u64 kSparseLeaf = 0x8;  // PTE_VOL without PTE_VALID
inline constexpr u64 kNoLeaf = 0;

Aperture leaf_aperture(u64 leaf);
// Byte address of the leaf's page. Precondition: VALID.
u64 leaf_address(u64 leaf);
// The leaf of the 4 KiB page that lies `pages` after this one in the same mapping. Precondition: VALID.
u64 leaf_advance(u64 leaf, u32 pages);

}  // namespace gpu
