// The stepping interface of the executor: who wants to see a grid run, instruction by instruction, is a GridObserver.
// Without one the loop of grid.cpp is compiled without any of this. Traces, checkers, breakpoints and the timing model
// are observers; a debugger's protocol would be one. An observer changes nothing of what it sees, except that it can
// hold a grid before an instruction.
#pragma once

#include "gpu_model/sm/exec/exec.h"

namespace gpu::sm {

class GridRun;

// One group of lanes at one instruction.
struct Step {
    GridRun& grid;
    const Cta& cta;
    const Warp& warp;
    const Slot& slot;      // the instruction; a word that does not decode has only slot.in.word
    Exec& exec;            // for addresses of memory operands (access_view.h)
    u64 pc = 0;            // address of the instruction
    u32 active = 0;        // lanes of the group
    u32 lanes = 0;         // those whose guard is true
    u64 number = 0;        // warp instructions of the grid before this one
    bool decoded = true;
    // after() only:
    bool trapped = false;  // it stopped the grid; `done` lanes have done it all the same
    u32 done = 0;          // lanes that have done it
    u64 next_pc = 0;       // where the group goes on, when it has not split
};

class GridObserver {
public:
    enum class Verdict : u8 { Go, Pause };

    // A grid is about to run its first instruction, or has ended (done, trapped or dropped).
    virtual void on_grid(const GridRun&) {}
    virtual void on_grid_end(const GridRun&) {}
    virtual void on_block(const Cta&) {}
    virtual void on_block_end(const Cta&) {}
    // Pause: GridRun::run() returns Paused with nothing done; the next run() does the instruction without asking again.
    virtual Verdict before(const Step&) { return Verdict::Go; }
    virtual void after(const Step&) {}
    // Lanes of a warp arrive at a barrier of their block; a barrier that is complete lets `warps` (a mask) go on, or
    // none when nobody waited.
    virtual void on_arrive(const Cta&, u32 /*barrier*/, u32 /*warp*/) {}
    virtual void on_release(const Cta&, u32 /*barrier*/, u32 /*warps*/) {}

protected:
    ~GridObserver() = default;
};

}  // namespace gpu::sm
