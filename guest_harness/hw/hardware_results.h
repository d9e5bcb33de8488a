// The cases of a kernel corpus on a real GPU, through CUDA's driver library: each case's kernel from its companion image, twice, so that
// what hardware itself does not repeat is known.
#pragma once

#include <map>
#include <set>
#include <string>

#include "gpu_model/sm/cubin.h"
#include "guest_harness/corpus/cases.h"
#include "guest_harness/hw/cuda_queues.h"

namespace harness::hw {

class HardwareResults final : public corpus::Truth {
public:
    // `companions` and `queues` outlive it.
    HardwareResults(CudaQueues& queues, const Companions& companions);

    // Runs one case; afterwards the functions below know it. Returns why it could not run; empty: it did.
    std::string run(const corpus::Case& item, const std::string& variant, const gpu::Cubin& cubin);

    const std::string* find(const std::string& variant, const std::string& case_id, const std::string& buffer) const override;
    bool ran(const std::string& variant, const std::string& case_id) const override { return ran_.contains(variant + " " + case_id); }
    bool unstable(const std::string& variant, const std::string& case_id) const override {
        return unstable_.contains(variant + " " + case_id);
    }

private:
    static constexpr u64 kKernelLimitMs = 20'000;

    using Results = std::map<std::string, std::string>;  // by buffer
    Results run_once(const corpus::Case& item, const gpu::CubinKernel& kernel, const Companion& companion);

    CudaQueues& queues_;
    const Companions& companions_;
    u32 queue_;
    Results results_;  // of the case that ran last
    std::string last_;
    std::set<std::string> ran_;
    std::set<std::string> unstable_;
};

}  // namespace harness::hw
