// Work in a process of its own, so that what ends us, hangs or writes over memory ends only itself.
#pragma once

#include <functional>
#include <string>

#include "sim/types.h"

namespace harness::cli {

using namespace sim;

struct ChildEnd {
    bool answered = false;  // `body` returned; otherwise one of the next two, or an exit status
    bool timed_out = false;
    int signal = 0;
    int status = 0;
    std::string answer;
    std::string said;  // what it wrote to standard error, at most 64 KiB
};

// Forks, runs `body`, and returns its text. seconds_max: of the host's clock, after which the child is killed; 0:
// never. Throws HostError when the host refuses a process.
ChildEnd run_in_child(const std::function<std::string()>& body, u64 seconds_max);

}  // namespace harness::cli
