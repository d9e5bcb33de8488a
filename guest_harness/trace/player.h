// Player: replays a trace on a machine without CPU emulation. A fiber makes each crossing through the same ProcessDriver as the guest
// did, at the recorded distance from the end of the crossing before it, so that the same seed gives the same timeline, journal and digest.
// What the driver reads of the process's memory comes from the recording; everything that it answers is compared.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "guest_harness/fault_plan.h"
#include "guest_harness/trace/container.h"
#include "guest_harness/trace/schedule.h"

namespace harness::trace {

// Throws HostError, naming the last event, when a trace of `events` events has no event `stop_before`.
void check_stop_before(std::optional<u64> stop_before, u64 events, const std::string& trace);

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
    std::optional<bool> timing;       // default: as recorded
    std::optional<std::vector<PlannedFault>> faults;  // default: the recorded plan
    std::optional<u64> stop_before;   // event number: stop there (--goto)
    SimTime poll_limit = SimTime::from_s(10);  // virtual time that a poll waits for its value
    std::function<void(u64 event)> progress;   // before each event
    std::vector<gpu::EngineRow> engines = {};  // in place of the recorded ones; empty: as recorded
    // play() only: once the machine is built, and once after the run, also after a divergence.
    std::function<void(Machine&)> on_start;
    std::function<void(Machine&)> on_end;
};

struct PlayOutcome {
    std::optional<Divergence> divergence;
    u64 events_played = 0;
    bool same_seed = true;          // and the same timing: times and digests are compared
    bool complete = true;           // the trace has a closing record
    bool stopped = false;           // at stop_before
    bool time_is_up = false;        // under another seed, the recorded time limit came before the last event
    u64 values_by_time = 0;         // values that are times, which differ under another seed
    RunSummary summary;
    std::map<std::string, sim::Unmodelled::Entry, std::less<>> unmodelled;
    bool any_invented = false;
};

// Gives a fresh reader of the same trace: it is read twice, once to see which calls overlap.
using OpenTrace = std::function<std::unique_ptr<Reader>()>;

// Where a trace is replayed. Everything outlives the replay; the kernel's seed is the replay's.
struct Stage {
    Platform platform;
    std::function<sim::Digest128()> memory_digest;
    std::function<RunSummary()> summary;
};

// Throws HostError: damaged trace, or stop_before names no event.
PlayOutcome play_on(const Stage& stage, const OpenTrace& open, const PlayOptions& options);

// A trace in memory, for who plays it more than once.
struct Script {
    std::string name;
    Header header;
    std::vector<Event> events;
    Schedule schedule;
    std::optional<Closing> closing;
};
// Throws HostError: damaged trace.
Script read_script(const OpenTrace& open);
// From event `first` on, when the earlier ones have been played on this stage. Preconditions then: the schedule is sequential, and the
// earlier events mapped and stored nothing.
PlayOutcome play_on(const Stage& stage, const Script& script, const PlayOptions& options, u64 first = 0);

// The machine that the trace's header and the options ask for.
MachineOptions machine_for(const Header& header, const PlayOptions& options);
// On such a machine, under the trace's fault plan. Throws HostError: damaged trace, unknown chip or driver, and what
// play_on() throws.
PlayOutcome play(const OpenTrace& open, const PlayOptions& options);

}  // namespace harness::trace
