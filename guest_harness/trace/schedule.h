// When a replayed event starts: recorded events in order of their begin, each tied to the latest event that had ended by then.
#pragma once

#include <vector>

#include "guest_harness/trace/container.h"

namespace harness::trace {

struct Slot {
    static constexpr u64 kNone = ~u64{0};
    u64 event = 0;           // number in the trace
    u64 anchor = kNone;      // slot number; kNone: the start of time
    SimTime delay;           // from the anchor's end to this event's begin
    bool concurrent = false; // other events begin before this call ends, or it is unfinished: it needs a fiber of its own
};

struct Schedule {
    std::vector<Slot> slots;
    bool sequential = true;  // no slot is concurrent and the slots are in trace order
};

// Reads the trace to its end.
Schedule make_schedule(Reader& reader);

}  // namespace harness::trace
