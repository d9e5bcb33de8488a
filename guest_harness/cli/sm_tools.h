// Tools that watch kernels, as options that run, replay and corpus share: traces, checks, breakpoints.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu_model/sm/exec/observer.h"
#include "guest_harness/cli/program.h"

namespace harness {
class Machine;
}

namespace harness::cli {

struct SmToolOptions {
    std::string sass_trace;  // folder
    std::string check;       // races, memory, hazards; by commas
    std::string breaks;      // KERNEL:PC or PC; by commas
    bool go_on = false;      // past breakpoints
};
void add_sm_tool_options(Command& command, SmToolOptions& options);

class SmTools {
public:
    // Throws HostError when an option says nothing that there is, or the folder cannot be made.
    explicit SmTools(const SmToolOptions& options);
    ~SmTools();

    bool wanted() const;
    // Whether kernels must run with timing for these tools.
    bool wants_timing() const;
    // Watches every kernel of the machine, which ends before this object does.
    void attach(Machine& machine);
    // What to add to a grid that runs without a machine.
    const std::vector<gpu::sm::GridObserver*>& observers() const;
    // The next grid's kernel, and what its client has allocated.
    struct Allocation {
        std::string name;
        u64 va = 0;
        u64 bytes = 0;
    };
    void next_launch(const std::string& kernel, const std::vector<Allocation>& allocations);

    // A breakpoint has ended the run; it says where.
    bool stopped() const;
    // Closes the files and tells what was found, one sentence each. Throws HostError when a file could not be written.
    struct Result {
        std::vector<std::string> found;  // by checks: a failure
        std::vector<std::string> notes;
        std::vector<std::string> missed;  // breakpoints that nothing reached, unless another one ended the run: a failure
        // Why a run that went well otherwise has failed; empty: it has not.
        std::string failure() const;
    };
    Result finish();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace harness::cli
