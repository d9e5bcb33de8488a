// Starting a warp, and the groups of lanes that wait for each other.
#include "gpu_model/sm/exec/warp.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "gpu_model/sm/exec/grid.h"

namespace gpu::sm {

void Warp::start(u32 warp_index, u32 lanes, u64 entry, u32 register_count) {
    static_assert(std::is_trivially_copyable_v<Warp> && std::is_standard_layout_v<Warp>);
    void* const first = preds;
    std::memset(first, 0, offsetof(Warp, regs) - offsetof(Warp, preds) + sizeof(Row) * register_count);
    preds[sass::kPt] = uniform_preds[sass::kPt] = kAllLanes;
    index = warp_index;
    valid = live = lanes;
    barrier_result = 0;
    barrier_pred = false;
    group_count = 1;
    groups[0] = {.pc = entry, .lanes = lanes};
}

void release_waiting(Warp& warp) {
    using State = LaneGroup::State;
    const auto same = [](const LaneGroup& a, const LaneGroup& b) {
        return a.state == b.state && (a.state == State::AtBsync ? a.barrier == b.barrier : a.sync_mask == b.sync_mask);
    };
    for (u32 i = 0; i < warp.group_count; ++i) {
        const LaneGroup first = warp.groups[i];
        if (first.state != State::AtBsync && first.state != State::AtWarpsync) continue;
        const bool bsync = first.state == State::AtBsync;
        u32& members = warp.convergence[first.barrier];
        u32 waiting = 0;
        for (u32 k = 0; k < warp.group_count; ++k) {
            if (same(first, warp.groups[k])) waiting |= warp.groups[k].lanes;
        }
        const u32 wanted = (bsync ? members : first.sync_mask) & warp.live;
        // Lanes that another group's BSSY has put out of the barrier do not wait any more.
        const bool left = bsync && (first.lanes & members) == 0;
        if ((wanted & ~waiting) != 0 && !left) continue;
        for (u32 k = 0; k < warp.group_count; ++k) {
            if (same(first, warp.groups[k]) && (!left || k == i)) warp.groups[k].state = State::Ready;
        }
        if (bsync && !left) members = 0;
    }
}

u64 next_ready_pc(const Warp& warp) {
    u64 lowest = ~u64{0};
    for (u32 i = 0; i < warp.group_count; ++i) {
        const LaneGroup& group = warp.groups[i];
        if (group.state == LaneGroup::State::Ready) lowest = std::min(lowest, group.pc);
    }
    return lowest;
}

}  // namespace gpu::sm
