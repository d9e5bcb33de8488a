// The firmware that the driver brings along: generic falcon loader, Booter for load and unload, the GSP's boot binary, and the ELF
// with the resource manager's other half. NVIDIA's files may not be shipped here; these have their outer layout and stand for them,
// signed as this chip accepts (gpu_model/signed_image.h). Their programs are filler that nobody executes (model).
// Source: open-gpu-kernel-modules 570.144: kernel_gsp.c (sections of the ELF, RM_RISCV_UCODE_DESC), kernel_gsp_booter.c.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rm/versions.h"

namespace rm::client {

struct FalconImage {
    std::vector<u8> code;
    std::vector<u8> data;
    u32 secure_offset = 0;  // within the code; what is behind is secure
};

struct BootBinary {
    std::vector<u8> bytes;
    // The fields of RM_RISCV_UCODE_DESC that boot uses.
    u32 code_offset = 0;
    u32 data_offset = 0;
    u32 manifest_offset = 0;
    u32 app_version = 0;
};

struct FirmwareFiles {
    std::vector<u8> falcon_loader;
    FalconImage booter_load;
    FalconImage booter_unload;
    BootBinary boot_binary;
    std::vector<u8> gsp_elf;
};

// `image_bytes`: of .fwimage, rounded up to pages. A real one has 26 MiB; each page costs every boot two copies.
FirmwareFiles make_firmware_files(const DriverVersion& version, u32 image_bytes = 0x10000);

// A section of an ELF, by name; every offset of the file is checked. Empty text: found.
std::string find_elf_section(std::span<const u8> elf, std::string_view name, std::span<const u8>& out);

}  // namespace rm::client
