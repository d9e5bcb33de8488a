// What the programs of the boot chain do when a driver starts them: the generic falcon loader with FWSEC on the GSP, Booter on SEC2.
// No instruction is executed; every byte that the real chain would consume is checked, and the first one that is wrong stops the
// program with a code (boot_errors.def) and an explanation in the journal.
// Source: open-gpu-kernel-modules 570.144, kernel_gsp_fwsec.c, kernel_gsp_booter_tu102.c, kernel_gsp_tu102.c; nova-core fwsec.rs,
// gsp/boot.rs. (model): the programs take no time.
#pragma once

#include <optional>
#include <string>

#include "gpu_model/bus/bar0.h"
#include "gpu_model/falcon/falcon.h"
#include "gpu_model/falcon/vbios.h"
#include "gpu_model/mem/memory.h"
#include "gpu_model/mem/mmu_regs.h"

namespace gpu {

struct SrMeta;

enum class BootError : u32 {
#define BOOT_ERROR(code, name) name = code,
#include "gpu_model/falcon/boot_errors.def"
#undef BOOT_ERROR
};
std::string_view boot_error_name(BootError error);

struct BootFailure {
    BootError error;
    std::string text;  // which field, what it is, what it must be
};

class BootPrograms {
public:
    BootPrograms(sim::Kernel& kernel, Bar0& bar0, PhysicalMemory& memory, MmuRegs& mmu_regs, const Vbios& vbios)
        : kernel_(kernel), bar0_(bar0), memory_(memory), mmu_regs_(mmu_regs), vbios_(vbios) {}

    // The GSP falcon was started with a program in its memory.
    void run_fwsec(Falcon& gsp);
    // SEC2 was started. True: the firmware is in place, and the GSP's RISC-V core starts.
    bool run_booter(Falcon& sec2, const Falcon& gsp);

private:
    using Result = std::optional<BootFailure>;
    struct Region {
        u64 start = 0;
        u64 end = 0;
        bool up() const { return end != 0; }
    };

    // fwsec.cpp
    Result load_by_loader(Falcon& gsp);
    Result check_loader(const Falcon& gsp);
    Result check_fwsec(const Falcon& gsp);
    Result command(const Falcon& gsp);
    Result frts(std::span<const u8> input);

    // booter.cpp
    enum class Program : u8 { Load, Unload };
    Result identify(const Falcon& sec2, Program& program, bool& own);
    Result load(u64 meta_address, const Falcon& gsp, bool own);
    Result unload(u64 request, const Falcon& gsp);
    Result check_meta(std::span<const u8> meta);
    // Addresses of the image's pages.
    Result walk_radix3(u64 root, u64 bytes, std::vector<u64>& pages);
    Result read_radix3(u64 root, u64 bytes, std::vector<u8>& image);
    // `own`: Booter is one that this model signed, and takes only images signed likewise.
    Result place_firmware(std::span<const u8> meta, bool own);
    void foreign(std::string_view what);
    // What CORE_RESUME polls: the GSP's core was handed over to the firmware.
    void set_handoff(bool done);

    // booter_suspend.cpp
    Result check_sr(const SrMeta& meta);
    Result suspend(u64 meta_address);
    Result resume(std::span<const u8> meta, const Falcon& gsp);
    Result reload(const Falcon& gsp);

    Region wpr2();
    u32 reg(u32 offset) { return static_cast<u32>(bar0_.read(offset, sizeof(u32))); }
    bool dma_read(u64 address, std::span<u8> out) { return memory_.read({Aperture::SysCoh, address}, out); }

    sim::Kernel& kernel_;
    Bar0& bar0_;
    PhysicalMemory& memory_;
    MmuRegs& mmu_regs_;
    const Vbios& vbios_;
};

}  // namespace gpu
