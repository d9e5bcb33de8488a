// Saving and loading a running grid. Loading trusts nothing that the executor would index with.
#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/timing.h"
#include "sim/state_visitor.h"

namespace gpu::sm {
namespace {

// A run of words as bytes, so that a warp's registers are one field.
void words_field(sim::StateVisitor& visitor, std::string_view name, u32* words, std::size_t count) {
    std::vector<u8> bytes;
    if (!visitor.loading()) {
        bytes.reserve(count * 4);
        for (std::size_t i = 0; i < count * 4; ++i) bytes.push_back(static_cast<u8>(words[i / 4] >> 8 * (i % 4)));
    }
    visitor.field(name, bytes);
    if (!visitor.loading()) return;
    if (bytes.size() != count * 4) {
        visitor.fail(name, "not as many words as the launch has");
        return;
    }
    for (std::size_t i = 0; i < count; ++i) words[i] = 0;
    for (std::size_t i = 0; i < count * 4; ++i) words[i / 4] |= u32{bytes[i]} << 8 * (i % 4);
}

bool good_groups(const Warp& warp) {
    u32 seen = 0;
    for (u32 i = 0; i < warp.group_count; ++i) {
        const LaneGroup& group = warp.groups[i];
        if (group.lanes == 0 || (group.lanes & seen) != 0 || group.barrier >= kBarriersMax) return false;
        if (group.state > LaneGroup::State::AtBarrier || group.pc % sass::kWordBytes != 0) return false;
        seen |= group.lanes;
    }
    return seen == warp.live && (warp.live & ~warp.valid) == 0;
}

void visit_warp(sim::StateVisitor& visitor, Warp& warp, u32 registers) {
    visitor.begin("warp");
    words_field(visitor, "registers", warp.regs[0].lane, std::size_t{registers} * kLanes);
    words_field(visitor, "predicates", warp.preds, sass::kPt);
    words_field(visitor, "uniform", warp.uniform, sass::kUrz);
    words_field(visitor, "uniform_predicates", warp.uniform_preds, sass::kPt);
    words_field(visitor, "convergence", warp.convergence, kConvergenceBarriers);
    visitor.field("live", warp.live);
    visitor.field("barrier_result", warp.barrier_result);
    visitor.field("barrier_pred", warp.barrier_pred);
    u64 count = visitor.begin_list("groups", warp.group_count);
    if (count > kLanes) {
        visitor.fail("groups", "more than there are lanes");
        count = 0;
    }
    warp.group_count = static_cast<u32>(count);
    for (u32 i = 0; i < warp.group_count; ++i) {
        LaneGroup& group = warp.groups[i];
        visitor.begin("group");
        visitor.field("pc", group.pc);
        visitor.field("lanes", group.lanes);
        visitor.field("sync_mask", group.sync_mask);
        visitor.field("state", group.state);
        visitor.field("barrier", group.barrier);
        visitor.end();
    }
    visitor.end_list();
    if (visitor.loading() && !good_groups(warp)) {
        visitor.fail("groups", "not a division of the warp's lanes");
        warp.group_count = 0, warp.live = 0;
    }
    visitor.end();
}

void visit_barrier(sim::StateVisitor& visitor, CtaBarrier& barrier) {
    visitor.begin("barrier");
    visitor.field("in_use", barrier.in_use);
    visitor.field("threads", barrier.threads);
    visitor.field("repeated", barrier.repeated);
    visitor.field("arrived", barrier.arrived);
    visitor.field("reduction", barrier.reduction);
    visitor.field("popc", barrier.popc);
    visitor.field("count", barrier.count);
    visitor.end();
}

}  // namespace

void LocalMemory::visit(sim::StateVisitor& visitor) {
    std::vector<u8> present;
    for (const auto& chunk : chunks_) present.push_back(chunk ? 1 : 0);
    const std::size_t size = present.size();
    visitor.field("present", present);
    if (present.size() != size) {
        visitor.fail("present", "not the chunks of the launch");
        return;
    }
    for (std::size_t i = 0; i < size; ++i) {
        if (present[i] == 0) continue;
        if (!chunks_[i]) chunks_[i] = std::make_unique<Chunk>();
        touched_ = true;
        words_field(visitor, "chunk", chunks_[i]->rows[0].lane, std::size_t{kChunkBytes} / 4 * kLanes);
    }
}

void GridRun::visit_block(sim::StateVisitor& visitor, Cta& cta) {
    visitor.begin("block");
    const std::size_t shared_bytes = cta.shared.size();
    visitor.field("shared", cta.shared);
    if (cta.shared.size() != shared_bytes) {
        visitor.fail("shared", "not the size of the launch");
        cta.shared.resize(shared_bytes);
    }
    visitor.field("next_warp", cta.next_warp);
    visitor.field("stuck", cta.stuck);
    cta.next_warp %= static_cast<u32>(cta.warps.size());
    cta.barriers_in_use = 0;
    for (u32 number = 0; number < kBarriersMax; ++number) {
        visit_barrier(visitor, cta.barriers[number]);
        if (cta.barriers[number].in_use) {
            cta.barriers_in_use |= u32{1} << number;
        } else {
            cta.barriers[number] = {};
        }
    }
    cta.live_warps = 0;
    for (Warp& warp : cta.warps) {
        visit_warp(visitor, warp, launch_.registers);
        if (!warp.done()) ++cta.live_warps;
    }
    for (LocalMemory& memory : cta.local) visitor.field("local", memory);
    visitor.end();
}

void GridRun::visit(sim::StateVisitor& visitor) {
    visitor.field("state", state_);
    visitor.field("next_block", next_block_);
    visitor.field("blocks_done", blocks_done_);
    visitor.field("instructions", instructions_);
    std::vector<u64> ids;
    for (const auto& cta : resident_) ids.push_back(cta->linear);
    u64 turn = turn_;
    visitor.field("turn", turn);
    visitor.field("resident", ids);
    turn_ = turn;
    if (visitor.loading()) {
        resident_.clear();
        const u64 next = next_block_;
        bool good = state_ <= GridState::Paused && next <= block_count_ && ids.size() <= resident_max_;
        for (u64 id : ids) good = good && id < block_count_;
        if (!good) {
            visitor.fail("resident", "not blocks of the launch");
            state_ = GridState::Deadlocked;
            return;
        }
        for (u64 id : ids) {
            next_block_ = id;
            start_block();
        }
        next_block_ = next;
    }
    for (const auto& cta : resident_) visit_block(visitor, *cta);
    if (timing_) visitor.field("timing", *timing_);
}

}  // namespace gpu::sm
