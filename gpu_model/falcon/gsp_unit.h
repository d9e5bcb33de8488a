// The GSP and SEC2 falcons, and the firmware's way into the chip. What starting a core does here:
//   SEC2: its program is Booter. Mailboxes hold the system address of the WPR metadata (load) or 0xFF (unload); mailbox
//   0 answers 0 or
//         an error. A load sets WPR2 and starts the GSP's RISC-V core.
//   GSP without a program: its RISC-V core starts at once, as after Booter (model): a client that does not load images
//   uses this. GSP with a program (FWSEC): refused by name; the core halts.
// Source: GSP boot code of the open driver; metadata layout GspFwWprMeta.
#pragma once

#include <functional>

#include "gpu_model/bus/bar0.h"
#include "gpu_model/falcon/falcon.h"
#include "gpu_model/firmware_port.h"
#include "gpu_model/intr/intr_tree.h"
#include "gpu_model/mem/memory.h"
#include "gpu_model/mem/mmu_regs.h"

namespace gpu {

class GspUnit final : public FirmwareBus, private FalconOwner {
public:
    static constexpr u32 kGspBase = 0x110000;
    static constexpr u32 kSec2Base = 0x840000;

    GspUnit(sim::Kernel& kernel, Bar0& bar0, PhysicalMemory& memory, MmuRegs& mmu_regs, IntrTree& intr);
    void attach_firmware(Firmware& firmware) { firmware_ = &firmware; }
    Firmware* firmware() { return firmware_; }
    Falcon& gsp() { return gsp_; }
    Falcon& sec2() { return sec2_; }

    // FirmwareBus
    u32 reg_read(u32 bar0_offset) override;
    void reg_write(u32 bar0_offset, u32 value) override;
    bool fb_read(FbPa address, std::span<u8> out) override;
    bool fb_write(FbPa address, std::span<const u8> bytes) override;
    bool dma_read(SysPa address, std::span<u8> out) override;
    bool dma_write(SysPa address, std::span<const u8> bytes) override;
    void raise_swgen0() override;
    void set_mailbox(unsigned index, u32 value) override;
    SimTime now() const override { return kernel_.now(); }

    void reset();
    void visit(sim::StateVisitor& visitor);

private:
    void on_falcon_start(Falcon& falcon) override;
    void on_falcon_reset(Falcon& falcon) override;
    void on_falcon_interrupt(Falcon& falcon, bool asserted) override;
    u32 run_booter(u64 metadata);
    void start_riscv();

    sim::Kernel& kernel_;
    Bar0& bar0_;
    PhysicalMemory& memory_;
    MmuRegs& mmu_regs_;
    IntrTree& intr_;
    Firmware* firmware_ = nullptr;
    Falcon gsp_;
    Falcon sec2_;
    std::array<std::array<u32, 64>, 4> emem_{};  // external memory behind EMEMC / EMEMD
};

}  // namespace gpu
