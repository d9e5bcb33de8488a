// Saving and loading of the SMs' timing, so that a grid that goes on elsewhere takes as long.
#include "gpu_model/sm/timing.h"
#include "sim/state_visitor.h"

namespace gpu::sm {
namespace {

constexpr u64 kBlocksMax = u64{1} << 20;  // resident at once, far above what any board holds

}  // namespace

void SmTiming::WarpTime::visit(sim::StateVisitor& visitor) {
    visitor.field("next", next);
    visitor.field("boards", boards);
    visitor.field("unit_free", unit_free);
    visitor.field("last_done", last_done);
    // Results that are there already say nothing.
    std::vector<u64> pending;
    if (!visitor.loading()) {
        for (u32 i = 0; i < kResults; ++i) {
            if (results[i].ready <= next) continue;
            const Result& result = results[i];
            pending.insert(pending.end(), {i, result.ready, result.pc, result.lanes, result.variable ? u64{1} : 0});
        }
    }
    visitor.field("pending", pending);
    if (!visitor.loading()) return;
    constexpr std::size_t words = 5;
    for (std::size_t i = 0; i + words <= pending.size(); i += words) {
        if (pending[i] >= kResults) {
            visitor.fail("pending", "not a register");
            return;
        }
        results[pending[i]] = {pending[i + 1], static_cast<u32>(pending[i + 2]), static_cast<u32>(pending[i + 3]),
                               pending[i + 4] != 0};
    }
}

void SmTiming::Held::visit(sim::StateVisitor& visitor) {
    for (auto& sub_core : units) visitor.field("units", sub_core);
    visitor.field("shared", shared);
}

void SmTiming::BlockTime::visit(sim::StateVisitor& visitor) {
    visitor.field("begin", begin);
    visitor.field("latest", latest);
    visitor.field("room", room);
    visitor.field("held", held);
    visitor.field("warps", warps);
    visitor.field("arrived", arrived);
}

void SmTiming::SmTime::visit(sim::StateVisitor& visitor) {
    visitor.field("rooms", rooms);
    visitor.field("held", held);
}

void SmTiming::visit(sim::StateVisitor& visitor) {
    const std::size_t sms = sms_.size(), rooms = sms_.front().rooms.size();
    visitor.field("sms", sms_);
    visitor.field("blocks", blocks_);
    visitor.field("now", now_);
    visitor.field("latest", latest_);
    if (!visitor.loading()) return;
    block_ = nullptr;
    bool good = sms_.size() == sms && blocks_.size() <= kBlocksMax;
    for (const SmTime& sm : sms_) good = good && sm.rooms.size() == rooms;
    for (const auto& [index, block] : blocks_) good = good && block.room <= rooms && block.warps.size() <= kWarpsPerCtaMax;
    if (good) return;
    visitor.fail("sms", "not the SMs of the launch");
    sms_.assign(sms, {});
    for (SmTime& sm : sms_) sm.rooms.assign(rooms, 0);
    blocks_.clear();
}

}  // namespace gpu::sm
