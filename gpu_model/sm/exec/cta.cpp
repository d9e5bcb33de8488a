// Barriers of a block. Arrival counts threads; a warp whose live lanes have all arrived counts as 32, as the count of
// BAR is a multiple of the warp size.
#include "gpu_model/sm/exec/cta.h"

#include <algorithm>
#include <bit>

#include "gpu_model/sm/exec/observer.h"

namespace gpu::sm {

void LocalMemory::renew(u32 bytes_per_lane) {
    chunks_.clear();
    chunks_.resize(chunks_of(bytes_per_lane));
    touched_ = false;
}

bool Cta::complete(const CtaBarrier& barrier) const {
    if (barrier.threads == 0) {
        // Warps run in turn: the last one is the likeliest to be missing.
        return std::all_of(warps.rbegin(), warps.rend(),
                           [&](const Warp& warp) { return (warp.live & ~barrier.arrived[warp.index]) == 0; });
    }
    u32 count = barrier.repeated;
    for (const Warp& warp : warps) {
        const u32 arrived = barrier.arrived[warp.index];
        if (arrived != 0) count += static_cast<u32>(std::popcount(arrived | ~warp.live));
    }
    return count >= barrier.threads;
}

void Cta::reset_barriers() {
    for (u32 rest = barriers_in_use; rest != 0; rest &= rest - 1) barriers[static_cast<u32>(std::countr_zero(rest))] = {};
    barriers_in_use = 0;
}

void Cta::release(u32 number) {
    CtaBarrier& barrier = barriers[number];
    u32 woken = 0;
    for (Warp& warp : warps) {
        if (barrier.arrived[warp.index] == 0) continue;
        warp.barrier_pred =
            barrier.reduction == CtaBarrier::Reduction::And ? barrier.popc == barrier.count : barrier.popc != 0;
        warp.barrier_result = barrier.reduction == CtaBarrier::Reduction::Popc ? barrier.popc : warp.barrier_pred ? ~u32{0} : 0;
        for (u32 i = 0; i < warp.group_count; ++i) {
            LaneGroup& group = warp.groups[i];
            if (group.state != LaneGroup::State::AtBarrier || group.barrier != number) continue;
            group.state = LaneGroup::State::Ready;
            woken |= lane_bit(warp.index);
        }
    }
    barrier = {};
    barriers_in_use &= ~(u32{1} << number);
    if (observers == nullptr) return;
    for (GridObserver* observer : *observers) observer->on_release(*this, number, woken);
}

void Cta::arrive(u32 number, Warp& warp, u32 lanes, u32 threads) {
    CtaBarrier& barrier = barriers[number];
    barrier.in_use = true;
    barriers_in_use |= u32{1} << number;
    if (threads != 0) barrier.threads = threads;
    if ((barrier.arrived[warp.index] & lanes) != 0) barrier.repeated += kLanes;
    barrier.arrived[warp.index] |= lanes;
    if (observers != nullptr) {
        for (GridObserver* observer : *observers) observer->on_arrive(*this, number, warp.index);
    }
    if (complete(barrier)) release(number);
}

void Cta::arrive_reducing(u32 number, Warp& warp, u32 lanes, u32 threads, u32 predicate, CtaBarrier::Reduction how) {
    CtaBarrier& barrier = barriers[number];
    barrier.reduction = how;
    barrier.popc += static_cast<u32>(std::popcount(predicate));
    barrier.count += static_cast<u32>(std::popcount(lanes));
    arrive(number, warp, lanes, threads);
}

void Cta::recheck_barriers() {
    for (u32 rest = barriers_in_use; rest != 0; rest &= rest - 1) {
        const u32 number = static_cast<u32>(std::countr_zero(rest));
        if (complete(barriers[number])) release(number);
    }
}

}  // namespace gpu::sm
