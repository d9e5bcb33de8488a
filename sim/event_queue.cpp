// A 4-ary heap of 24-byte records beside a table of slots. The key (time, phase, sequence) is unique, so the order of
// dispatch does not depend on the shape of the heap, and the shape is not part of a snapshot.
#include "sim/event_queue.h"

#include <algorithm>

#include "sim/check.h"
#include "sim/state_visitor.h"

namespace sim {
namespace {

__extension__ using u128 = unsigned __int128;

constexpr std::size_t kArity = 4;
constexpr unsigned kPhaseShift = 61;  // 2^61 events are centuries of host time
constexpr u64 kSequenceMask = (u64{1} << kPhaseShift) - 1;
constexpr u32 kStaleMin = 64;  // below that many cancelled entries the heap is not swept
// A slot whose generation reaches this is never used again, so an old handle can never mean a new event.
constexpr u32 kRetired = ~u32{0};

constexpr u64 make_order(Phase phase, u64 sequence) { return static_cast<u64>(phase) << kPhaseShift | sequence; }

}  // namespace

void EventHandle::visit(StateVisitor& visitor) {
    visitor.field("slot", slot);
    visitor.field("generation", generation);
}

// One 128-bit comparison compiles to a subtract with borrow: no branch for the predictor to miss.
inline bool EventQueue::earlier(const Entry& a, const Entry& b) {
    return (u128{a.time} << 64 | a.order) < (u128{b.time} << 64 | b.order);
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
    rebuild();
}

u32 EventQueue::take_slot() {
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

void EventQueue::free_slot(u32 index) {
    Slot& slot = slots_[index];
    slot.order = 0;
    if (++slot.generation != kRetired) free_slots_.push_back(index);
}

void EventQueue::sift_up(std::size_t index, const Entry& entry) {
    while (index > 0) {
        std::size_t parent = (index - 1) / kArity;
        if (!earlier(entry, heap_[parent])) break;
        heap_[index] = heap_[parent];
        index = parent;
    }
    heap_[index] = entry;
}

void EventQueue::sift_down(std::size_t index, const Entry& entry) const {
    Entry* heap = heap_.data();
    const std::size_t size = heap_.size();
    for (;;) {
        std::size_t child = kArity * index + 1;
        std::size_t least = child;
        if (child + kArity <= size) [[likely]] {
            std::size_t left = earlier(heap[child + 1], heap[child]) ? child + 1 : child;
            std::size_t right = earlier(heap[child + 3], heap[child + 2]) ? child + 3 : child + 2;
            least = earlier(heap[right], heap[left]) ? right : left;
        } else {
            if (child >= size) break;
            for (std::size_t other = child + 1; other < size; ++other) {
                if (earlier(heap[other], heap[least])) least = other;
            }
        }
        if (!earlier(heap[least], entry)) break;
        heap[index] = heap[least];
        index = least;
    }
    heap[index] = entry;
}

void EventQueue::fill_hole() const {
    if (!hole_) return;
    hole_ = false;
    Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(0, last);
}

// Afterwards the root, if any, is the next event.
void EventQueue::prune() const {
    fill_hole();
    while (stale_ > 0 && !heap_.empty() && stale(heap_.front())) {
        --stale_;
        hole_ = true;
        fill_hole();
    }
}

// Drops cancelled entries and makes a heap of the rest.
void EventQueue::rebuild() {
    fill_hole();
    std::erase_if(heap_, [this](const Entry& entry) { return stale(entry); });
    stale_ = 0;
    std::sort(heap_.begin(), heap_.end(), earlier);
}

EventHandle EventQueue::schedule(SimTime at, Phase phase, TargetId target, u32 op, u64 arg) {
    SIM_CHECK(at >= now_, at, now_);
    SIM_CHECK(target < targets_.size() && targets_[target].target != nullptr, target);
    u32 index = take_slot();
    Slot& slot = slots_[index];
    slot.order = make_order(phase, next_sequence_++);
    slot.arg = arg;
    slot.target = target;
    slot.op = op;
    ++live_;
    Entry entry{at.ps, slot.order, index, 0};
    if (hole_) {
        hole_ = false;
        sift_down(0, entry);
    } else {
        heap_.push_back(entry);
        sift_up(heap_.size() - 1, entry);
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
    if (stale_ > kStaleMin && stale_ > live_) rebuild();
    return true;
}

SimTime EventQueue::next_time() const {
    prune();
    return heap_.empty() ? SimTime::max() : SimTime{heap_.front().time};
}

bool EventQueue::run_one() {
    prune();
    if (heap_.empty()) return false;
    const Entry next = heap_.front();
    const Slot slot = slots_[next.slot];
    free_slot(next.slot);
    --live_;
    hole_ = true;
    now_ = {next.time};
    ++dispatched_;
    targets_[slot.target].target->on_event(slot.op, slot.arg);
    return true;
}

void EventQueue::run_until(SimTime limit) {
    while (live_ > 0 && next_time() <= limit) run_one();
    if (limit != SimTime::max()) advance_to(limit);
}

void EventQueue::advance_to(SimTime time) {
    if (time <= now_) return;
    SIM_CHECK(next_time() >= time, next_time(), time);
    now_ = time;
}

}  // namespace sim
