// PBUS: bus interrupts, scratch words, legacy BAR block registers; and PRAMIN, the 1 MiB of BAR0 that BAR0_WINDOW moves
// over memory. Source: dev_bus manual of TU104.
#pragma once

#include "gpu_model/bus/register_unit.h"
#include "gpu_model/intr/intr_tree.h"
#include "gpu_model/mem/bar_window.h"
#include "gpu_model/mem/memory.h"
#include "gpu_model/regs/reg_block.h"

namespace gpu {

class Pbus final : public RegisterUnit {
public:
    Pbus(sim::Kernel& kernel, IntrTree& tree, BarWindow& bar1, BarWindow& bar2);
    // Where PRAMIN starts; false when its target names no memory.
    bool pramin_base(PhysAddr& base) const;

    u32 read(u32 offset) override { return block_.read(offset); }
    void write(u32 offset, u32 value) override { block_.write(offset, value); }
    std::string_view unit_name() const override { return block_.unit_name(); }
    void reset();
    void visit(sim::StateVisitor& visitor) { visitor.field("registers", block_); }

private:
    void update_interrupt();
    IntrTree& tree_;
    RegBlock block_;
};

class Pramin final : public RegisterUnit {
public:
    static constexpr u32 kBase = 0x700000;
    static constexpr u32 kBytes = 0x100000;

    Pramin(const Pbus& pbus, PhysicalMemory& memory) : pbus_(pbus), memory_(memory) {}
    u32 read(u32 offset) override;
    void write(u32 offset, u32 value) override { write_bytes(offset, 4, value); }
    bool write_bytes(u32 offset, unsigned bytes, u32 value) override;
    std::string_view unit_name() const override { return "pramin"; }

private:
    const Pbus& pbus_;
    PhysicalMemory& memory_;
};

}  // namespace gpu
