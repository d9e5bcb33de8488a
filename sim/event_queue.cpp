// A tournament of 16-byte keys beside a table of slots. The key (time, phase, sequence) is unique, so the order of
// dispatch does not depend on which slot an event has. A tournament plays the same few matches for every event, without
// a branch that depends on a key; a heap is shallower, but its processor guesses where an entry comes to rest.
#include "sim/event_queue.h"

#include <algorithm>

#include "sim/check.h"
#include "sim/state_visitor.h"

namespace sim {
namespace {

constexpr std::size_t kCapacityMin = 16;

}  // namespace

void EventHandle::visit(StateVisitor& visitor) {
    visitor.field("slot", slot);
    visitor.field("generation", generation);
}

inline u32 EventQueue::take_slot() {
    if (!free_slots_.empty()) {
        u32 index = free_slots_.back();
        free_slots_.pop_back();
        return index;
    }
    SIM_CHECK(slots_.size() < kNone);
    slots_.emplace_back();
    free_slots_.reserve(slots_.capacity());  // so that freeing never allocates
    if (slots_.size() > keys_.size()) set_capacity(slots_.size());
    return static_cast<u32>(slots_.size() - 1);
}

// The winner so far stays in registers, and which of two wins is as good as random, so it is computed, not branched on.
[[gnu::always_inline]] inline void EventQueue::replay(u32 index) const {
    const Key* const keys = keys_.data();
    u32* const winners = winners_.data();
    u64 best = index;
    Key best_key = keys[index];
    for (std::size_t node = keys_.size() + index; node > 1; node /= 2) {
        const u64 rival = winners[node ^ 1];
        const Key rival_key = keys[rival];
        const u64 lost = 0 - u64{earlier(rival_key, best_key)};
        best ^= (best ^ rival) & lost;
        best_key.time ^= (best_key.time ^ rival_key.time) & lost;
        best_key.order ^= (best_key.order ^ rival_key.order) & lost;
        winners[node / 2] = static_cast<u32>(best);
    }
}

void EventQueue::settle_vacant() const {
    replay(vacant_);
    vacant_ = kNone;
}

void EventQueue::set_capacity(std::size_t slots) {
    std::size_t capacity = kCapacityMin;
    while (capacity < slots) capacity *= 2;
    keys_.resize(capacity);
    winners_.resize(2 * capacity);
    rebuild();
}

void EventQueue::rebuild() {
    vacant_ = kNone;
    for (std::size_t i = 0; i < keys_.size(); ++i) winners_[keys_.size() + i] = static_cast<u32>(i);
    for (std::size_t node = keys_.size(); node-- > 1;) {
        const u32 left = winners_[2 * node];
        const u32 right = winners_[2 * node + 1];
        winners_[node] = earlier(keys_[right], keys_[left]) ? right : left;
    }
}

void EventQueue::clear() {
    // New ones: what room cleared ones have kept decides which code the next events pass through (see sim/take_front.h).
    slots_ = std::vector<Slot>();
    keys_ = std::vector<Key>();
    winners_ = std::vector<u32>();
    vacant_ = kNone;
    live_ = 0;
}

std::vector<u32> EventQueue::sorted_slots() const {
    std::vector<u32> slots;
    for (u32 index = 0; index < slots_.size(); ++index) {
        if (is_pending(index)) slots.push_back(index);
    }
    std::sort(slots.begin(), slots.end(), [this](u32 a, u32 b) { return earlier(keys_[a], keys_[b]); });
    return slots;
}

TargetId EventQueue::add_target(std::string_view path, EventTarget& target) {
    for (const Target& known : targets_) SIM_CHECK(known.target == nullptr || known.path != path, path);
    targets_.push_back(Target{std::string(path), &target});
    return static_cast<TargetId>(targets_.size() - 1);
}

void EventQueue::remove_target(TargetId id) {
    SIM_CHECK(id < targets_.size() && targets_[id].target != nullptr, id);
    targets_[id].target = nullptr;
    for (u32 index = 0; index < slots_.size(); ++index) {
        if (!is_pending(index) || slots_[index].target != id) continue;
        free_slot(index);
        --live_;
    }
    rebuild();
}

EventHandle EventQueue::schedule(SimTime at, Phase phase, TargetId target, u32 op, u64 arg) {
    SIM_CHECK(at >= now_, at, now_);
    SIM_CHECK(target < targets_.size() && targets_[target].target != nullptr, target);
    const u32 index = take_slot();
    if (vacant_ != index) settle();
    vacant_ = kNone;
    Slot& slot = slots_[index];
    slot.arg = arg;
    slot.target = target;
    slot.op = op;
    keys_[index] = Key{at.ps, make_order(phase, next_sequence_++)};
    ++live_;
    replay(index);
    return {index, slot.generation};
}

bool EventQueue::pending(EventHandle handle) const {
    return handle.slot < slots_.size() && slots_[handle.slot].generation == handle.generation &&
           is_pending(handle.slot);
}

bool EventQueue::cancel(EventHandle handle) {
    if (!pending(handle)) return false;
    settle();
    free_slot(handle.slot);
    --live_;
    replay(handle.slot);
    return true;
}

SimTime EventQueue::next_time() const {
    if (live_ == 0) return SimTime::max();
    settle();
    return {keys_[winner()].time};
}

bool EventQueue::dispatch(SimTime limit, bool chain) {
    if (live_ == 0) return false;
    settle();
    if (keys_[winner()].time > limit.ps) return false;
    chaining_ = chain;
    chain_limit_ = limit;
    const Slot& slot = slots_[take_first()];
    targets_[slot.target].target->on_event(slot.op, slot.arg);
    return true;
}

void EventQueue::run_until(SimTime limit) {
    while (run_chain_until(limit)) {}
    if (limit != SimTime::max()) advance_to(limit);
}

void EventQueue::advance_to(SimTime time) {
    if (time <= now_) return;
    SIM_CHECK(next_time() >= time, next_time(), time);
    now_ = time;
}

}  // namespace sim
