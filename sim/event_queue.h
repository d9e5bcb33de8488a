// The order of everything: events sorted by (time, phase, sequence), each a plain record that a snapshot can hold.
#pragma once

#include <span>
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
    void visit(StateVisitor& visitor);  // a handle stays good over save and load of its queue
    friend bool operator==(EventHandle, EventHandle) = default;
};

// E.g.:
//   TargetId id = queue.add_target("gpu.ce0", engine);
//   EventHandle h = queue.schedule(SimTime::from_ns(5), Phase::Device, id, kOpDone, channel);
//   queue.cancel(h);
//   while (queue.run_one()) {}
class EventQueue {
public:
    // Targets are numbered in the order of registration, which construction makes the same in every run. The target
    // must outlive the queue or be removed; removal drops its pending events. Precondition: a path has one target.
    TargetId add_target(std::string_view path, EventTarget& target);
    void remove_target(TargetId id);

    SimTime now() const { return now_; }

    // Precondition: at >= now().
    EventHandle schedule(SimTime at, Phase phase, TargetId target, u32 op, u64 arg = 0);
    // True if the event was still pending.
    bool cancel(EventHandle handle);
    bool pending(EventHandle handle) const;

    bool empty() const { return live_ == 0; }
    // Time of the next event; SimTime::max() when there is none.
    SimTime next_time() const;
    u32 pending_count() const { return live_; }
    u64 dispatched() const { return dispatched_; }

    // Runs the next event, advancing now(). False when there is none.
    bool run_one() { return run_one_until(SimTime::max()); }
    // The same, and false when the next event is later than `limit`.
    bool run_one_until(SimTime limit) { return dispatch(limit, false); }
    // The same, but the event may itself go on with further events up to `limit`, by take_chained().
    bool run_chain_until(SimTime limit) { return dispatch(limit, true); }
    // No more chaining in the current run_chain_until(): what follows waits for the next call.
    void end_chain() { chaining_ = false; }

    // For a target that is running in run_chain_until() and can go on with its own next event without returning
    // (fibers, which then switch once instead of twice). False unless the very next event is for `target` and within
    // the limit.
    bool peek_chained(TargetId target, u32& op, u64& arg) const;
    // Takes that event as if it had been dispatched.
    void take_chained() { take_first(); }
    // Runs every event with time <= limit, then advances now() to limit (SimTime::max(): runs until none is left).
    void run_until(SimTime limit);
    // Moves now() forward to `time` without running anything. Precondition: no pending event is earlier.
    void advance_to(SimTime time);

    // Pending events, slots, sequence counter and time; targets are matched by path on load.
    void visit(StateVisitor& visitor);

private:
    // The low bits of an order; 2^61 events are centuries of host time.
    static constexpr unsigned kPhaseShift = 61;
    static constexpr u64 kSequenceMask = (u64{1} << kPhaseShift) - 1;
    static constexpr u64 make_order(Phase phase, u64 sequence) {
        return static_cast<u64>(phase) << kPhaseShift | sequence;
    }

    // Sort key. A key of all ones is that of a free slot; neither 0 nor all ones occurs in a pending one.
    struct Key {
        u64 time = ~u64{0};
        u64 order = ~u64{0};  // phase above sequence
    };
    // The rest of an event, beside its key.
    struct Slot {
        u64 arg = 0;
        TargetId target = 0;
        u32 op = 0;
        u32 generation = 0;
    };
    // A slot whose generation reaches this is never used again, so an old handle can never mean a new event.
    static constexpr u32 kRetired = ~u32{0};
    struct Target {
        std::string path;
        EventTarget* target = nullptr;
    };
    struct SavedEvent;

    // One 128-bit comparison compiles to a subtract with borrow: no branch for the predictor to miss.
    static bool earlier(const Key& a, const Key& b) {
        __extension__ using u128 = unsigned __int128;
        return (u128{a.time} << 64 | a.order) < (u128{b.time} << 64 | b.order);
    }
    bool dispatch(SimTime limit, bool chain);
    u32 take_first();
    u32 take_slot();
    void free_slot(u32 index);
    bool is_pending(u32 index) const { return keys_[index].order != Key{}.order; }
    // Lets the slot's key play its matches again, up to the root.
    void replay(u32 index) const;
    // Afterwards the winner is the next event.
    void settle() const {
        if (vacant_ != kNone) settle_vacant();
    }
    void settle_vacant() const;
    u32 winner() const { return winners_[1]; }
    void set_capacity(std::size_t slots);
    void rebuild();
    void clear();
    // Slots of the pending events in the order of dispatch.
    std::vector<u32> sorted_slots() const;
    std::vector<SavedEvent> saved_events(std::vector<std::string>& paths) const;
    std::string load(const std::vector<SavedEvent>& events, const std::vector<std::string>& paths);

    SimTime now_;
    u64 dispatched_ = 0;
    u64 next_sequence_ = 1;
    u32 live_ = 0;
    bool chaining_ = false;
    SimTime chain_limit_;

    // A tournament: slot i is leaf capacity + i of a complete binary tree, and every inner node holds the slot that wins
    // by earlier() among those below it; the root is node 1. May be settled by a const function: what is pending stays
    // the same.
    std::vector<Key> keys_;  // one per leaf
    mutable std::vector<u32> winners_;
    // While an event runs, its slot is free but has not lost its matches yet: the next schedule(), which takes the slot
    // freed last, then plays them once instead of twice.
    mutable u32 vacant_ = kNone;
    static constexpr u32 kNone = ~u32{0};
    std::vector<Slot> slots_;
    std::vector<u32> free_slots_;  // last freed first
    std::vector<Target> targets_;
};

inline void EventQueue::free_slot(u32 index) {
    keys_[index] = Key{};
    if (++slots_[index].generation != kRetired) free_slots_.push_back(index);
}

// Precondition: settle() was called and there is an event. Its slot is free but unchanged until the next schedule().
inline u32 EventQueue::take_first() {
    const u32 index = winner();
    now_ = {keys_[index].time};
    free_slot(index);
    --live_;
    ++dispatched_;
    vacant_ = index;
    return index;
}

inline bool EventQueue::peek_chained(TargetId target, u32& op, u64& arg) const {
    if (!chaining_ || live_ == 0) return false;
    settle();
    const u32 index = winner();
    if (keys_[index].time > chain_limit_.ps) return false;
    const Slot& slot = slots_[index];
    op = slot.op;
    arg = slot.arg;
    return slot.target == target;
}

}  // namespace sim
