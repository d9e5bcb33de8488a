// Runs the cases of a kernel corpus on the SM model alone, without a machine around it, and compares with what
// hardware computed.
#pragma once

#include "gpu_model/sm/cubin.h"
#include "gpu_model/sm/exec/code_cache.h"
#include "guest_harness/corpus/cases.h"

namespace harness::corpus {

struct CaseReport {
    enum class Verdict : u8 {
        Equal,        // bit for bit
        Close,        // an approx case: differs in last places only
        NotCompared,  // depends on the schedule, or hardware has no stable answer
        Different,
        Failed,  // the kernel did not end: a trap, a deadlock, or a launch that cannot be made
    };
    std::string case_id, variant;
    Verdict verdict = Verdict::Equal;
    std::string detail;       // first difference, or why it failed
    u64 instructions = 0;     // of whole warps
    u64 ulp_max = 0;          // of approx cases: largest distance in units of the last place
    u64 words_different = 0;  // of approx cases
    bool bad() const { return verdict == Verdict::Different || verdict == Verdict::Failed; }
};
std::string_view verdict_name(CaseReport::Verdict verdict);

class Runner {
public:
    // One warp instruction budget for every case: longer kernels fail as hung.
    static constexpr u64 kInstructionsMax = 200'000'000;

    explicit Runner(gpu::sm::LaneTarget target) : code_(target) {}
    // golden: nullptr runs only. cubin: the module's variant.
    CaseReport run(const Case& item, const std::string& variant, const gpu::Cubin& cubin, const Golden* golden);

private:
    gpu::sm::CodeCache code_;
};

}  // namespace harness::corpus
