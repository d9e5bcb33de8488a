// What atomics and reductions compute, on global and shared memory and on surfaces.
#pragma once

#include "sim/types.h"

namespace gpu::sm {

// operation and type: values of the instructions' fields (Mod::AtomOp, Mod::AtomType).
bool atomic_exists(sim::u32 operation, sim::u32 type);
sim::u32 atomic_bytes(sim::u32 type);
// Precondition: the chip has this operation on this type.
sim::u64 atomic_result(sim::u32 operation, sim::u32 type, sim::u64 old, sim::u64 value);

}  // namespace gpu::sm
