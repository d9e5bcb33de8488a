// Finds accesses of shared and global memory by two lanes with nothing that orders them, one of them a write.
// What orders: barriers of a block; a fence (MEMBAR) before a strong store or an atomic whose place another thread then
// reads strongly or atomically; lanes of a warp that were or are in one group, and any meeting of the warp's lanes;
// the end of a grid. Strong accesses and atomics do not race with each other. In shared memory a plain load does not race
// with an atomic: compiled loops around ATOMS.CAST begin with one. (model)
// Not seen: what the host or an engine does meanwhile. A word keeps its last write and two of its last readers.
#pragma once

#include <memory>
#include <string>

#include "gpu_model/sm/exec/access_view.h"
#include "gpu_model/sm/exec/observer.h"
#include "gpu_model/sm/tools/findings.h"

namespace gpu::sm {

class RaceCheck final : public GridObserver {
public:
    // Pages of global memory of one grid that are watched; more are not, and not_watched() says so.
    static constexpr std::size_t kPagesMax = 8192;

    void on_grid_end(const GridRun& grid) override;
    void on_block(const Cta& cta) override;
    void on_block_end(const Cta& cta) override;
    Verdict before(const Step& step) override;
    void on_arrive(const Cta& cta, u32 barrier, u32 warp) override;
    void on_release(const Cta& cta, u32 barrier, u32 warps) override;

    const Findings& findings() const { return findings_; }
    bool not_watched() const { return not_watched_; }

private:
    // Clocks of other warps that a warp knows to be past.
    using Clocks = std::map<u32, u32>;
    struct Mark {
        u32 who = 0;  // a warp; 0: nobody
        u32 clock = 0;
        u32 pc = 0;  // from the kernel's entry
        u32 active = 0;
        u8 lane = 0;
        u8 bytes = 0;  // of the word, as a mask
        bool strong = false;
        bool load = false;
    };
    struct Cell {
        Mark write;
        Mark read[2];
    };
    static constexpr u32 kPageWords = SmMemory::kPageBytes / 4;
    struct Page {
        std::array<Cell, kPageWords> cells;
    };
    struct WarpClock {
        u32 id = 0;
        u32 now = 1;
        bool apart = false;  // the warp's lanes were in several groups
        Clocks seen, fenced;
    };
    struct Block {
        std::array<u32, 3> id{};
        std::vector<WarpClock> warps;
        std::vector<Cell> shared;
        std::map<u64, Clocks> shared_sync;
        std::array<Clocks, kBarriersMax> barriers;
    };
    struct Grid {
        std::map<u64, Block> blocks;  // resident, by linear index
        std::map<u64, std::unique_ptr<Page>> pages;
        std::map<u64, Clocks> sync;  // by address of a word that strong writes went to
    };
    struct Access {
        const Step& step;
        const MemoryAccess& memory;
        Grid& grid;
        Block& block;
        WarpClock& warp;
    };

    Block* find_block(const Cta& cta);
    Cell* cell_of(const Access& access, const Place& place);
    void one_lane(const Access& access, u32 lane);
    void one_word(const Access& access, u32 lane, const Place& place, u32 word, u8 bytes);
    void synchronise(const Access& access, const Place& place);
    bool ordered(const Access& access, const Mark& before, u32 lane, u32 word) const;
    void report(const Access& access, const Mark& before, const Mark& now, const Place& place);
    static void join(Clocks& into, const Clocks& from);

    std::map<u64, Grid> grids_;
    Findings findings_;
    bool not_watched_ = false;
};

}  // namespace gpu::sm
