// The GSP and SEC2 falcons, and the firmware's way into the chip. What starting a core does here:
//   GSP with a program: the generic loader and FWSEC (boot_programs.h).
//   SEC2: Booter (boot_programs.h); a load starts the GSP's RISC-V core.
//   GSP without a program: when WPR2 is down its RISC-V core starts at once (model): a client that loads no images uses this. When it
//   is up the falcon halts on an empty memory, as nova-core expects between FWSEC and Booter.
// Source: GSP boot code of the open driver and of nova-core.
#pragma once

#include <functional>

#include "gpu_model/bus/bar0.h"
#include "gpu_model/falcon/boot_programs.h"
#include "gpu_model/falcon/falcon.h"
#include "gpu_model/firmware_port.h"
#include "gpu_model/intr/intr_tree.h"
#include "gpu_model/mem/memory.h"
#include "gpu_model/mem/mmu_regs.h"

namespace gpu {

class GspUnit final : public FirmwareBus, private FalconOwner, private IntrTree::LevelListener {
public:
    static constexpr u32 kGspBase = 0x110000;
    static constexpr u32 kSec2Base = 0x840000;

    GspUnit(sim::Kernel& kernel, Bar0& bar0, PhysicalMemory& memory, MmuRegs& mmu_regs, IntrTree& intr,
            const Vbios& vbios);
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
    void raise_halt() override;
    void set_mailbox(unsigned index, u32 value) override;
    SimTime now() const override { return kernel_.now(); }

    void reset();
    void visit(sim::StateVisitor& visitor);

private:
    void on_falcon_start(Falcon& falcon) override;
    void on_falcon_reset(Falcon& falcon) override;
    void on_falcon_interrupt(Falcon& falcon, bool asserted) override;
    void on_level(u32 vector) override;
    void start_riscv();

    sim::Kernel& kernel_;
    Bar0& bar0_;
    PhysicalMemory& memory_;
    MmuRegs& mmu_regs_;
    IntrTree& intr_;
    Firmware* firmware_ = nullptr;
    Falcon gsp_;
    Falcon sec2_;
    BootPrograms programs_;
    std::array<std::array<u32, 64>, 4> emem_{};  // external memory behind EMEMC / EMEMD
};

}  // namespace gpu
