// The board's ROM image: generated, in the layout that drivers parse: a PC-AT image with the BIT, an EFI image, and two of NVIDIA's
// own type that hold the falcon ucode table and FWSEC. And PROM, the window of BAR0 through which it is read.
// Source: PCI firmware specification (ROM and PCIR); BIOS-Information-Table of open-gpu-doc; nova-core vbios.rs; open-gpu-kernel-modules
// 570.144, kernel_gsp_fwsec.c. The program bytes, the target id and the version are (model).
#pragma once

#include <string>
#include <vector>

#include "gpu_model/bus/register_unit.h"
#include "gpu_model/chip.h"

namespace gpu {

// FWSEC's place in the ROM and in falcon memory, as its descriptor says (FALCON_UCODE_DESC_V2).
struct FwsecImage {
    u32 descriptor = 0;      // all three: offsets in the ROM
    u32 code = 0;
    u32 data = 0;
    u32 code_bytes = 0;
    u32 data_bytes = 0;
    u32 secure_offset = 0;   // within the code
    u32 secure_bytes = 0;
    u32 entry_point = 0;
    // Within the data: the fields that a driver fills in before it starts FWSEC.
    u32 mapper = 0;
    u32 command_in = 0;
    u32 command_in_bytes = 0;
};

struct Vbios {
    std::vector<u8> rom;
    FwsecImage fwsec;
    std::string version;  // "90.04.5E.00.01"
};

Vbios make_vbios(const ChipSpec& spec);

class Prom final : public RegisterUnit {
public:
    static constexpr u32 kBase = 0x300000;
    static constexpr u32 kBytes = 0x100000;

    explicit Prom(const Vbios& vbios) : vbios_(vbios) {}
    // Beyond the image the flash is erased: all ones.
    u32 read(u32 offset) override;
    void write(u32, u32) override {}  // the flash is write protected
    std::string_view unit_name() const override { return "prom"; }

private:
    const Vbios& vbios_;
};

}  // namespace gpu
