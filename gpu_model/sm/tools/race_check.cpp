// Vector clocks, one a warp: an access is ordered before another when its warp's clock at that time is one that the
// other's warp has heard of.
#include "gpu_model/sm/tools/race_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/isa/disasm.h"

namespace gpu::sm {
namespace {

constexpr u64 kBlocksNamed = u64{1} << 27;  // warps of blocks that far apart share a name

u32 warp_name(u64 block, u32 warp) {
    return static_cast<u32>(block % kBlocksNamed * kWarpsPerCtaMax + warp + 1);
}

std::string place_text(const GridRun& grid, u32 who, u32 lane) {
    const KernelLaunch& launch = grid.launch();
    const u64 block = (who - 1) / kWarpsPerCtaMax;
    const u64 x = std::max(launch.grid[0], 1u), y = std::max(launch.grid[1], 1u);
    return fmt::format("block ({},{},{}) warp {} lane {}", block % x, block / x % y, block / x / y,
                       (who - 1) % kWarpsPerCtaMax, lane);
}

bool has_fence(sass::Op op) {
    return op == sass::Op::MEMBAR;
}

// The word that a lane stores, for the comparison of lanes that store at once.
u32 stored_word(const Step& step, u32 lane, u32 word) {
    const bool high = step.slot.in.op == sass::Op::ST;
    const u64 index = high ? sass::at::Rc::get(step.slot.in.word) : sass::at::Rb::get(step.slot.in.word);
    return index == sass::kRz ? 0 : step.warp.regs[index + word].lane[lane];
}

}  // namespace

void RaceCheck::join(Clocks& into, const Clocks& from) {
    for (const auto& [who, clock] : from) {
        u32& known = into[who];
        known = std::max(known, clock);
    }
}

RaceCheck::Block* RaceCheck::find_block(const Cta& cta) {
    const auto grid = grids_.find(cta.grid);
    if (grid == grids_.end()) return nullptr;
    const auto block = grid->second.blocks.find(cta.linear);
    return block == grid->second.blocks.end() ? nullptr : &block->second;
}

void RaceCheck::on_grid_end(const GridRun& grid) {
    grids_.erase(grid.id());
}

void RaceCheck::on_block(const Cta& cta) {
    Block& block = grids_[cta.grid].blocks[cta.linear];
    block = {};
    block.id = cta.id;
    block.warps.resize(cta.warps.size());
    for (u32 i = 0; i < block.warps.size(); ++i) block.warps[i].id = warp_name(cta.linear, i);
    block.shared.resize((cta.shared.size() + 3) / 4);
}

void RaceCheck::on_block_end(const Cta& cta) {
    const auto grid = grids_.find(cta.grid);
    if (grid != grids_.end()) grid->second.blocks.erase(cta.linear);
}

void RaceCheck::on_arrive(const Cta& cta, u32 barrier, u32 warp) {
    Block* block = find_block(cta);
    if (block == nullptr) return;
    WarpClock& clock = block->warps[warp];
    Clocks& into = block->barriers[barrier];
    join(into, clock.seen);
    into[clock.id] = clock.now++;
}

void RaceCheck::on_release(const Cta& cta, u32 barrier, u32 warps) {
    Block* block = find_block(cta);
    if (block == nullptr) return;
    for (u32 i = 0; i < block->warps.size(); ++i) {
        if ((warps >> i & 1) != 0) join(block->warps[i].seen, block->barriers[barrier]);
    }
    block->barriers[barrier].clear();
}

GridObserver::Verdict RaceCheck::before(const Step& step) {
    const auto grid = grids_.find(step.cta.grid);
    Block* block = find_block(step.cta);
    if (grid == grids_.end() || block == nullptr) return Verdict::Go;
    WarpClock& warp = block->warps[step.warp.index];
    const bool together = step.active == step.warp.live;
    if (together && warp.apart) ++warp.now;
    warp.apart = !together;
    if (!step.decoded || step.lanes == 0) return Verdict::Go;
    if (step.slot.in.op == sass::Op::WARPSYNC) ++warp.now;
    if (has_fence(step.slot.in.op)) {
        warp.fenced = warp.seen;
        warp.fenced[warp.id] = warp.now++;
    }
    if (const std::optional<MemoryAccess> memory = access_of(step)) {
        const Access access{step, *memory, grid->second, *block, warp};
        for_lanes(memory->lanes, [&](u32 lane) { one_lane(access, lane); });
    }
    return Verdict::Go;
}

RaceCheck::Cell* RaceCheck::cell_of(const Access& access, const Place& place) {
    if (place.space == Space::Shared) {
        const u64 word = place.address / 4;
        return word < access.block.shared.size() ? &access.block.shared[word] : nullptr;
    }
    if (place.space != Space::Global) return nullptr;
    const u64 page = place.address / SmMemory::kPageBytes;
    const auto found = access.grid.pages.find(page);
    if (found != access.grid.pages.end()) return &found->second->cells[place.address / 4 % kPageWords];
    if (access.grid.pages.size() >= kPagesMax) {
        not_watched_ = true;
        return nullptr;
    }
    return &access.grid.pages.emplace(page, std::make_unique<Page>()).first->second->cells[place.address / 4 % kPageWords];
}

void RaceCheck::one_lane(const Access& access, u32 lane) {
    Place place = access.memory.place[lane];
    if (place.space == Space::Local) return;
    if (access.memory.strong) synchronise(access, place);
    const u32 offset = static_cast<u32>(place.address % 4);
    const u32 bytes = access.memory.bytes;
    place.address -= offset;
    if (bytes < 4) {
        one_word(access, lane, place, 0, static_cast<u8>(((1u << bytes) - 1) << offset));
        return;
    }
    constexpr u8 whole = 0xf;
    for (u32 word = 0; word < bytes / 4; ++word, place.address += 4) one_word(access, lane, place, word, whole);
}

// A strong access hears what was published at its place; one that writes publishes what was before the last fence.
void RaceCheck::synchronise(const Access& access, const Place& place) {
    const u64 key = place.address / 4;
    std::map<u64, Clocks>& sync = place.space == Space::Shared ? access.block.shared_sync : access.grid.sync;
    if (access.memory.kind != MemoryAccess::Kind::Store) {
        const auto found = sync.find(key);
        if (found != sync.end()) join(access.warp.seen, found->second);
    }
    if (access.memory.writes() && !access.warp.fenced.empty()) join(sync[key], access.warp.fenced);
}

bool RaceCheck::ordered(const Access& access, const Mark& before, u32 lane, u32 word) const {
    const WarpClock& warp = access.warp;
    if (before.who != warp.id) {
        const auto heard = warp.seen.find(before.who);
        return heard != warp.seen.end() && heard->second >= before.clock;
    }
    if (before.lane == lane || before.clock < warp.now) return true;
    const u32 pc = static_cast<u32>(access.step.pc - access.step.grid.launch().entry);
    const bool together = (before.active >> lane & 1) != 0 || (access.step.active >> before.lane & 1) != 0;
    // Two lanes of one instruction: which of the values stays is open, when they differ.
    if (before.pc == pc && together && access.memory.kind == MemoryAccess::Kind::Store)
        return (access.step.lanes >> before.lane & 1) == 0 ||
               access.memory.place[before.lane].address != access.memory.place[lane].address ||
               stored_word(access.step, before.lane, word) == stored_word(access.step, lane, word);
    return together;
}

void RaceCheck::one_word(const Access& access, u32 lane, const Place& place, u32 word, u8 bytes) {
    Cell* cell = cell_of(access, place);
    if (cell == nullptr) return;
    Mark now{.who = access.warp.id,
             .clock = access.warp.now,
             .pc = static_cast<u32>(access.step.pc - access.step.grid.launch().entry),
             .active = access.step.active,
             .lane = static_cast<u8>(lane),
             .bytes = bytes,
             .strong = access.memory.strong,
             .load = !access.memory.writes()};
    const auto check = [&](const Mark& before) {
        if (before.who == 0 || (before.bytes & bytes) == 0 || (before.strong && now.strong)) return;
        if (place.space == Space::Shared && (before.load ? now.strong : before.strong && now.load)) return;
        if (!ordered(access, before, lane, word)) report(access, before, now, place);
    };
    check(cell->write);
    if (now.load) {
        if (cell->read[0].who != 0 && cell->read[0].who != now.who) cell->read[1] = cell->read[0];
        cell->read[0] = now;
        return;
    }
    for (const Mark& read : cell->read) check(read);
    cell->read[0] = cell->read[1] = {};
    cell->write = now;
}

void RaceCheck::report(const Access& access, const Mark& before, const Mark& now, const Place& place) {
    constexpr u32 shared = 1, global = 2;
    const bool is_shared = place.space == Space::Shared;
    findings_.add({is_shared ? shared : global, before.pc, now.pc}, [&] {
        const auto what = [](const Mark& mark) {
            return mark.load ? "a load" : mark.strong ? "an atomic or strong write" : "a store";
        };
        return fmt::format("race on {} memory 0x{:x}: {} at pc 0x{:04x} by {} and {} at pc 0x{:04x} by {} have no order ({})",
                           is_shared ? "shared" : "global", place.address, what(before), before.pc,
                           place_text(access.step.grid, before.who, before.lane), what(now), now.pc,
                           place_text(access.step.grid, now.who, now.lane), sass::disassemble(access.step.slot.in));
    });
}

}  // namespace gpu::sm
