// Player: replays a trace on a machine without CPU emulation. A fiber makes each crossing through the same ProcessDriver as the guest
// did, at the recorded distance from the end of the crossing before it, so that the same seed gives the same timeline, journal and digest.
// What the driver reads of the process's memory comes from the recording; everything that it answers is compared.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "guest_harness/trace/container.h"

namespace harness::trace {

// The first difference between recording and replay, for people.
struct Divergence {
    u64 event = 0;  // number in the trace, from 0
    SimTime recorded;
    SimTime replayed;
    std::string crossing;  // "ioctl NV_ESC_RM_CONTROL fd 5"
    std::string what;      // one sentence
    std::string text() const;
};

struct PlayOptions {
    std::optional<u64> seed;          // default: the recorded one
    std::optional<u64> stop_before;   // event number: stop there (--goto)
    SimTime poll_limit = SimTime::from_s(10);  // virtual time that a poll waits for its value
    std::function<void(Machine&)> on_start;
    std::function<void(Machine&)> on_end;      // also after a divergence
    std::function<void(u64 event)> progress;   // before each event
};

struct PlayOutcome {
    std::optional<Divergence> divergence;
    u64 events_played = 0;
    bool same_seed = true;
    bool complete = true;           // the trace has a closing record
    bool stopped = false;           // at stop_before
    u64 values_by_time = 0;         // values that are times, which differ under another seed
    RunSummary summary;
    std::map<std::string, sim::Unmodelled::Entry, std::less<>> unmodelled;
    bool any_invented = false;
};

// Throws HostError: damaged trace, unknown chip or driver. `open` gives a fresh reader: the trace is read twice, once to see which
// calls overlap.
PlayOutcome play(const std::function<std::unique_ptr<Reader>()>& open, const PlayOptions& options);

}  // namespace harness::trace
