// Finds reads of memory that nobody has written, and accesses outside the allocations that a client has made.
// Shared and local memory are undefined when a block begins (this model has zeroes there). Of global memory the checker
// knows what it was told of: without an allocation it checks none. An access that faults is the executor's to report.
#pragma once

#include <string>

#include "gpu_model/sm/exec/access_view.h"
#include "gpu_model/sm/exec/observer.h"
#include "gpu_model/sm/tools/findings.h"

namespace gpu::sm {

class MemoryCheck final : public GridObserver {
public:
    struct Allocation {
        u64 va = 0;
        u64 bytes = 0;
        std::string name;
        bool initialised = true;  // false: bytes count as written when a kernel has written them
    };
    // A later allocation takes the place of those that it overlaps.
    void allocate(Allocation allocation);
    void forget(u64 va) { allocations_.erase(va); }
    // What lies in [va, va + bytes): allocations that reach out of it are cut.
    void forget_range(u64 va, u64 bytes);
    void forget_allocations() { allocations_.clear(); }
    // There are allocations that the checker is not told of: only the rest of an allocation's last page is outside.
    void know_in_part() { in_part_ = true; }

    void on_block(const Cta& cta) override;
    void on_block_end(const Cta& cta) override;
    void on_grid_end(const GridRun& grid) override;
    Verdict before(const Step& step) override;
    void after(const Step& step) override;

    const Findings& findings() const { return findings_; }

private:
    // A byte of memory each, 1: written.
    using Written = std::vector<u8>;
    struct Known {
        Allocation allocation;
        Written written;  // empty: all of it
    };
    struct Block {
        Written shared;
        std::vector<std::map<u32, Written>> local;  // by warp; a lane's bytes, once it has written some
    };
    Block* find_block(const Cta& cta);
    void check_lane(const Step& step, u32 lane);
    void check_global(const Step& step, u32 lane, const Place& place);
    void note_written(const Step& step, u32 lane);
    Known* find_allocation(u64 va);
    Written* local_of(const Step& step, u32 lane);
    void report(const Step& step, u32 kind, u32 lane, const Place& place, const std::string& what);

    std::map<std::pair<u64, u64>, Block> blocks_;  // by grid and linear index
    std::map<u64, Known> allocations_;             // by address
    bool in_part_ = false;
    std::optional<MemoryAccess> access_;           // of the instruction between before() and after()
    Findings findings_;
};

}  // namespace gpu::sm
