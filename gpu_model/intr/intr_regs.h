// The registers of the interrupt trees (regs/intr.def) and of PMC (regs/pmc.def), which holds the legacy tree and the
// identity words. Source: dev_vm, dev_ctrl, dev_master manuals of TU104.
#pragma once

#include "gpu_model/bus/register_unit.h"
#include "gpu_model/chip.h"
#include "gpu_model/intr/intr_tree.h"
#include "gpu_model/regs/reg_block.h"

namespace gpu {

class IntrRegs final : public RegisterUnit {
public:
    IntrRegs(sim::Kernel& kernel, IntrTree& tree);
    u32 read(u32 offset) override { return block_.read(offset); }
    void write(u32 offset, u32 value) override { block_.write(offset, value); }
    std::string_view unit_name() const override { return block_.unit_name(); }
    void reset() { block_.reset(); }
    void visit(sim::StateVisitor& visitor) { visitor.field("registers", block_); }

private:
    RegBlock block_;
};

class Pmc final : public RegisterUnit {
public:
    Pmc(sim::Kernel& kernel, const ChipSpec& spec, IntrTree& tree);
    u32 read(u32 offset) override { return block_.read(offset); }
    void write(u32 offset, u32 value) override { block_.write(offset, value); }
    std::string_view unit_name() const override { return block_.unit_name(); }
    void reset() { block_.reset(); }
    void visit(sim::StateVisitor& visitor) { visitor.field("registers", block_); }

private:
    RegBlock block_;
};

}  // namespace gpu
