// See page_table.h. Rules of "nothing here" follow the manual's encodings table; three traps:
//   the 64 KiB half of PDE0 has its address at bit 4 with shift 8, the 4 KiB half at bit 8 with shift 12;
//   an invalid 64 KiB PTE sends the walk to the 4 KiB table only when its PRIVILEGE bit is clear;
//   PDE and PTE number their apertures differently.
#include "gpu_model/mem/page_table.h"

#include <bit>
#include <cstring>

#include "gpu_model/mem/mmu_format.h"

namespace gpu {

namespace {

using namespace mmu_format;

constexpr u32 kPagesPerBig = static_cast<u32>(kBigPageBytes / kSmallPageBytes);
constexpr u32 kBigPerSlot = kSlotPages / kPagesPerBig;

u64 load_le64(const u8* bytes) {
    u64 value = 0;
    for (unsigned i = 0; i < 8; ++i) value |= u64{bytes[i]} << (8 * i);
    return value;
}

bool read_entries(PhysicalMemory& memory, PhysAddr table, u64 first, std::span<u64> out) {
    std::array<u8, kSlotPages * kPteBytes> bytes;
    std::span<u8> raw(bytes.data(), out.size() * kPteBytes);
    if (!memory.read(table + first * kPteBytes, raw)) return false;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = load_le64(&bytes[i * kPteBytes]);
    return true;
}

u64 pde_address(u64 pde, Aperture aperture) {
    u64 page = aperture == Aperture::Vid ? PDE_ADDRESS_VID::get(pde) : PDE_ADDRESS_SYS::get(pde);
    return page << kPdeAddressShift;
}

u64 pde0_big_address(u64 pde, Aperture aperture) {
    u64 unit = aperture == Aperture::Vid ? PDE0_ADDRESS_BIG_VID::get(pde) : PDE0_ADDRESS_BIG_SYS::get(pde);
    return unit << kPde0BigAddressShift;
}

// A leaf whose address bits below the page size are cleared. (model): hardware's treatment of such bits is not
// published.
u64 aligned_leaf(u64 pte, u64 page_bytes) {
    u64 low = (page_bytes >> kPteAddressShift) - 1;
    return pte & ~PTE_ADDRESS_SYS::make<u64>(low);
}

SlotWalk decode_pde0(u64 low, u64 high) {
    SlotWalk slot;
    if (PDE0_IS_PTE::get(low) != 0) {
        slot.status = WalkStatus::Huge;
        slot.huge_pte = aligned_leaf(low, kHugePageBytes);
        return slot;
    }
    if (auto aperture = pde_aperture(PDE0_APERTURE_BIG::get(low))) {
        slot.has_big = true;
        slot.big = {*aperture, pde0_big_address(low, *aperture)};
    }
    if (auto aperture = pde_aperture(PDE_APERTURE::get(high))) {
        slot.has_small = true;
        slot.small = {*aperture, pde_address(high, *aperture)};
    }
    if (slot.has_big || slot.has_small) slot.status = WalkStatus::Tables;
    else if (PDE0_VOL_BIG::get(low) != 0) slot.status = WalkStatus::Sparse;
    return slot;
}

// What one PTE says: mapped, sparse, or nothing.
u64 normalised(u64 pte) {
    if (PTE_VALID::get(pte) != 0) return pte;
    return PTE_VOL::get(pte) != 0 ? kSparseLeaf : kNoLeaf;
}

}  // namespace

SlotWalk walk_to_slot(PhysicalMemory& memory, PhysAddr pdb, GpuVa va) {
    PhysAddr table = pdb;
    const u64 indices[] = {PDE3_INDEX::get(va.value), PDE2_INDEX::get(va.value), PDE1_INDEX::get(va.value)};
    for (u64 index : indices) {
        u64 pde = 0;
        if (!read_entries(memory, table, index, {&pde, 1})) return {.status = WalkStatus::Unreachable};
        if (PDE_IS_PTE::get(pde) != 0)
            return {.status = WalkStatus::InvalidPde};  // (model): leaves this large came later
        auto aperture = pde_aperture(PDE_APERTURE::get(pde));
        if (!aperture) return {.status = PDE_VOL::get(pde) != 0 ? WalkStatus::Sparse : WalkStatus::InvalidPde};
        table = {*aperture, pde_address(pde, *aperture)};
    }
    u64 entry[2] = {};
    if (!read_entries(memory, table, PDE0_INDEX::get(va.value) * 2, entry)) return {.status = WalkStatus::Unreachable};
    return decode_pde0(entry[0], entry[1]);
}

bool read_slot_leaves(PhysicalMemory& memory, const SlotWalk& slot, u32 first, std::span<u64> out) {
    u32 count = static_cast<u32>(out.size());
    if (slot.status == WalkStatus::Huge) {
        u64 leaf = normalised(slot.huge_pte);
        for (u32 i = 0; i < count; ++i) out[i] = PTE_VALID::get(leaf) != 0 ? leaf_advance(leaf, first + i) : leaf;
        return true;
    }
    std::array<u64, kSlotPages> small{};
    std::array<u64, kBigPerSlot> big{};
    u32 big_first = first / kPagesPerBig;
    if (slot.has_big) {
        u32 big_count = (first + count - 1) / kPagesPerBig - big_first + 1;
        if (!read_entries(memory, slot.big, big_first, {big.data(), big_count})) return false;
    }
    bool small_read = false;
    for (u32 i = 0; i < count; ++i) {
        u32 page = first + i;
        u64 pte = slot.has_big ? big[page / kPagesPerBig - big_first] : 0;
        u64 leaf = normalised(pte);
        bool look_small = leaf == kNoLeaf && slot.has_small && PTE_PRIVILEGE::get(pte) == 0;
        if (look_small) {
            if (!small_read && !read_entries(memory, slot.small, first, {small.data(), count})) return false;
            small_read = true;
            out[i] = normalised(small[i]);
        } else {
            out[i] =
                PTE_VALID::get(leaf) != 0 ? leaf_advance(aligned_leaf(leaf, kBigPageBytes), page % kPagesPerBig) : leaf;
        }
    }
    return true;
}

Aperture leaf_aperture(u64 leaf) { return static_cast<Aperture>(PTE_APERTURE::get(leaf)); }

u64 leaf_address(u64 leaf) {
    bool local = leaf_aperture(leaf) == Aperture::Vid || leaf_aperture(leaf) == Aperture::Peer;
    return (local ? PTE_ADDRESS_VID::get(leaf) : PTE_ADDRESS_SYS::get(leaf)) << kPteAddressShift;
}

u64 leaf_advance(u64 leaf, u32 pages) { return PTE_ADDRESS_SYS::set(leaf, PTE_ADDRESS_SYS::get(leaf) + pages); }

}  // namespace gpu
