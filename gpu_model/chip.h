// What one board is: immutable numbers of a chip profile. Profiles are rows in chip_profiles.def.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "gpu_model/addresses.h"

namespace gpu {

enum class EngineKind : u8 { Graphics, Ce, Nvdec, Nvenc, Sec2, Nvjpg };

inline constexpr u32 kNoVector = ~u32{0};  // an engine whose interrupt wire is not published

// One engine of the topology: PTOP, the firmware's device-info table, class lists and the host engine all read this row.
struct EngineRow {
    EngineKind kind;
    u32 instance;         // LCE number etc.
    u32 engine_id;        // host engine number (PTOP ENGINE_ENUM)
    u32 runlist_id;
    u32 pbdma_mask;
    u32 fault_id;         // mmu engine id
    u32 reset_id;         // PMC_ENABLE bit
    u32 intr_stall_vector;     // kNoVector: unknown
    u32 intr_nonstall_vector;  // kNoVector: unknown
    u32 pri_base;
    bool on_gr_runlist;   // GRCE
    u32 class_id;         // what channels bind on it; 0: no class that clients know
    friend bool operator==(const EngineRow&, const EngineRow&) = default;
};

struct ChipSpec {
    std::string_view name;          // "t4"
    std::string_view marketing;     // "Tesla T4"
    u16 pci_device_id;
    u16 subsystem_vendor;
    u16 subsystem_id;
    u32 pci_class;                  // 24 bits
    u64 vram_bytes;                 // what software can use: with in-band ECC 15/16 of what is soldered on
    bool ecc;
    u64 bar1_bytes;
    u32 boot0;                      // NV_PMC_BOOT_0
    u32 boot42;
    u32 gpc_count;                  // present on this board; the chip's own maximum is in NV_PTOP_SCAL_*
    u32 tpc_count;
    u32 sm_count;
    u32 fbpa_count;
    bool display;
    std::vector<EngineRow> engines;
    // False: work takes no time to speak of, and memory ends up the same, except where a value is a time. The parameters
    // live in gpu_model/time/timing_params.h.
    bool timing = true;
};

// NV_PCI_VENDOR_ID of every board.
inline constexpr u16 kPciVendorNvidia = 0x10DE;
inline constexpr u64 kBar0Bytes = u64{16} << 20;
inline constexpr u64 kBar3Bytes = u64{32} << 20;

// nullptr: no such profile. Names: t4, rtx2080, rtx5000.
const ChipSpec* find_chip(std::string_view name);
std::vector<std::string_view> chip_names();

}  // namespace gpu
