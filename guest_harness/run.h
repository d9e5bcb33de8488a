// Runs one guest program on a simulated machine, start to end: what `tu104sim run` does, as a function.
//   harness::RunOutcome outcome = harness::run_guest({.guest_path = "a.out", .machine = {.seed = 7}});
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "guest_harness/crossings.h"
#include "guest_harness/machine.h"

namespace harness {

struct RunOptions {
    std::string guest_path = {};
    std::vector<std::string> args = {};         // argv[1] and on; argv[0] is the file name of guest_path
    std::vector<std::string> environment = {};  // "NAME=value"; nothing of the host's environment reaches the guest
    MachineOptions machine = {};
    CrossingSink* sink = nullptr;
    // What the guest writes to descriptors 1 and 2. Default: dropped.
    std::function<void(int fd, std::string_view text)> output = {};
    // Called once the machine is built and before the guest runs (attach journal sinks, arm faults), and once after it ended.
    std::function<void(Machine&)> on_start = {};
    std::function<void(Machine&)> on_end = {};
    SimTime time_limit = SimTime::max();               // virtual time at which the run is stopped
    SimTime watchdog_limit = SimTime::from_s(10);      // virtual time of polling without progress
    SimTime busy_limit = SimTime::from_s(2);           // virtual time of computing without touching the driver or writing
};

enum class RunEnd : u8 { Exited, Signalled, Watchdog, TimeLimit, Deadlock };

struct RunOutcome {
    RunEnd end = RunEnd::Exited;
    int exit_code = 0;     // for the command line: 0, 1 or 3 (architecture, section 6)
    i64 guest_status = 0;  // exit status (Exited), or signal number (Signalled)
    std::string reason;    // for people: why the run ended as it did; empty for a guest that exited with 0
    RunSummary summary;
    std::map<std::string, sim::Unmodelled::Entry, std::less<>> unmodelled;
    std::vector<std::string> last_calls;  // the guest's last system calls, oldest first
};

// Throws sim::HostError: no such file, not a program this machine runs, unknown chip or driver.
RunOutcome run_guest(const RunOptions& options);

}  // namespace harness
