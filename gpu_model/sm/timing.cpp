// One instruction at a time: when it may issue, which units it holds, when its results are there.
#include "gpu_model/sm/timing.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu_model/sm/exec/grid.h"
#include "sim/state_visitor.h"

namespace gpu::sm {
namespace {

using sass::Op;
using sass::Pipe;

struct Latency {
    u32 result = 0, interval = 0, sm_interval = 0;
    bool variable = false;
};
enum class LatencyKind : u8 { Fixed, Variable };

constexpr Latency latency(u32 result, u32 interval, u32 sm_interval, LatencyKind kind) {
    return {result, interval, sm_interval, kind == LatencyKind::Variable};
}

#define SM_CYCLES(name, cycles, evidence) constexpr u32 name = cycles;
#define PIPE_LATENCY(...)
#define OP_LATENCY(...)
#include "gpu_model/time/instruction_latency.def"
#undef SM_CYCLES
#undef PIPE_LATENCY
#undef OP_LATENCY

constexpr Latency pipe_latency(Pipe pipe) {
    switch (pipe) {
#define PIPE_LATENCY(name, result, interval, sm_interval, kind, evidence) \
    case Pipe::name:                                                      \
        return latency(result, interval, sm_interval, LatencyKind::kind);
#define OP_LATENCY(...)
#define SM_CYCLES(...)
#include "gpu_model/time/instruction_latency.def"
#undef PIPE_LATENCY
#undef OP_LATENCY
#undef SM_CYCLES
    }
    return {};
}

Latency latency_of(const sass::Instruction& in) {
    switch (in.op) {
#define OP_LATENCY(name, result, interval, sm_interval, kind, evidence) \
    case Op::name:                                                      \
        return latency(result, interval, sm_interval, LatencyKind::kind);
#define PIPE_LATENCY(...)
#define SM_CYCLES(...)
#include "gpu_model/time/instruction_latency.def"
#undef PIPE_LATENCY
#undef OP_LATENCY
#undef SM_CYCLES
        default:
            return pipe_latency(in.row().pipe);
    }
}

bool is_load(Op op) {
    switch (op) {
        case Op::LD:
        case Op::LDG:
        case Op::LDG_UR:
        case Op::LDL:
        case Op::LDS:
            return true;
        default:
            return false;
    }
}

// Of the load-store unit's instructions: 0 global and local memory, 1 shared memory and shuffles, 2 constants.
u32 queue_of(Op op) {
    switch (op) {
        case Op::LDS:
        case Op::STS:
        case Op::STS_UR:
        case Op::ATOMS:
        case Op::ATOMS_UR:
        case Op::ATOMS_CAS:
        case Op::LDSM:
        case Op::SHFL_RR:
        case Op::SHFL_RI:
        case Op::SHFL_IR:
        case Op::SHFL_II:
            return 1;
        case Op::LDC:
        case Op::LDC_UR:
            return 2;
        default:
            return 0;
    }
}

constexpr u64 kTaken = ~u64{0};  // by a block that has not ended

std::string result_name(u32 result, u32 uniform_at, u32 predicate_at, u32 uniform_predicate_at) {
    if (result >= uniform_predicate_at) return fmt::format("UP{}", result - uniform_predicate_at);
    if (result >= predicate_at) return fmt::format("P{}", result - predicate_at);
    if (result >= uniform_at) return fmt::format("UR{}", result - uniform_at);
    return fmt::format("R{}", result);
}

}  // namespace

std::string Hazard::describe() const {
    return fmt::format("hazard: {} is read at pc 0x{:04x} {} cycles before pc 0x{:04x} has written it: {}", what, consumer_pc,
                       missing_cycles, producer_pc,
                       no_wait ? "nothing waits for that instruction's scoreboard" : "the stall counts are too short");
}

SmTiming::SmTiming(const KernelLaunch& launch, u32 blocks_per_sm) : launch_(launch), entries_(kEntries) {
    // SMs beyond the number of blocks stay empty.
    const u64 blocks = u64{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    sms_.resize(static_cast<std::size_t>(std::min<u64>(launch.sm_count, std::max<u64>(blocks, 1))));
    for (SmTime& sm : sms_) sm.rooms.assign(std::max(blocks_per_sm, u32{1}), 0);
}

u64 SmTiming::Held::longest() const {
    u64 most = *std::max_element(shared.begin(), shared.end());
    for (const auto& sub_core : units) most = std::max(most, *std::max_element(sub_core.begin(), sub_core.end()));
    return most;
}

void SmTiming::on_block(const Cta& cta) {
    SmTime& sm = sms_[cta.sm];
    const auto room = std::min_element(sm.rooms.begin(), sm.rooms.end());
    BlockTime& block = blocks_[cta.linear];
    block = {};
    // Blocks end in the order of their work, not of this clock, so the SM may be full for now.
    block.begin = block.latest = *room == kTaken ? latest_ : *room;
    block.room = static_cast<u32>(*room == kTaken ? sm.rooms.size() : static_cast<std::size_t>(room - sm.rooms.begin()));
    if (block.room < sm.rooms.size()) *room = kTaken;
    block.warps.resize(cta.warps.size());
    for (WarpTime& warp : block.warps) warp.next = block.begin;
    block_ = nullptr;
}

void SmTiming::on_block_end(const Cta& cta) {
    const auto found = blocks_.find(cta.linear);
    if (found == blocks_.end()) return;
    const BlockTime& block = found->second;
    SmTime& sm = sms_[cta.sm];
    for (u32 i = 0; i < kPipes; ++i) sm.held.shared[i] += block.held.shared[i];
    for (u32 core = 0; core < kSubCores; ++core) {
        for (u32 i = 0; i <= kPipes; ++i) sm.held.units[core][i] += block.held.units[core][i];
    }
    const u64 end = std::max(block.latest, block.begin + block.held.longest());
    if (block.room < sm.rooms.size()) sm.rooms[block.room] = end;
    latest_ = std::max({latest_, end, sm.held.longest()});
    blocks_.erase(found);
    block_ = nullptr;
}

SmTiming::BlockTime& SmTiming::block_of(const Cta& cta) {
    if (block_ == nullptr || block_index_ != cta.linear) {
        block_ = &blocks_[cta.linear];
        if (block_->warps.size() < cta.warps.size()) block_->warps.resize(cta.warps.size());
        block_index_ = cta.linear;
    }
    return *block_;
}

const SmTiming::Entry& SmTiming::entry_of(const Step& step) {
    Entry& entry = entries_[step.pc / sass::kWordBytes % kEntries];
    if (entry.pc == step.pc && entry.word == step.slot.in.word) return entry;
    entry = {};
    entry.pc = step.pc;
    entry.word = step.slot.in.word;
    entry.control = sass::control_of(entry.word);
    if (!step.decoded) return entry;
    const sass::Instruction& in = step.slot.in;
    const Latency latency = latency_of(in);
    entry.use = register_use(in);
    entry.latency = latency.result;
    entry.interval = latency.interval;
    entry.sm_interval = latency.sm_interval;
    entry.variable = latency.variable;
    entry.pipe = static_cast<u32>(in.row().pipe);
    const u32 queue = queue_of(in.op);
    entry.queue = queue == 0 ? entry.pipe : kPipes + queue - 1;
    if (is_load(in.op)) {
        const u32 words = access_words(in.mod<sass::Mod::Size>());
        entry.latency += words == 4 ? kLoadExtra128 : words == 2 ? kLoadExtra64 : 0;
    }
    return entry;
}

template <typename F>
void SmTiming::for_results(std::span<const RegisterSpan> spans, u8 predicates, u8 uniform_predicates, F f) {
    for (const RegisterSpan& span : spans) {
        const u32 base = span.uniform ? kUniformAt : 0, end = span.uniform ? u32{sass::kUrz} : u32{sass::kRz};
        for (u32 k = 0; k < span.count && u32{span.first} + k < end; ++k) f(base + span.first + k);
    }
    for (u32 p = 0; p < sass::kPt; ++p) {
        if ((predicates >> p & 1) != 0) f(kPredicateAt + p);
        if ((uniform_predicates >> p & 1) != 0) f(kUniformPredicateAt + p);
    }
}

void SmTiming::check_one(const Step& step, const WarpTime& warp, u64 at, u32 result) {
    const Result& before = warp.results[result];
    if (before.ready <= at || (before.lanes & step.lanes) == 0 || hazards_.size() >= kHazardsMax) return;
    const u64 consumer = step.pc - launch_.entry;
    const auto known = std::find_if(hazards_.begin(), hazards_.end(), [&](const Hazard& hazard) {
        return hazard.producer_pc == before.pc && hazard.consumer_pc == consumer;
    });
    if (known != hazards_.end()) {
        known->missing_cycles = std::max(known->missing_cycles, before.ready - at);
        return;
    }
    hazards_.push_back({before.pc, consumer, result_name(result, kUniformAt, kPredicateAt, kUniformPredicateAt),
                        before.ready - at, before.variable});
}

void SmTiming::check(const Step& step, const WarpTime& warp, u64 at) {
    const RegisterUse& use = entry_->use;
    for_results(use.reads(), use.predicates_read, use.uniform_predicates_read,
                [&](u32 result) { check_one(step, warp, at, result); });
}

GridObserver::Verdict SmTiming::before(const Step& step) {
    BlockTime& block = block_of(step.cta);
    WarpTime& warp = block.warps[step.warp.index];
    entry_ = &entry_of(step);
    u64 at = warp.next;
    for (u32 board = 0; board < kBoards; ++board) {
        if ((entry_->control.wait_mask >> board & 1) == 0 || warp.boards[board].empty()) continue;
        at = std::max(at, warp.boards[board].back());
        warp.boards[board].clear();
    }
    if (step.decoded && step.slot.in.op == Op::DEPBAR) {
        // Waits until no more than `count` are outstanding.
        const sass::Word word = step.slot.in.word;
        const u64 board = word.bits(46, 44), count = word.bits(43, 38);
        if (board < kBoards && warp.boards[board].size() > count)
            at = std::max(at, warp.boards[board][warp.boards[board].size() - count - 1]);
    }
    at = std::max(at, warp.unit_free[entry_->pipe]);
    if (step.lanes != 0) check(step, warp, at);
    now_ = at;
    return Verdict::Go;
}

void SmTiming::after(const Step& step) {
    BlockTime& block = block_of(step.cta);
    WarpTime& warp = block.warps[step.warp.index];
    const Entry& entry = *entry_;
    const u32 core = step.warp.index % kSubCores;
    u64 stall = std::max<u64>(entry.control.stall, entry.control.yield ? 2 : 1);
    const bool branched = entry.pipe == static_cast<u32>(Pipe::Control) && step.next_pc != step.pc + sass::kWordBytes;
    if (branched && step.lanes != 0) stall = std::max<u64>(stall, kBranchTaken);
    // A barrier's release may have moved the warp on already.
    warp.next = std::max(warp.next, now_ + stall);
    warp.unit_free[entry.pipe] = now_ + entry.interval;
    block.held.units[core][entry.pipe] += entry.interval;
    block.held.shared[entry.pipe] += entry.sm_interval;
    ++block.held.units[core][kPipes];
    block.latest = std::max(block.latest, warp.next);
    latest_ = std::max(latest_, warp.next);
    // An instruction that no lane executes still goes through its queue, behind those before it.
    u64 ready = step.lanes == 0 ? now_ : now_ + entry.latency;
    if (entry.variable) {
        u64& last = warp.last_done[entry.queue];
        ready = last = std::max(last, ready);
    }
    const u32 pc = static_cast<u32>(step.pc - launch_.entry);
    for_results(entry.use.writes(), entry.use.predicates_written, entry.use.uniform_predicates_written,
                [&](u32 result) {
                    if (step.lanes != 0) warp.results[result] = {ready, pc, step.lanes, entry.variable};
                });
    const auto tell = [&](u8 board, u64 when) {
        if (board >= kBoards) return;
        std::vector<u64>& list = warp.boards[board];
        // What has completed does not count any more.
        std::erase_if(list, [&](u64 done) { return done <= now_; });
        if (list.size() < kOutstandingMax) list.insert(std::upper_bound(list.begin(), list.end(), when), when);
    };
    tell(entry.control.write_barrier, ready);
    tell(entry.control.read_barrier, now_ + kSourcesRead);
    block.latest = std::max(block.latest, entry.variable ? ready : now_);
    latest_ = std::max(latest_, block.latest);
}

void SmTiming::on_arrive(const Cta& cta, u32 barrier, u32) {
    u64& last = block_of(cta).arrived[barrier];
    last = std::max(last, now_);
}

void SmTiming::on_release(const Cta& cta, u32 barrier, u32 warps) {
    BlockTime& block = block_of(cta);
    for (u32 i = 0; i < block.warps.size(); ++i) {
        if ((warps >> i & 1) != 0) block.warps[i].next = std::max(block.warps[i].next, block.arrived[barrier] + kBarrierRelease);
    }
    block.arrived[barrier] = 0;
}

}  // namespace gpu::sm
