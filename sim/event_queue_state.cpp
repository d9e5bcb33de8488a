// Save and load of the event queue. Slots, generations and the free list are part of the state: handles held by
// components stay good, and a continued run numbers its slots as the original would.
#include <algorithm>

#include "sim/check.h"
#include "sim/event_queue.h"
#include "sim/state_visitor.h"

namespace sim {

struct EventQueue::SavedEvent {
    SimTime time;
    Phase phase = Phase::Device;
    u64 sequence = 0;
    u32 slot = 0;
    u32 target = 0;  // index into the saved paths
    u32 op = 0;
    u64 arg = 0;

    u64 order() const { return make_order(phase, sequence); }

    void visit(StateVisitor& visitor) {
        visitor.field("time", time);
        visitor.field("phase", phase);
        visitor.field("sequence", sequence);
        visitor.field("slot", slot);
        visitor.field("target", target);
        visitor.field("op", op);
        visitor.field("arg", arg);
    }
};

// In the order of dispatch. `paths` receives those targets that have events, in the order of registration.
std::vector<EventQueue::SavedEvent> EventQueue::saved_events(std::vector<std::string>& paths) const {
    std::vector<u32> pending = sorted_slots();
    std::vector<bool> used(targets_.size(), false);
    for (u32 index : pending) used[slots_[index].target] = true;
    std::vector<u32> saved_index(targets_.size(), 0);
    for (std::size_t id = 0; id < targets_.size(); ++id) {
        if (!used[id]) continue;
        saved_index[id] = static_cast<u32>(paths.size());
        paths.push_back(targets_[id].path);
    }
    std::vector<SavedEvent> events;
    for (u32 index : pending) {
        const Slot& slot = slots_[index];
        const Key& key = keys_[index];
        events.push_back(SavedEvent{{key.time}, static_cast<Phase>(key.order >> kPhaseShift),
                                    key.order & kSequenceMask, index, saved_index[slot.target], slot.op, slot.arg});
    }
    return events;
}

// Fills keys and slots from events whose slots' generations are already loaded. Returns what is wrong, or nothing.
std::string EventQueue::load(const std::vector<SavedEvent>& events, const std::vector<std::string>& paths) {
    std::vector<TargetId> ids;
    for (const std::string& path : paths) {
        auto it = std::find_if(targets_.begin(), targets_.end(),
                               [&](const Target& target) { return target.target != nullptr && target.path == path; });
        if (it == targets_.end()) return "an event for \"" + path + "\", which this machine lacks";
        ids.push_back(static_cast<TargetId>(it - targets_.begin()));
    }
    std::vector<bool> taken(slots_.size(), false);
    for (u32 index : free_slots_) {
        if (index >= slots_.size() || taken[index]) return "the list of free slots is inconsistent";
        taken[index] = true;
    }
    std::vector<u64> sequences;
    for (const SavedEvent& event : events) {
        if (event.time < now_) return "an event in the past";
        if (event.phase > Phase::Watch) return "an unknown phase";
        if (event.sequence == 0 || event.sequence >= next_sequence_) return "a sequence number out of range";
        if (event.target >= ids.size()) return "a target out of range";
        if (event.slot >= slots_.size() || taken[event.slot]) return "a slot that is free, used twice or out of range";
        taken[event.slot] = true;
        sequences.push_back(event.sequence);
        Slot& slot = slots_[event.slot];
        keys_[event.slot] = Key{event.time.ps, event.order()};
        slot.arg = event.arg;
        slot.target = ids[event.target];
        slot.op = event.op;
    }
    std::sort(sequences.begin(), sequences.end());
    if (std::adjacent_find(sequences.begin(), sequences.end()) != sequences.end()) {
        return "a sequence number used twice";
    }
    live_ = static_cast<u32>(events.size());
    rebuild();
    return {};
}

void EventQueue::visit(StateVisitor& visitor) {
    std::vector<std::string> paths;
    std::vector<SavedEvent> events = saved_events(paths);
    std::vector<u32> generations;
    for (const Slot& slot : slots_) generations.push_back(slot.generation);
    visitor.field("now", now_);
    visitor.field("dispatched", dispatched_);
    visitor.field("next_sequence", next_sequence_);
    visitor.field("generations", generations);
    visitor.field("free_slots", free_slots_);
    visitor.field("targets", paths);
    visitor.field("events", events);
    if (!visitor.loading()) return;

    clear();
    if (!visitor.failed()) {
        if (next_sequence_ == 0 || next_sequence_ > kSequenceMask) visitor.fail("next_sequence", "out of range");
        for (u32 generation : generations) slots_.emplace_back().generation = generation;
        set_capacity(slots_.size());
        if (std::string wrong = load(events, paths); !wrong.empty()) visitor.fail("events", wrong);
    }
    if (!visitor.failed()) {
        free_slots_ = std::vector<u32>(free_slots_.begin(), free_slots_.end());
        free_slots_.reserve(slots_.capacity());
        return;
    }
    // A failed load leaves an empty queue, not a broken one.
    clear();
    free_slots_.clear();
    next_sequence_ = 1;
}

}  // namespace sim
