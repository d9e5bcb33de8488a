// The approximate functions of MUFU in integers: the same bits on every host.
#pragma once

#include "gpu_model/sm/launch.h"

namespace gpu::sm {

// Numbered as the instruction's function field.
enum class MufuFunction : u8 { Cos, Sin, Ex2, Lg2, Rcp, Rsq, Rcp64h, Rsq64h, Sqrt, Tanh };

// Single-precision bits in and out; denormal inputs and results are zero. Rcp64h and Rsq64h take and give the high word
// of a double. Sin and Cos take turns (the angle divided by 2 pi).
u32 mufu(MufuFunction function, u32 bits);

}  // namespace gpu::sm
