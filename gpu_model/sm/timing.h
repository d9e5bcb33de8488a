// Timing of the SMs, first form: how long a grid takes, by the control bits of its code (stall counts, scoreboards, wait
// masks, yield) and the latencies of instruction_latency.def. It watches a grid run and changes no value but what the
// clock registers read.
// What is counted: for each warp the cycle of its next issue; for each sub-core and SM how long its units are held. A
// block takes as long as its slowest warp, and no less than its busiest unit; blocks follow each other on an SM as room
// allows. (model) Not modelled: caches and memory bandwidth (loads hit in L1), bank conflicts, instruction fetch.
// Source of the rules: Huerta et al. 2025 (MICRO), section 5; Jia et al. 2019 (arXiv 1903.07486).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gpu_model/sm/exec/observer.h"
#include "gpu_model/sm/exec/register_use.h"

namespace sim {
class StateVisitor;
}

namespace gpu::sm {

// A consumer that was issued before its producer's result was there: real hardware gives it the old value.
struct Hazard {
    u64 producer_pc = 0, consumer_pc = 0;  // from the kernel's entry
    std::string what;                      // "R5", "P0", "UR4", "UP1"
    u64 missing_cycles = 0;
    bool no_wait = false;  // the producer tells a scoreboard, or none, that the consumer did not wait for
    std::string describe() const;
};

class SmTiming final : public GridObserver {
public:
    static constexpr std::size_t kHazardsMax = 64;

    // blocks_per_sm: how many blocks an SM holds at once, at least 1.
    SmTiming(const KernelLaunch& launch, u32 blocks_per_sm);

    void on_block(const Cta& cta) override;
    void on_block_end(const Cta& cta) override;
    Verdict before(const Step& step) override;
    void after(const Step& step) override;
    void on_arrive(const Cta& cta, u32 barrier, u32 warp) override;
    void on_release(const Cta& cta, u32 barrier, u32 warps) override;

    // SM cycles since the grid began: of the instruction that runs now, and of all that was issued.
    u64 now() const { return now_; }
    u64 elapsed() const { return latest_; }
    const std::vector<Hazard>& hazards() const { return hazards_; }

    void visit(sim::StateVisitor& visitor);

private:
    static constexpr u32 kSubCores = 4, kBoards = 6, kPipes = 11;
    static constexpr u32 kOutstandingMax = 64;  // what a scoreboard can count
    // Where variable-latency instructions complete in the order of their issue: a unit's own, and of the load-store unit
    // one for shared memory, one for global and local, one for constants.
    static constexpr u32 kQueues = kPipes + 2;

    // Registers, uniform registers, predicates, uniform predicates: one numbering.
    static constexpr u32 kUniformAt = 256, kPredicateAt = 320, kUniformPredicateAt = 328, kResults = 336;

    struct Result {
        u64 ready = 0;  // cycle
        u32 pc = 0;     // of the producer
        u32 lanes = 0;  // that it was for
        bool variable = false;
    };
    struct WarpTime {
        u64 next = 0;  // cycle of the next issue, as far as stall counts say
        std::array<std::vector<u64>, kBoards> boards;  // completions that are outstanding, ascending
        std::array<u64, kPipes> unit_free{};
        std::array<u64, kQueues> last_done{};  // by queue: completions are in order
        std::array<Result, kResults> results;
        void visit(sim::StateVisitor& visitor);
    };
    // Cycles that units were held.
    struct Held {
        std::array<std::array<u64, kPipes + 1>, kSubCores> units{};  // the last one: issue
        std::array<u64, kPipes> shared{};                            // by the SM's sub-cores together
        u64 longest() const;
        void visit(sim::StateVisitor& visitor);
    };
    struct BlockTime {
        u64 begin = 0, latest = 0;
        u32 room = 0;  // of its SM
        Held held;
        std::vector<WarpTime> warps;
        std::array<u64, kBarriersMax> arrived{};  // cycle of the last arrival
        void visit(sim::StateVisitor& visitor);
    };
    struct SmTime {
        std::vector<u64> rooms;  // cycle at which each place for a block is free
        Held held;
        void visit(sim::StateVisitor& visitor);
    };
    // What an instruction needs, kept by its address.
    struct Entry {
        u64 pc = ~u64{0};
        sass::Word word;
        sass::Control control;
        RegisterUse use;
        u32 latency = 0, interval = 0, sm_interval = 0;
        u32 pipe = 0;
        u32 queue = 0;
        bool variable = false;
    };
    static constexpr u32 kEntries = 256;

    const Entry& entry_of(const Step& step);
    BlockTime& block_of(const Cta& cta);
    void check(const Step& step, const WarpTime& warp, u64 at);
    void check_one(const Step& step, const WarpTime& warp, u64 at, u32 result);
    template <typename F>
    static void for_results(std::span<const RegisterSpan> spans, u8 predicates, u8 uniform_predicates, F f);

    KernelLaunch launch_;
    std::vector<SmTime> sms_;
    std::map<u64, BlockTime> blocks_;  // resident, by linear index
    BlockTime* block_ = nullptr;       // of the last step
    u64 block_index_ = 0;
    const Entry* entry_ = nullptr;  // of the instruction between before() and after()
    u64 now_ = 0, latest_ = 0;
    std::vector<Hazard> hazards_;
    std::vector<Entry> entries_;
};

}  // namespace gpu::sm
