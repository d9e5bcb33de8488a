// From a decoded instruction to the function that executes it: one table per instruction set of the host, chosen once.
#pragma once

#include "gpu_model/sm/exec/slot.h"

namespace gpu::sm {

// The vector operations of each instruction set.
#define LANE_OP(name) void name(Exec& x, Slot& s);
#define USUAL_OP(name) void name(Exec& x, Slot& s);
namespace portable {
#include "gpu_model/sm/exec/lane_ops.def"
}
namespace avx2 {
#include "gpu_model/sm/exec/lane_ops.def"
}
namespace avx512 {
#include "gpu_model/sm/exec/lane_ops.def"
}
#undef USUAL_OP
#undef LANE_OP

enum class LaneTarget : u8 { Portable, Avx2, Avx512 };
// The widest that this host has.
LaneTarget best_lane_target();
std::string_view lane_target_name(LaneTarget target);

Handler handler_of(sass::Op op, LaneTarget target);
// Fills everything of the slot but `in` and `row`'s constant.
void prepare(Slot& slot, LaneTarget target);

}  // namespace gpu::sm
