// A running grid: blocks on SMs, warps in turn, and the instruction loop. It is driven from outside in slices, so that
// the rest of the machine goes on beside it.
// Order: a block runs until it ends or its turn is over; only then does the next one start. So warps that wait for
// each other always get on, and blocks that do not wait run one after another. (model)
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gpu_model/sm/exec/code_cache.h"
#include "gpu_model/sm/exec/cta.h"
#include "gpu_model/sm/exec/exec.h"
#include "gpu_model/sm/exec/observer.h"

namespace sim {
class StateVisitor;
}

namespace gpu::sm {

class SmTiming;

// Blocks that have ended, kept for the next ones: of one grid, or of all grids of an engine.
using BlockPool = std::vector<std::unique_ptr<Cta>>;

class GridRun {
public:
    // References outlive the run. Precondition: check_launch() found nothing. pool: nullptr keeps blocks in the run.
    GridRun(const KernelLaunch& launch, SmMemory& memory, CodeCache& code, const SmClock& clock,
            BlockPool* pool = nullptr);
    ~GridRun();
    GridRun(const GridRun&) = delete;
    GridRun& operator=(const GridRun&) = delete;

    // Sees every step from now on, after the observers that came before it; outlives the run. Not inside run().
    void add_observer(GridObserver& observer);

    // Runs about `warp_instructions` more.
    GridState run(u64 warp_instructions);
    // After a trap: the lanes that have not done the instruction try it again.
    void resume() {
        if (state_ == GridState::Trapped) state_ = GridState::Running;
    }
    GridState state() const { return state_; }
    const Trap& trap() const { return trap_; }
    u64 instructions() const { return instructions_; }  // of whole warps
    u64 blocks_done() const { return blocks_done_; }

    // All but the launch, which whoever loads has given to the constructor. Not inside run().
    void visit(sim::StateVisitor& visitor);

    const KernelLaunch& launch() const { return launch_; }
    // A number that no other grid of the same code cache has.
    u64 id() const { return exec_.epoch; }
    SmMemory& memory() { return memory_; }
    const SmClock& clock() const { return clock_; }
    // What SR_CLOCK reads. Without timing one warp instruction counts as one cycle. (model)
    u64 cycles() const;
    // Counts cycles from now on (sm/timing.h). Before the first run().
    void enable_timing();
    const SmTiming* timing() const { return timing_.get(); }  // nullptr: not enabled

    // Plain memory of an access inside one page, or nullptr: then read() or write() must be used.
    u8* global(u64 va, bool for_write) {
        const u64 page = va / SmMemory::kPageBytes;
        const PageEntry& entry = pages_[page_slot(page)];
        if (entry.page == page && (entry.writable || !for_write)) [[likely]]
            return entry.bytes + va % SmMemory::kPageBytes;
        return find_page(va, for_write);
    }
    // Must follow every store to global memory that did not go through write(): code may be there.
    void stored(u64 va, u64 bytes) {
        if (va < code_end_ && va + bytes > code_begin_) [[unlikely]]
            code_changed(va, bytes);
    }

    // Bytes of a constant bank; zero beyond its end. False: a fault.
    bool read_constant(u32 bank, u64 offset, std::span<u8> out);
    bool has_bank(u32 bank) const { return bank < kConstantBanks; }

    // Block and grid sizes are at most this far into bank 0, and never zero when the client has written them.
    static constexpr u64 kSizeWords = 6;
    // Bit w: the kernel has read word w of bank 0, a size, as zero.
    u32 zero_sizes() const { return zero_sizes_; }
    void note_zero_size(u64 word) { zero_sizes_ |= u32{1} << word; }

private:
    struct PageEntry {
        u64 page = ~u64{0};
        u8* bytes = nullptr;
        bool writable = false;
    };
    static constexpr u32 kPageEntries = 64;
    // Spreads allocations that begin at large powers of two.
    static u32 page_slot(u64 page) {
        constexpr u64 golden_ratio = 0x9e37'79b9'7f4a'7c15;
        constexpr unsigned slot_bits = 6;
        static_assert(kPageEntries == 1u << slot_bits);
        return static_cast<u32>((page * golden_ratio) >> (64 - slot_bits));
    }
    static constexpr u32 kConstantGranule = 256;
    struct Bank {
        std::vector<u8> bytes;
        std::vector<u8> present;  // by granule
    };

    // With observers: whether the instruction may run now, and what it has done.
    bool watch_before(const Step& step);
    void watch_after(Step& step, u32 lanes);
    Step step_of(const Cta& cta, const Warp& warp, const Slot& slot);
    u8* find_page(u64 va, bool for_write);
    void code_changed(u64 va, u64 bytes);
    void start_block();
    void run_block(Cta& cta, u64 budget);
    void end_block();
    // The instruction loop, with and without observers.
    template <bool Watched>
    void run_warp(Cta& cta, Warp& warp, u64 budget);
    // The running group's straight code from `slot` on, at most `most` instructions, whatever no lane executes among
    // it. Answers how many; pc is then behind them, or at the one that trapped.
    u64 run_straight(Slot* slot, u64 most);
    bool pick_group(Warp& warp);
    Slot* lookup();
    u32 blocks_per_sm() const;
    u32 find_resident_max() const;
    void visit_block(sim::StateVisitor& visitor, Cta& cta);

    KernelLaunch launch_;
    SmMemory& memory_;
    CodeCache& code_;
    const SmClock& clock_;
    GridState state_ = GridState::Running;
    Trap trap_;
    Exec exec_;
    std::vector<std::unique_ptr<Cta>> resident_;
    std::size_t resident_max_ = 0;
    BlockPool own_pool_;
    BlockPool& spare_;
    std::unique_ptr<SmTiming> timing_;
    std::vector<GridObserver*> observers_;
    bool begun_ = false;  // observers know of the grid
    // The instruction that an observer held: it may run now.
    struct Held {
        u64 block = 0, pc = 0;
        u32 warp = 0;
        bool operator==(const Held&) const = default;
    };
    std::optional<Held> held_;
    std::size_t turn_ = 0;
    u64 next_block_ = 0, block_count_ = 0, blocks_done_ = 0;
    u64 instructions_ = 0, turn_instructions_ = 0;
    CodePage* page_ = nullptr;  // that exec_.pc was in last
    u32 zero_sizes_ = 0;
    u64 code_begin_ = ~u64{0}, code_end_ = 0;  // addresses of decoded pages of this launch
    std::array<PageEntry, kPageEntries> pages_;
    std::array<Bank, kConstantBanks> banks_;
};

// What is wrong with a launch, or empty. A launch that passes cannot hurt the executor.
std::string check_launch(const KernelLaunch& launch);

// Groups of a warp that wait for each other: those whose condition holds now become ready.
void release_waiting(Warp& warp);
// Lowest pc of a ready group in the list; all ones: there is none.
u64 next_ready_pc(const Warp& warp);
// Adds a group to the warp's list.
inline void add_group(Warp& warp, const LaneGroup& group) {
    warp.groups[warp.group_count++] = group;
}

}  // namespace gpu::sm
