// A 4-ary heap of 16-byte keys beside a table of slots. The key (time, phase, sequence) is unique, so the order of
// dispatch does not depend on the shape of the heap, and the shape is not part of a snapshot.
#include "sim/event_queue.h"

#include <algorithm>

#include "sim/check.h"
#include "sim/state_visitor.h"

namespace sim {
namespace {

constexpr std::size_t kArity = 4;
constexpr u32 kStaleMin = 64;  // below that many cancelled entries the heap is not swept

// With the root at 3, siblings begin at multiples of 4.
constexpr std::size_t first_child(std::size_t index) { return kArity * (index - 2); }
constexpr std::size_t parent(std::size_t index) { return index / kArity + 2; }

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
    SIM_CHECK(slots_.size() < ~u32{0});
    slots_.emplace_back();
    free_slots_.reserve(slots_.capacity());  // so that freeing never allocates
    return static_cast<u32>(slots_.size() - 1);
}

inline void EventQueue::put(std::size_t index, const Key& entry, u32 slot) const {
    key(index) = entry;
    entry_slots_[index] = slot;
}

inline void EventQueue::sift_up(std::size_t index, Key entry, u32 slot) {
    while (index > kRoot && earlier(entry, key(parent(index)))) {
        put(index, key(parent(index)), entry_slots_[parent(index)]);
        index = parent(index);
    }
    put(index, entry, slot);
}

// Which child is least is as good as random, so it is computed without branches. Inlined, so that the entry stays in
// registers.
[[gnu::always_inline]] inline void EventQueue::sift_down(std::size_t index, Key entry, u32 slot) const {
    const std::size_t end = heap_end_;
    Key* const heap = keys();
    u32* const slots = entry_slots_.data();
    for (std::size_t child = first_child(index); child < end; child = first_child(index)) {
        const std::size_t left = child + std::size_t{earlier(heap[child + 1], heap[child])};
        const std::size_t right = child + 2 + std::size_t{earlier(heap[child + 3], heap[child + 2])};
        const std::size_t right_wins = 0 - std::size_t{earlier(heap[right], heap[left])};
        const std::size_t least = left ^ ((left ^ right) & right_wins);
        if (!earlier(heap[least], entry)) break;
        heap[index] = Key{heap[least].time, heap[least].order};
        slots[index] = slots[least];
        index = least;
    }
    heap[index].time = entry.time;
    heap[index].order = entry.order;
    slots[index] = slot;
}

void EventQueue::push(const Key& entry, u32 slot) {
    if (heap_end_ == entry_slots_.size() || siblings_.empty()) {
        siblings_.resize(std::max<std::size_t>(4, siblings_.size() * 2));
        entry_slots_.resize(siblings_.size() * kArity);
    }
    sift_up(heap_end_++, entry, slot);
}

void EventQueue::fill_hole() const {
    if (!hole_) return;
    hole_ = false;
    --heap_end_;
    Key last = key(heap_end_);
    u32 slot = entry_slots_[heap_end_];
    key(heap_end_) = Key{};
    if (heap_end_ > kRoot) sift_down(kRoot, last, slot);
}

void EventQueue::tidy() const {
    fill_hole();
    while (stale_ > 0 && heap_end_ > kRoot && stale(kRoot)) {
        --stale_;
        hole_ = true;
        fill_hole();
    }
}

std::vector<u32> EventQueue::sorted_slots() const {
    std::vector<u32> slots;
    for (u32 index = 0; index < slots_.size(); ++index) {
        if (slots_[index].order != 0) slots.push_back(index);
    }
    std::sort(slots.begin(), slots.end(), [this](u32 a, u32 b) {
        return earlier(Key{slots_[a].time, slots_[a].order}, Key{slots_[b].time, slots_[b].order});
    });
    return slots;
}

// An ascending sequence is a heap.
void EventQueue::set_heap(const std::vector<u32>& slots_in_order) {
    std::fill(siblings_.begin(), siblings_.end(), Siblings{});
    heap_end_ = kRoot;
    stale_ = 0;
    hole_ = false;
    for (u32 slot : slots_in_order) push(Key{slots_[slot].time, slots_[slot].order}, slot);
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
        if (slots_[index].order == 0 || slots_[index].target != id) continue;
        free_slot(index);
        --live_;
    }
    set_heap(sorted_slots());
}

EventHandle EventQueue::schedule(SimTime at, Phase phase, TargetId target, u32 op, u64 arg) {
    SIM_CHECK(at >= now_, at, now_);
    SIM_CHECK(target < targets_.size() && targets_[target].target != nullptr, target);
    u32 index = take_slot();
    Slot& slot = slots_[index];
    const Key entry{at.ps, make_order(phase, next_sequence_++)};
    slot.order = entry.order;
    slot.time = entry.time;
    slot.arg = arg;
    slot.target = target;
    slot.op = op;
    ++live_;
    if (hole_) {
        hole_ = false;
        sift_down(kRoot, entry, index);
    } else {
        push(entry, index);
    }
    return {index, slot.generation};
}

bool EventQueue::pending(EventHandle handle) const {
    return handle.slot < slots_.size() && slots_[handle.slot].generation == handle.generation &&
           slots_[handle.slot].order != 0;
}

bool EventQueue::cancel(EventHandle handle) {
    if (!pending(handle)) return false;
    free_slot(handle.slot);
    --live_;
    ++stale_;
    if (stale_ > kStaleMin && stale_ > live_) set_heap(sorted_slots());
    return true;
}

SimTime EventQueue::next_time() const {
    prune();
    return heap_end_ == kRoot ? SimTime::max() : SimTime{key(kRoot).time};
}

bool EventQueue::dispatch(SimTime limit, bool chain) {
    prune();
    if (heap_end_ == kRoot || key(kRoot).time > limit.ps) return false;
    chaining_ = chain;
    chain_limit_ = limit;
    const Slot& slot = slots_[take_root()];
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
