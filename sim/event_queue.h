// The order of everything: events sorted by (time, phase, sequence), each a plain record that a snapshot can hold.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/types.h"

namespace sim {

class StateVisitor;

// Order within one instant. Closed; each value has its reason.
enum class Phase : u8 {
    Device = 0,     // engines complete, memory changes
    Interrupt = 1,  // lines and messages derived from what devices just did
    Driver = 2,     // driver fibers see a consistent device
    Guest = 3,      // the guest sees what the driver did
    Watch = 4,      // watchdogs judge an instant only after it is over
};

// Receives events. `op` and `arg` mean what the target says they mean; both are part of a snapshot, so an event never
// holds a pointer or a closure.
class EventTarget {
public:
    virtual void on_event(u32 op, u64 arg) = 0;

protected:
    ~EventTarget() = default;
};

using TargetId = u32;

struct EventHandle {
    u32 slot = ~u32{0};
    u32 generation = 0;
    friend bool operator==(EventHandle, EventHandle) = default;
};

// E.g.:
//   TargetId id = queue.add_target("gpu.ce0", engine);
//   EventHandle h = queue.schedule(SimTime::from_ns(5), Phase::Device, id, kOpDone, channel);
//   queue.cancel(h);
//   while (queue.run_one()) {}
class EventQueue {
public:
    // Targets are numbered in the order of registration, which construction makes the same in every run.
    // The target must outlive the queue or be removed.
    TargetId add_target(std::string_view path, EventTarget& target);
    void remove_target(TargetId id);

    SimTime now() const { return now_; }

    // Precondition: at >= now().
    EventHandle schedule(SimTime at, Phase phase, TargetId target, u32 op, u64 arg = 0);
    // True if the event was still pending.
    bool cancel(EventHandle handle);
    bool pending(EventHandle handle) const;

    bool empty() const;
    // Time of the next event; SimTime::max() when there is none.
    SimTime next_time() const;
    u32 pending_count() const;
    u64 dispatched() const { return dispatched_; }

    // Runs the next event, advancing now(). False when there is none.
    bool run_one();
    // Runs every event with time <= limit, then advances now() to limit.
    void run_until(SimTime limit);
    // Moves now() forward to `time` without running anything. Precondition: no pending event is earlier.
    void advance_to(SimTime time);

    // Pending events, sequence counter and time; targets are matched by path on load.
    void visit(StateVisitor& visitor);

private:
    SimTime now_;
    u64 dispatched_ = 0;
    // Implementation members follow: a heap of small records and a slot table for cancel. No allocation in steady state.
};

}  // namespace sim
