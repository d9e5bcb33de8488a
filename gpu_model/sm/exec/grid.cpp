// The loop of the SMs. A warp runs one group of lanes at a time; other groups wait in its list.
#include "gpu_model/sm/exec/grid.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu_model/sm/timing.h"

namespace gpu::sm {
namespace {

// Turns, in warp instructions. Long turns keep a block's data in the host's caches; any values give the same results
// to programs that synchronise. (model)
constexpr u64 kBlockTurn = 1 << 16;
constexpr u64 kWarpTurn = 1 << 11;
// Ended blocks that are kept for the next ones.
constexpr std::size_t kSpareBlocks = 64;

// What one SM holds (Turing): it bounds how many blocks run side by side.
constexpr u32 kBlocksPerSm = 16;
constexpr u32 kWarpsPerSm = 32;
constexpr u32 kRegistersPerSm = 65536;
constexpr u32 kSharedPerSm = 65536;
constexpr u32 kThreadsPerBlockMax = 1024;
constexpr u64 kLocalBytesMax = kWindowBytes;
// Local memory of all blocks that run side by side: bounds what a launch costs this host. (model)
constexpr u64 kLocalBytesAtOnce = u64{256} << 20;
constexpr u32 kGridXMax = 0x7fff'ffff;
constexpr u32 kGridYzMax = 0xffff;

}  // namespace

std::string_view trap_name(TrapReason reason) {
    switch (reason) {
#define TRAP(value, name, meaning) \
    case TrapReason::name:         \
        return #name;
#include "gpu_model/sm/traps.def"
#undef TRAP
    }
    return "?";
}

std::string_view trap_meaning(TrapReason reason) {
    switch (reason) {
#define TRAP(value, name, meaning) \
    case TrapReason::name:         \
        return meaning;
#include "gpu_model/sm/traps.def"
#undef TRAP
    }
    return "?";
}

std::string Trap::describe() const {
    std::string text = fmt::format("{} at pc 0x{:x}, word 0x{:016x}{:016x}, block ({},{},{}) warp {} lanes 0x{:08x}",
                                   trap_name(reason), pc, word.hi, word.lo, block[0], block[1], block[2], warp, lanes);
    if (address != 0) text += fmt::format(", address 0x{:x}", address);
    return text + ": " + (detail.empty() ? std::string(trap_meaning(reason)) : detail);
}

std::string check_launch(const KernelLaunch& launch) {
    const u64 threads = u64{launch.block[0]} * launch.block[1] * launch.block[2];
    for (u32 extent : launch.block) {
        if (extent == 0 || extent > kThreadsPerBlockMax) return fmt::format("block dimension {}", extent);
    }
    if (threads > kThreadsPerBlockMax) return fmt::format("{} threads in a block", threads);
    if (launch.grid[0] > kGridXMax || launch.grid[1] > kGridYzMax || launch.grid[2] > kGridYzMax)
        return fmt::format("grid of {} x {} x {} blocks", launch.grid[0], launch.grid[1], launch.grid[2]);
    if (launch.registers == 0 || launch.registers > kRegistersMax) return fmt::format("{} registers", launch.registers);
    if (launch.shared_bytes > kSharedPerSm) return fmt::format("{} bytes of shared memory", launch.shared_bytes);
    if (launch.barriers > kBarriersMax) return fmt::format("{} barriers", launch.barriers);
    if (u64{launch.local_low_bytes} + launch.local_high_bytes > kLocalBytesMax)
        return fmt::format("{} + {} bytes of local memory", launch.local_low_bytes, launch.local_high_bytes);
    if (launch.sm_count == 0) return "no SM";
    if (launch.entry % sass::kWordBytes != 0) return fmt::format("entry 0x{:x}", launch.entry);
    return {};
}

GridRun::GridRun(const KernelLaunch& launch, SmMemory& memory, CodeCache& code, const SmClock& clock, BlockPool* pool)
    : launch_(launch),
      memory_(memory),
      code_(code),
      clock_(clock),
      spare_(pool == nullptr ? own_pool_ : *pool) {
    exec_.grid = this;
    exec_.trap_out = &trap_;
    exec_.epoch = code_.next_epoch();
    exec_.mask_of = 0;
    exec_.lanes = 0;
    block_count_ = u64{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    if (block_count_ == 0) state_ = GridState::Done;
    resident_max_ = find_resident_max();
}

GridRun::~GridRun() {
    for (auto& cta : resident_) {
        if (spare_.size() < kSpareBlocks) spare_.push_back(std::move(cta));
    }
    if (!begun_) return;
    for (GridObserver* observer : observers_) observer->on_grid_end(*this);
}

u32 GridRun::blocks_per_sm() const {
    const u32 threads = launch_.block[0] * launch_.block[1] * launch_.block[2];
    const u32 warps = (threads + kLanes - 1) / kLanes;
    u32 blocks = std::min(kBlocksPerSm, kWarpsPerSm / warps);
    blocks = std::min(blocks, kRegistersPerSm / (launch_.registers * warps * kLanes));
    if (launch_.shared_bytes != 0) blocks = std::min(blocks, kSharedPerSm / launch_.shared_bytes);
    return std::max(blocks, u32{1});
}

u32 GridRun::find_resident_max() const {
    const u32 threads = launch_.block[0] * launch_.block[1] * launch_.block[2];
    const u32 warps = (threads + kLanes - 1) / kLanes;
    const u64 on_chip = u64{blocks_per_sm()} * launch_.sm_count;
    const u64 local = (u64{launch_.local_low_bytes} + launch_.local_high_bytes) * warps * kLanes;
    const u64 by_local = local == 0 ? on_chip : std::max<u64>(kLocalBytesAtOnce / local, 1);
    return static_cast<u32>(std::min(on_chip, by_local));
}

void GridRun::start_block() {
    std::unique_ptr<Cta> cta;
    if (spare_.empty()) {
        cta = std::make_unique<Cta>();
    } else {
        cta = std::move(spare_.back());
        spare_.pop_back();
    }
    const u64 index = next_block_++;
    const auto extent = [&](u32 axis) { return u64{launch_.grid[axis]}; };
    cta->linear = index;
    cta->grid = id();
    cta->id = {static_cast<u32>(index % extent(0)), static_cast<u32>(index / extent(0) % extent(1)),
               static_cast<u32>(index / extent(0) / extent(1))};
    cta->sm = static_cast<u32>(index % launch_.sm_count);
    cta->thread_count = launch_.block[0] * launch_.block[1] * launch_.block[2];
    const u32 warps = (cta->thread_count + kLanes - 1) / kLanes;
    cta->warps.resize(warps);
    cta->local.resize(warps);
    cta->shared.assign(launch_.shared_bytes, 0);
    cta->reset_barriers();
    cta->next_warp = 0;
    cta->stuck = false;
    cta->live_warps = warps;
    cta->observers = observers_.empty() ? nullptr : &observers_;
    for (u32 i = 0; i < warps; ++i) {
        const u32 lanes = std::min(cta->thread_count - i * kLanes, kLanes);
        cta->warps[i].start(i, lanes == kLanes ? kAllLanes : lane_bit(lanes) - 1, launch_.entry, launch_.registers);
        cta->local[i].resize(launch_.local_low_bytes + launch_.local_high_bytes);
    }
    resident_.push_back(std::move(cta));
    for (GridObserver* observer : observers_) observer->on_block(*resident_.back());
}

// Takes the block whose turn it is off its SM.
void GridRun::end_block() {
    for (GridObserver* observer : observers_) observer->on_block_end(*resident_[turn_]);
    ++blocks_done_;
    if (spare_.size() < kSpareBlocks) spare_.push_back(std::move(resident_[turn_]));
    resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(turn_));
}

GridState GridRun::run(u64 warp_instructions) {
    // What the memory lends is good for one call.
    pages_.fill({});
    page_ = nullptr;
    const u64 limit = instructions_ + warp_instructions;
    if (state_ == GridState::Paused) state_ = GridState::Running;
    if (!begun_ && state_ == GridState::Running) {
        begun_ = true;
        for (GridObserver* observer : observers_) observer->on_grid(*this);
    }
    while (state_ == GridState::Running && instructions_ < limit) {
        if (turn_ >= resident_.size()) {
            if (next_block_ < block_count_ && resident_.size() < resident_max_) {
                turn_ = resident_.size();
                start_block();
            } else if (resident_.empty()) {
                state_ = GridState::Deadlocked;
                break;
            } else {
                turn_ = 0;
            }
        }
        Cta& cta = *resident_[turn_];
        if (!cta.stuck) run_block(cta, std::min(kBlockTurn, limit - instructions_));
        if (state_ != GridState::Running) break;
        if (cta.live_warps == 0) {
            end_block();
            if (blocks_done_ == block_count_) state_ = GridState::Done;
            continue;
        }
        const bool may_start = next_block_ < block_count_ && resident_.size() < resident_max_;
        const bool all_stuck = std::all_of(resident_.begin(), resident_.end(), [](const auto& c) { return c->stuck; });
        if (all_stuck && !may_start) state_ = GridState::Deadlocked;
        ++turn_;
    }
    return state_;
}

void GridRun::run_block(Cta& cta, u64 budget) {
    exec_.cta = &cta;
    const u64 end = instructions_ + budget;
    u32 idle = 0;
    while (instructions_ < end && cta.live_warps != 0) {
        Warp& warp = cta.warps[cta.next_warp];
        cta.next_warp = cta.next_warp + 1 == cta.warps.size() ? 0 : cta.next_warp + 1;
        const u64 before = instructions_;
        const u64 turn = std::min(kWarpTurn, end - instructions_);
        if (!warp.done()) observers_.empty() ? run_warp<false>(cta, warp, turn) : run_warp<true>(cta, warp, turn);
        if (state_ == GridState::Paused) cta.next_warp = warp.index;
        if (state_ != GridState::Running) return;
        idle = instructions_ == before ? idle + 1 : 0;
        if (idle >= cta.warps.size()) {
            cta.stuck = cta.live_warps != 0;
            return;
        }
    }
}

// Takes a ready group out of the list and makes it the running one. Groups at the same pc run together from here.
bool GridRun::pick_group(Warp& warp) {
    using State = LaneGroup::State;
    // Usually the warp has not diverged.
    if (warp.group_count == 1 && warp.groups[0].state == State::Ready) {
        warp.group_count = 0;
        exec_.pc = warp.groups[0].pc;
        exec_.active = warp.groups[0].lanes;
        exec_.patience = Exec::kPatience;
        exec_.stop_pc = ~u64{0};
        exec_.oldest_first = false;
        return true;
    }
    u32 best = kLanes;
    for (u32 i = 0; i < warp.group_count; ++i) {
        if (warp.groups[i].state != State::Ready) continue;
        if (best == kLanes || (!exec_.oldest_first && warp.groups[i].pc < warp.groups[best].pc)) best = i;
    }
    if (best == kLanes) return false;
    const u64 pc = warp.groups[best].pc;
    u32 lanes = 0, kept = 0;
    for (u32 i = 0; i < warp.group_count; ++i) {
        const LaneGroup& group = warp.groups[i];
        if (group.state == State::Ready && group.pc == pc) {
            lanes |= group.lanes;
        } else {
            warp.groups[kept++] = group;
        }
    }
    warp.group_count = kept;
    exec_.pc = pc;
    exec_.active = lanes;
    exec_.patience = Exec::kPatience;
    exec_.stop_pc = exec_.oldest_first ? ~u64{0} : next_ready_pc(warp);
    exec_.oldest_first = false;
    return true;
}

Slot* GridRun::lookup() {
    const u64 pc = exec_.pc;
    if (page_ == nullptr || pc - page_->base >= CodePage::kBytes) {
        const u64 base = pc / CodePage::kBytes * CodePage::kBytes;
        page_ = code_.page(memory_, base, exec_.epoch);
        if (page_ == nullptr) {
            exec_.trap(Slot{}, TrapReason::FETCH_FAULT, exec_.active, pc);
            return nullptr;
        }
        code_begin_ = std::min(code_begin_, base);
        code_end_ = std::max(code_end_, base + CodePage::kBytes);
    }
    const u32 index = static_cast<u32>((pc - page_->base) / sass::kWordBytes);
    Slot& slot = page_->slots[index];
    if (slot.run == nullptr) [[unlikely]]
        code_.decode(*page_, index);
    return &slot;
}

u64 GridRun::cycles() const {
    return timing_ ? timing_->now() : instructions_ + turn_instructions_;
}

void GridRun::enable_timing() {
    timing_ = std::make_unique<SmTiming>(launch_, blocks_per_sm());
    observers_.insert(observers_.begin(), timing_.get());
}

void GridRun::add_observer(GridObserver& observer) {
    observers_.push_back(&observer);
    for (const auto& cta : resident_) cta->observers = &observers_;
}

Step GridRun::step_of(const Cta& cta, const Warp& warp, const Slot& slot) {
    return {.grid = *this,
            .cta = cta,
            .warp = warp,
            .slot = slot,
            .exec = exec_,
            .pc = exec_.pc,
            .active = exec_.active,
            .lanes = exec_.lanes,
            .number = instructions_ + turn_instructions_ - 1,
            .decoded = CodeCache::decodes(slot)};
}

bool GridRun::watch_before(const Step& step) {
    const Held here{step.cta.linear, step.pc, step.warp.index};
    if (held_ == here) {
        held_.reset();
        return true;
    }
    bool go = true;
    for (GridObserver* observer : observers_) go = observer->before(step) == GridObserver::Verdict::Go && go;
    if (!go) held_ = here;
    return go;
}

void GridRun::watch_after(Step& step, u32 lanes) {
    step.trapped = exec_.event == Event::Trap;
    step.done = step.trapped ? exec_.completed : lanes;
    step.next_pc = exec_.next_pc;
    for (GridObserver* observer : observers_) observer->after(step);
}

u64 GridRun::run_straight(Slot* slot, u64 most) {
    Exec& x = exec_;
    const u64 in_page = (page_->base + CodePage::kBytes - x.pc) / sass::kWordBytes;
    const u64 to_stop = x.stop_pc > x.pc ? (x.stop_pc - x.pc - 1) / sass::kWordBytes + 1 : 1;
    Slot* end = slot + std::min({most, in_page, to_stop});
    Slot* const begin = slot;
    const u32 register_limit = launch_.registers, active = x.active;
    x.completed = 0;
    do {
        x.lanes = slot->guard.index == sass::kPt ? active : active & x.pred(slot->guard);
        if (slot->straight_top > register_limit) {
            if (!slot->skippable || x.lanes != 0) break;
        } else if (x.lanes != 0) {
            slot->run(x, *slot);
            if (x.event != Event::None) [[unlikely]] {
                if (x.event == Event::Trap) return static_cast<u64>(slot - begin) + 1;
                x.event = Event::None;
                x.stop_pc = next_ready_pc(*x.warp);
                end = slot + 1;
            }
        }
        x.pc += sass::kWordBytes;
        ++slot;
    } while (slot != end);
    return static_cast<u64>(slot - begin);
}

template <bool Watched>
void GridRun::run_warp(Cta& cta, Warp& warp, u64 budget) {
    Exec& x = exec_;
    x.warp = &warp;
    x.active = 0;
    x.event = Event::None;
    if (!pick_group(warp)) return;
    const u32 register_limit = launch_.registers;
    u64 done = 0;
    while (done < budget) {
        Slot* slot = lookup();
        if (slot == nullptr) break;
        if constexpr (!Watched) {
            if (slot->straight_top <= register_limit) {
                done += run_straight(slot, budget - done);
                if (x.event == Event::Trap) break;
                if (x.pc >= x.stop_pc) [[unlikely]] {
                    add_group(warp, {.pc = x.pc, .lanes = x.active});
                    pick_group(warp);
                }
                continue;
            }
        }
        ++done;
        turn_instructions_ = done;
        x.next_pc = x.pc + sass::kWordBytes;
        x.completed = 0;
        const u32 guard = slot->uniform ? x.uniform_pred(slot->guard) : x.pred(slot->guard);
        x.lanes = x.active & guard;
        [[maybe_unused]] std::optional<Step> step;
        if constexpr (Watched) {
            step.emplace(step_of(cta, warp, *slot));
            if (!watch_before(*step)) {
                --done;
                state_ = GridState::Paused;
                break;
            }
        }
        if (x.lanes != 0) {
            [[maybe_unused]] const u32 lanes = x.lanes;
            if (slot->register_top > register_limit) [[unlikely]] {
                x.trap(*slot, TrapReason::OOR_REG, x.lanes);
            } else {
                slot->run(x, *slot);
            }
            if constexpr (Watched) watch_after(*step, lanes);
            if (x.event != Event::None) [[unlikely]] {
                if (x.event == Event::Trap) break;
                x.event = Event::None;
                if (x.active == 0) {
                    if (!pick_group(warp)) break;
                    continue;
                }
                x.stop_pc = next_ready_pc(warp);
            }
        } else if constexpr (Watched) {
            watch_after(*step, 0);
        }
        x.pc = x.next_pc;
        if (x.pc >= x.stop_pc) [[unlikely]] {
            add_group(warp, {.pc = x.pc, .lanes = x.active});
            pick_group(warp);
        }
    }
    instructions_ += done;
    turn_instructions_ = 0;
    if (x.event == Event::Trap) {
        state_ = GridState::Trapped;
        if (x.completed != 0) add_group(warp, {.pc = x.pc + sass::kWordBytes, .lanes = x.completed});
        const u32 rest = x.active & ~x.completed;
        if (rest != 0) add_group(warp, {.pc = x.pc, .lanes = rest});
    } else if (x.active != 0) {
        add_group(warp, {.pc = x.pc, .lanes = x.active});
    } else if (warp.done()) {
        --cta.live_warps;
    }
}

u8* GridRun::find_page(u64 va, bool for_write) {
    const u64 page = va / SmMemory::kPageBytes;
    u8* bytes = memory_.page(page * SmMemory::kPageBytes, for_write);
    if (bytes == nullptr) return nullptr;
    pages_[page_slot(page)] = {page, bytes, for_write};
    return bytes + va % SmMemory::kPageBytes;
}

void GridRun::code_changed(u64 va, u64 bytes) {
    if (!code_.drop(va, bytes)) return;
    page_ = nullptr;
    // Straight code must be looked up again.
    if (exec_.event == Event::None) exec_.event = Event::Switch;
}

bool GridRun::read_constant(u32 bank_index, u64 offset, std::span<u8> out) {
    const ConstantBuffer& buffer = launch_.banks[bank_index];
    Bank& bank = banks_[bank_index];
    const u64 first_granule = offset / kConstantGranule;
    if (offset + out.size() <= buffer.bytes && first_granule < bank.present.size() && bank.present[first_granule] != 0 &&
        (offset + out.size() - 1) / kConstantGranule == first_granule) [[likely]] {
        std::copy_n(bank.bytes.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
        return true;
    }
    if (bank.present.empty()) {
        const std::size_t granules = (buffer.bytes + kConstantGranule - 1) / kConstantGranule;
        bank.bytes.assign(granules * kConstantGranule, 0);
        bank.present.assign(granules, 0);
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
        const u64 at = offset + i;
        if (at >= buffer.bytes) {
            out[i] = 0;
            continue;
        }
        const std::size_t granule = at / kConstantGranule;
        if (bank.present[granule] == 0) {
            const u64 first = u64{granule} * kConstantGranule;
            const u64 count = std::min<u64>(kConstantGranule, buffer.bytes - first);
            if (!memory_.read(buffer.va + first, std::span(bank.bytes).subspan(first, count))) return false;
            bank.present[granule] = 1;
        }
        out[i] = bank.bytes[at];
    }
    return true;
}

}  // namespace gpu::sm
