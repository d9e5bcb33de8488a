// Cold boot: from the board's ROM and the firmware's files to a GSP whose RISC-V core runs, and the way back. Every step that fails
// says in the journal what was read and what would have been right.
// Source: open-gpu-kernel-modules 570.144, kernel_gsp.c (kgspInitRm, kgspUnloadRm), kernel_gsp_tu102.c, kernel_gsp_fwsec.c,
// kern_gpu_tu102.c (gpuWaitForGfwBootComplete). Not modelled: retry after ECC errors.
#pragma once

#include <vector>

#include "rm/client.h"
#include "rm/client/falcon_io.h"
#include "rm/client/firmware_files.h"
#include "rm/client/status.h"
#include "rm/client/vbios_rom.h"

namespace rm::client {

class FirmwareBoot {
public:
    FirmwareBoot(sim::Kernel& kernel, const DriverVersion& version, ChipIo& io, HostServices& host);

    // The chip's own boot firmware has finished.
    Status wait_gfw();
    // Reads the ROM and the files, puts the images into system memory, lays out video memory.
    Status prepare();
    // FWSEC-FRTS, reset of the GSP with its arguments, Booter; the RISC-V core runs at the end.
    Status run(u32 boot0, u64 libos_arguments);
    // FWSEC-SB and Booter unload; the GSP has been told to suspend. WPR2 is down at the end.
    Status unload(u32 boot0);
    // kgspUnloadRm and kgspBootstrap of a suspend: the firmware has been told and sleeps; Booter moves WPR2 to system memory, and back.
    Status suspend(u32 boot0);
    Status resume(u32 boot0);
    // After a start that failed: takes down what run() set up, so that the next start finds the GPU as it was.
    void abandon(u32 boot0);
    // Gives the memory back.
    void release();
    // For the CPU sequencer's CORE_RESUME.
    u64 libos_arguments() const { return libos_arguments_; }
    void visit(sim::StateVisitor& visitor);

private:
    struct Pages {
        u64 address = 0;
        u64 bytes = 0;
        void visit(sim::StateVisitor& visitor);
    };
    struct Layout {
        u64 fb_bytes = 0;
        u64 vga_workspace = 0;
        u64 wpr_end = 0;
        u64 frts = 0;
        u64 boot_binary = 0;
        u64 firmware = 0;
        u64 heap = 0;
        u64 heap_bytes = 0;
        u64 wpr_start = 0;
        u64 non_wpr_heap = 0;
    };
    Status fail(Status status, const std::string& text);
    std::optional<gpu::SysPa> put(std::span<const u8> bytes);
    std::optional<gpu::SysPa> put_radix3(std::span<const u8> image);
    std::optional<gpu::SysPa> tree_over(gpu::SysPa image, u64 bytes);
    void give_back(std::size_t held);
    Status start_core(u32 boot0, u64 meta_address, std::string_view what);
    Layout lay_out(u64 firmware_bytes, u64 boot_bytes);
    Status run_fwsec(u32 boot0, u32 command);
    Status run_booter(const FalconImage& image, u32 boot0, u64 mailboxes, std::string_view what);
    bool wpr2_up();

    sim::Kernel& kernel_;
    const DriverVersion& version_;
    ChipIo& io_;
    HostServices& host_;
    FirmwareFiles files_;
    FwsecUcode fwsec_;
    std::vector<Pages> pages_;
    u64 frts_ = 0;
    u64 wpr_bytes_ = 0;
    u64 meta_address_ = 0;
    u64 sr_meta_ = 0;         // of a suspended firmware; 0: it is not
    u64 pages_before_sr_ = 0;  // how many of pages_ are not the suspended firmware's
    u64 libos_arguments_ = 0;
    bool set_up_ = false;  // run() got as far as FWSEC: WPR2 is this session's
};

}  // namespace rm::client
