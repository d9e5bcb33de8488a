// Breakpoints by program counter, and what a person wants to see of a warp that has reached one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu_model/sm/exec/observer.h"

namespace gpu::sm {

// Where to stop: an address, or an offset from the entry of one kernel. The kernel is its name, "#n" for the n-th
// launch (from 1), or the address of its entry.
struct Breakpoint {
    std::string kernel;  // empty: pc is an address
    u64 pc = 0;
    u64 hits = 0;  // groups of lanes that have come by
};
// "PC" or "KERNEL:PC", numbers decimal or 0x and hexadecimal. Empty: `text` is no breakpoint.
std::optional<Breakpoint> parse_breakpoint(std::string_view text);

class Breakpoints final : public GridObserver {
public:
    // What to do when a group of lanes is about to execute the instruction.
    using OnHit = std::function<Verdict(const Step& step, const Breakpoint& breakpoint)>;

    Breakpoints(std::vector<Breakpoint> points, OnHit on_hit) : points_(std::move(points)), on_hit_(std::move(on_hit)) {}
    // The next grid is of this kernel.
    void name_next(std::string_view name) { next_name_ = name; }

    void on_grid(const GridRun& grid) override;
    void on_grid_end(const GridRun& grid) override;
    Verdict before(const Step& step) override;
    const std::vector<Breakpoint>& points() const { return points_; }

private:
    std::vector<Breakpoint> points_;
    OnHit on_hit_;
    std::string next_name_;
    u64 launches_ = 0;
    // Addresses of the points that are in a running grid, by GridRun::id(); index into points_.
    struct Armed {
        u64 grid = 0, address = 0;
        std::size_t point = 0;
    };
    std::vector<Armed> armed_;
};

// Place, instruction, groups of lanes, registers (one value where the lanes agree), predicates, uniform registers.
std::string describe_warp(const Step& step);

}  // namespace gpu::sm
