// The commands' side of --hw: info, run, replay and corpus on this host's driver or CUDA library, or on a model in its place (hw/).
#pragma once

#include "guest_harness/cli/command.h"
#include "guest_harness/run.h"

namespace harness::cli {

struct HwOptions {
    std::string backend;    // "rm", "cuda" or "model"; empty: no hardware
    std::string companions;  // folder of companion images, for "cuda"
    std::string report;     // file for the comparison's report; .json or .html by its name, else text
    u64 abort_after = 0;    // crossings until a forced abort
    std::string record;     // run: file for the trace
    std::vector<std::string> command;  // run: the guest and its arguments, for the trace's header
    bool wanted() const { return !backend.empty(); }
};
// What a command gives to hardware: a guest's calls, which only a driver takes, or recorded work, which CUDA takes, too.
enum class HwWork : u8 { Calls, Recorded };
// --hw, and what only makes sense with it.
void add_hw_options(Command& command, HwOptions& options, HwWork work);

// Options that hardware must not see (faults) or that make no sense there, by name and value; throws HostError when one is given.
void refuse_on_hardware(const std::vector<std::pair<std::string_view, std::string>>& options);

// Prints what the driver and the chip that are there answer of themselves.
void print_hardware(const std::string& backend, bool json);
void run_on_hardware(const HwOptions& options, const RunOptions& run, const EndOptions& end, Outcome& outcome);
// --companions, for the commands that know --hw=cuda.
void add_companions_option(Command& command, HwOptions& options);
void replay_on_hardware(const HwOptions& options, const std::string& trace, const EndOptions& end, Outcome& outcome);

}  // namespace harness::cli
