// The page that user space maps: class id, time, doorbell (regs/usermode.def).
// Source: dev_usermode, dev_vm manuals of TU104.
#pragma once

#include <functional>

#include "gpu_model/bus/register_unit.h"
#include "gpu_model/regs/reg_block.h"
#include "gpu_model/time/ptimer.h"

namespace gpu {

class Usermode final : public RegisterUnit {
public:
    // `doorbell` receives each word stored to either doorbell.
    Usermode(sim::Kernel& kernel, const Ptimer& timer, std::function<void(u32)> doorbell);
    u32 read(u32 offset) override { return block_.read(offset); }
    void write(u32 offset, u32 value) override { block_.write(offset, value); }
    std::string_view unit_name() const override { return block_.unit_name(); }
    void reset() { block_.reset(); }
    void visit(sim::StateVisitor& visitor) { visitor.field("registers", block_); }

private:
    RegBlock block_;
};

}  // namespace gpu
