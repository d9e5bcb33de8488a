// Registers that only tell what the chip is (regs/identity.def): PTOP, fuses, temperature, boot progress, VGA
// workspace. Source: dev_top manual of TU104, headers of the open driver. Floor-sweeping masks are not published for
// Turing and not here.
#pragma once

#include <vector>

#include "gpu_model/bus/register_unit.h"
#include "gpu_model/chip.h"
#include "gpu_model/regs/reg_block.h"

namespace gpu {

class IdentityRegs final : public RegisterUnit {
public:
    IdentityRegs(sim::Kernel& kernel, const ChipSpec& spec);
    u32 read(u32 offset) override { return block_.read(offset); }
    void write(u32 offset, u32 value) override { block_.write(offset, value); }
    std::string_view unit_name() const override { return block_.unit_name(); }
    void reset() { block_.reset(); }
    void visit(sim::StateVisitor& visitor) { visitor.field("registers", block_); }

private:
    RegBlock block_;
};

// NV_PTOP_DEVICE_INFO for a board's engines: a chain of type, data and enumeration words per device.
std::vector<u32> ptop_device_info(const ChipSpec& spec);

}  // namespace gpu
