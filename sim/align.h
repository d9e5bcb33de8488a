// Rounding to multiples of any positive number; where a guest chooses the alignment, its own rules come first.
#pragma once

#include "sim/types.h"

namespace sim {

// Precondition: alignment > 0. align_up wraps when the result does not fit.
constexpr u64 align_down(u64 value, u64 alignment) { return value / alignment * alignment; }
constexpr u64 align_up(u64 value, u64 alignment) { return align_down(value + alignment - 1, alignment); }

}  // namespace sim
