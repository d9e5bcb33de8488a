// Telling a wait by polling from plain reading.
#include "guest_harness/guest/poll_tracker.h"

#include <algorithm>

namespace harness {

PollTracker::Seen PollTracker::load(u64 address, unsigned bytes, u64 value, SimTime now) {
    ++sequence_;
    for (Location& at : locations_) {
        if (at.address != address || at.bytes != bytes) continue;
        at.used = sequence_;
        if (at.value == value) {
            if (at.count++ == 0) at.begin = now;
            return {.ended = std::nullopt, .spinning = at.count >= kSpinCount, .count = at.count};
        }
        PollRecord ended{.begin = at.count == 0 ? now : at.begin, .end = now, .address = address, .bytes = at.bytes,
                         .old_value = at.value, .count = at.count, .new_value = value};
        at.value = value;
        at.count = 1;
        at.begin = now;
        return {.ended = ended, .spinning = false, .count = 1};
    }
    Location& oldest = *std::min_element(locations_.begin(), locations_.end(),
                                         [](const Location& a, const Location& b) { return a.used < b.used; });
    oldest = {.address = address, .bytes = static_cast<u8>(bytes), .value = value, .count = 1, .begin = now, .used = sequence_};
    return {.ended = std::nullopt, .spinning = false, .count = 1};
}

void PollTracker::stored(u64 address, unsigned bytes) {
    for (Location& at : locations_)
        if (at.bytes != 0 && address < at.address + at.bytes && at.address < address + bytes) at = {};
}

void PollTracker::crossed() {
    for (Location& at : locations_) at.count = 0;
}

}  // namespace harness
