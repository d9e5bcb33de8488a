// What becomes of an access to a register that nobody models: it reads as kPriNoRegister, a write is lost, and the run's list has it once
// per offset, under its documented name (documented.def) or else by its place in the nearest block that has a name (blocks.def).
#pragma once

#include <string>

#include "sim/kernel.h"

namespace gpu {

using namespace sim;

u32 unknown_register_read(sim::Kernel& kernel, u32 offset);
void unknown_register_write(sim::Kernel& kernel, u32 offset, u32 value);
// "NV_PGRAPH_STATUS", "NV_CTRL_DOORBELL(3)"; empty when no table names the offset.
std::string documented_register_name(u32 offset);
// "NV_PGRAPH+0x1abc"; "(0x2000 behind NV_CE)" where no block is.
std::string register_block_place(u32 offset);

}  // namespace gpu
