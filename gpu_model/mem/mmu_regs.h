// The registers of the memory side (regs/mmu.def): both names of each MMU register reach one state, here or in
// FaultUnit. Source: pri_mmu_hub, dev_vm manuals of TU104; dev_fb, dev_flush headers. (model): an invalidation or flush
// is over when its register write is; memory has no order of its own, so a flush has nothing to wait for.
#pragma once

#include "gpu_model/bus/register_unit.h"
#include "gpu_model/chip.h"
#include "gpu_model/mem/bar_window.h"
#include "gpu_model/mem/fault_buffer.h"
#include "gpu_model/mem/mmu.h"
#include "gpu_model/regs/reg_block.h"

namespace gpu {

class MmuRegs final : public RegisterUnit {
public:
    MmuRegs(sim::Kernel& kernel, const ChipSpec& spec, Mmu& mmu, FaultUnit& faults, BarWindow& bar1, BarWindow& bar2);

    // The write-protected region that the boot firmware sets up; both zero: none.
    void set_wpr2(FbPa start, FbPa end);

    u32 read(u32 offset) override { return block_.read(offset); }
    void write(u32 offset, u32 value) override { block_.write(offset, value); }
    std::string_view unit_name() const override { return block_.unit_name(); }
    void reset();
    void visit(sim::StateVisitor& visitor);

private:
    void hook_faults();
    void hook_invalidate();
    void trigger(u32 value);

    Mmu& mmu_;
    FaultUnit& faults_;
    RegBlock block_;
    u32 invalidate_ = 0;
    u32 invalidate_pdb_ = 0;
    u32 invalidate_upper_pdb_ = 0;
};

// NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE for a board.
u32 local_memory_range(const ChipSpec& spec);

}  // namespace gpu
