// The version-2 page tables as data: which address bits index each level, and the fields of their entries.
// Source: open-gpu-doc dev_mmu (TU104), NV_MMU_VER2_PDE, NV_MMU_VER2_DUAL_PDE, NV_MMU_VER2_PTE.
#pragma once

#include "sim/bits.h"

namespace rm::client {

using namespace sim;

enum MmuLevel : u32 { kPde3, kPde2, kPde1, kPde0, kPte64K, kPte4K };

struct MmuLevelRow {
    unsigned high;  // address bits that index the table
    unsigned low;
    u64 entry_bytes;
};
inline constexpr MmuLevelRow kMmuLevels[] = {{48, 47, 8}, {46, 38, 8}, {37, 29, 8}, {28, 21, 16}, {20, 16, 8}, {20, 12, 8}};

constexpr u64 mmu_entry_offset(u32 level, u64 va) {
    const MmuLevelRow& row = kMmuLevels[level];
    return extract_bits(va, row.high, row.low) * row.entry_bytes;
}
// The level whose entries point to tables of `level`. Precondition: not the root.
constexpr MmuLevel mmu_parent(MmuLevel level) {
    return level == kPte4K || level == kPte64K ? kPde0 : static_cast<MmuLevel>(level - 1);
}
// Names a table by its level and the first address that it covers; a table covers at least 2 MiB, so the low bits are
// free.
constexpr u64 mmu_table_key(MmuLevel level, u64 va) {
    if (level == kPde3) return level;
    unsigned covered = kMmuLevels[level].high + 1;
    return (va >> covered << covered) | level;
}

using IS_PTE = Field<0, 0>;
using PDE_APERTURE = Field<2, 1>;
using PDE_VOL = Field<3, 3>;
using PDE_ADDRESS = Field<53, 8>;       // table PA >> 12
using PDE0_ADDRESS_BIG = Field<53, 4>;  // 64K table PA >> 8
using PTE_VALID = Field<0, 0>;
using PTE_APERTURE = Field<2, 1>;
using PTE_VOL = Field<3, 3>;  // of an invalid entry: sparse
using PTE_PRIVILEGE = Field<5, 5>;
using PTE_READ_ONLY = Field<6, 6>;
using PTE_ATOMIC_DISABLE = Field<7, 7>;
using PTE_ADDRESS = Field<53, 8>;  // page PA >> 12
using PTE_KIND = Field<63, 56>;
inline constexpr u64 kPdeApertureVideo = 1;

}  // namespace rm::client
