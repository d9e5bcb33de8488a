// The version-2 page table formats of the GMMU and the MMU words of an instance block.
// Source: dev_mmu, dev_ram manuals of TU104 (NV_MMU_VER2_*, NV_RAMIN_*).
#pragma once

#include <optional>

#include "gpu_model/addresses.h"
#include "sim/bits.h"

namespace gpu::mmu_format {

inline constexpr unsigned kVaBits = 49;
inline constexpr u64 kVaLimit = u64{1} << kVaBits;
inline constexpr u64 kSmallPageBytes = u64{4} << 10;
inline constexpr u64 kBigPageBytes = u64{64} << 10;
inline constexpr u64 kHugePageBytes = u64{2} << 20;  // a leaf in PDE0, and what one PDE0 slot covers
inline constexpr unsigned kPageShift = 12;
inline constexpr unsigned kHugeShift = 21;

// Directory levels by the VA bits that index them.
using PDE3_INDEX = sim::Field<48, 47>;
using PDE2_INDEX = sim::Field<46, 38>;
using PDE1_INDEX = sim::Field<37, 29>;
using PDE0_INDEX = sim::Field<28, 21>;
using PTE_64K_INDEX = sim::Field<20, 16>;
using PTE_4K_INDEX = sim::Field<20, 12>;
inline constexpr u64 kPdeBytes = 8;
inline constexpr u64 kPde0Bytes = 16;
inline constexpr u64 kPteBytes = 8;

// PDE of levels 3 to 1.
using PDE_IS_PTE = sim::Field<0, 0>;
using PDE_APERTURE = sim::Field<2, 1>;
using PDE_VOL = sim::Field<3, 3>;
using PDE_ADDRESS_SYS = sim::Field<53, 8>;
using PDE_ADDRESS_VID = sim::Field<32, 8>;
inline constexpr unsigned kPdeAddressShift = 12;

// PDE0, low quadword (64 KiB table; or a 2 MiB PTE when IS_PTE) and high quadword (4 KiB table, laid out as a PDE).
using PDE0_IS_PTE = sim::Field<0, 0>;
using PDE0_APERTURE_BIG = sim::Field<2, 1>;
using PDE0_VOL_BIG = sim::Field<3, 3>;
using PDE0_ADDRESS_BIG_SYS = sim::Field<53, 4>;
using PDE0_ADDRESS_BIG_VID = sim::Field<32, 4>;
inline constexpr unsigned kPde0BigAddressShift = 8;

enum class PdeAperture : u8 { Invalid = 0, Vid = 1, SysCoh = 2, SysNonCoh = 3 };

// PTE of every page size.
using PTE_VALID = sim::Field<0, 0>;
using PTE_APERTURE = sim::Field<2, 1>;
using PTE_VOL = sim::Field<3, 3>;
using PTE_PRIVILEGE = sim::Field<5, 5>;
using PTE_READ_ONLY = sim::Field<6, 6>;
using PTE_ATOMIC_DISABLE = sim::Field<7, 7>;
using PTE_ADDRESS_SYS = sim::Field<53, 8>;
using PTE_ADDRESS_VID = sim::Field<32, 8>;
using PTE_KIND = sim::Field<63, 56>;
inline constexpr unsigned kPteAddressShift = 12;

enum class Kind : u8 { Pitch = 0x00, Generic = 0x06, Invalid = 0x07, LastMemory = 0x0E, SmskedMessage = 0x0F };

// Instance block, byte offsets from its start.
inline constexpr u64 kInstanceBytes = 4096;
inline constexpr u64 kPageDirBaseOffset = 0x200;
inline constexpr u64 kSubcontextValidOffset = 0x298;
inline constexpr u64 kSubcontextBaseOffset = 0x2A0;
inline constexpr u64 kSubcontextStride = 16;
inline constexpr u32 kSubcontexts = 64;
using PAGE_DIR_BASE_TARGET = sim::Field<1, 0>;
using PAGE_DIR_FAULT_REPLAY_TEX = sim::Field<4, 4>;
using PAGE_DIR_FAULT_REPLAY_GCC = sim::Field<5, 5>;
using PAGE_DIR_USE_VER2_PT_FORMAT = sim::Field<10, 10>;
using PAGE_DIR_BIG_PAGE_SIZE = sim::Field<11, 11>;  // 1: 64 KiB
using PAGE_DIR_BASE_LO = sim::Field<31, 12>;  // of the quadword: bits 31:12 are the address bits of the same number
using PAGE_DIR_BASE_HI = sim::Field<63, 32>;

// Targets of instance block pointers and PDBs: 1 names nothing.
constexpr std::optional<Aperture> target_aperture(u64 target) {
    switch (target & 3) {
        case 0: return Aperture::Vid;
        case 2: return Aperture::SysCoh;
        case 3: return Aperture::SysNonCoh;
        default: return std::nullopt;
    }
}

constexpr std::optional<Aperture> pde_aperture(u64 code) {
    switch (static_cast<PdeAperture>(code & 3)) {
        case PdeAperture::Vid: return Aperture::Vid;
        case PdeAperture::SysCoh: return Aperture::SysCoh;
        case PdeAperture::SysNonCoh: return Aperture::SysNonCoh;
        case PdeAperture::Invalid: return std::nullopt;
    }
    return std::nullopt;
}

}  // namespace gpu::mmu_format
