// Method tables of Hopper's channel, copy and compute classes. Decode only: recordings made on Hopper are shown by name; no engine of
// this chip executes them.
#pragma once

#include "gpu_model/engine/method_table.h"

namespace gpu {

// A table of this chip or of Hopper; nullptr: no table for that class.
const MethodTable* find_decode_table(u32 class_id);
// The methods that host itself executes for channels of that class; nullptr: an unknown channel class.
const MethodTable* find_host_table(u32 channel_class);

}  // namespace gpu
