// Runs the cases of a kernel corpus on the SM model alone, without a machine around it, and compares with what
// hardware computed.
#pragma once

#include <functional>

#include "gpu_model/sm/cubin.h"
#include "gpu_model/sm/exec/code_cache.h"
#include "guest_harness/corpus/cases.h"

namespace gpu::sm {
class GridRun;
}

namespace harness::corpus {

// A launch that is about to run, for tools that watch it.
struct WatchedLaunch {
    struct Region {
        std::string name;
        u64 va = 0;
        u64 bytes = 0;
    };
    std::string kernel;
    std::vector<Region> regions;  // buffers and the cubin's image
};

struct CaseReport {
    enum class Verdict : u8 {
        Equal,        // bit for bit
        Close,        // an approx case: differs in last places only
        NotCompared,  // depends on the schedule, or hardware has no stable answer
        Different,
        Failed,      // the kernel did not end: a trap, a deadlock, or a launch that cannot be made
        Unfinished,  // the caller's budget was used up before the kernel ended, or began
    };
    std::string case_id, variant;
    Verdict verdict = Verdict::Equal;
    std::string detail;       // first difference, or why it failed
    u64 instructions = 0;     // of whole warps
    u64 ulp_max = 0;          // of approx cases: largest distance in units of the last place
    u64 words_different = 0;  // of approx cases
    bool bad() const { return verdict == Verdict::Different || verdict == Verdict::Failed || verdict == Verdict::Unfinished; }
};
std::string_view verdict_name(CaseReport::Verdict verdict);

class Runner {
public:
    // One warp instruction budget for every case: longer kernels fail as hung.
    static constexpr u64 kInstructionsMax = 200'000'000;

    explicit Runner(gpu::sm::LaneTarget target) : code_(target) {}
    // truth: nullptr runs only. cubin: the module's variant. budget: warp instructions that the caller still allows.
    CaseReport run(const Case& item, const std::string& variant, const gpu::Cubin& cubin, const Truth* truth,
                   u64 budget = kInstructionsMax);

    // Called before each grid runs: adds observers, enables timing.
    using Watch = std::function<void(const WatchedLaunch& launch, gpu::sm::GridRun& grid)>;
    void watch(Watch watch) { watch_ = std::move(watch); }

private:
    gpu::sm::CodeCache code_;
    Watch watch_;
};

}  // namespace harness::corpus
