// The board's ROM as the driver reads it: image by image through PROM, then BIT, falcon ucode table, FWSEC's descriptor. Every
// pointer is the ROM's and is checked before it is followed.
// Source: open-gpu-kernel-modules 570.144, kernel_gsp_vbios_tu102.c, kernel_gsp_fwsec.c; PCI firmware specification.
#pragma once

#include <string>
#include <vector>

#include "rm/client/chip_io.h"

namespace rm::client {

inline constexpr u32 kRomWindowBytes = 0x100000;

// FWSEC ready to load; offsets within code and data.
struct FwsecUcode {
    std::vector<u8> code;
    std::vector<u8> data;
    u32 secure_offset = 0;
    u32 secure_bytes = 0;
    u32 entry_point = 0;
    u32 init_command = 0;  // of the DMEM mapper
    u32 command_in = 0;
    u32 command_in_bytes = 0;
};

// Reads up to the image that is marked as the last. Empty: done; else what is wrong, for people.
std::string read_rom(ChipIo& io, std::vector<u8>& rom);
std::string find_fwsec(std::span<const u8> rom, FwsecUcode& out);

}  // namespace rm::client
