// Cuts a trace down to what still fails: events, parts of events, rules of its fault plan. Knows nothing of why it
// fails: a predicate tells.
#pragma once

#include <functional>
#include <string>

#include "guest_harness/trace/container.h"

namespace harness::trace {

// Which event of the original each event of a candidate was.
using Origins = std::vector<u64>;

struct MinimizeOptions {
    // Whether the candidate still fails the same way. Must be true of the trace as it is.
    std::function<bool(const Trace& candidate, const Origins& origins)> fails;
    std::function<void(u64 tries, u64 events)> progress;  // after each try
    u64 tries_max = 20'000;
};

struct Minimized {
    Trace trace;  // without a closing record: no run of the whole exists
    Origins origins;
    u64 tries = 0;
    bool complete = true;  // false: tries_max was reached first
};

Minimized minimize(const Trace& trace, const MinimizeOptions& options);

}  // namespace harness::trace
