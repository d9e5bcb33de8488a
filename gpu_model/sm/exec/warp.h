// One warp: registers as rows of 32 lanes, predicates as lane masks, and the groups of lanes that run together.
#pragma once

#include "gpu_model/sm/launch.h"

namespace gpu::sm {

// One register of a whole warp.
struct alignas(64) Row {
    u32 lane[kLanes];
};

inline constexpr u32 kAllLanes = 0xffff'ffff;
inline constexpr u32 kTrashRow = 256;  // where writes to RZ go
inline constexpr u32 kConvergenceBarriers = 16;

constexpr u32 lane_bit(u32 lane) {
    return u32{1} << lane;
}
// Each lane's bit of a mask.
inline constexpr Row kLaneBits = [] {
    Row row{};
    for (u32 i = 0; i < kLanes; ++i) row.lane[i] = lane_bit(i);
    return row;
}();

// Lanes that share a program counter. A warp that has not diverged has one.
struct LaneGroup {
    enum class State : u8 { Ready, AtBsync, AtWarpsync, AtBarrier };
    u64 pc = 0;  // of the next instruction
    u32 lanes = 0;
    u32 sync_mask = 0;  // of WARPSYNC
    State state = State::Ready;
    u8 barrier = 0;  // convergence barrier of BSYNC, or number of the CTA barrier
};

struct Warp {
    u32 group_count;
    u32 index;           // in the block
    u32 valid;           // lanes that exist: the block may end inside a warp
    u32 live;            // lanes that have not exited
    u32 barrier_result;  // results of the last BAR.RED, read by B2R
    bool barrier_pred;
    LaneGroup groups[kLanes];
    // start() clears from here to the registers that the kernel has, at once.
    alignas(64) u32 preds[8];  // 7 is PT
    u32 uniform[64];           // 63 is URZ
    u32 uniform_preds[8];      // 0 or all ones; 7 is UPT
    u32 convergence[kConvergenceBarriers];
    Row regs[kTrashRow + 1]{};  // row 255 is RZ: zero from the beginning, and nobody writes it

    // Ready at `entry` with `lanes` lanes; registers up to `register_count` are zero.
    void start(u32 warp_index, u32 lanes, u64 entry, u32 register_count);
    bool done() const { return live == 0; }
};

}  // namespace gpu::sm
