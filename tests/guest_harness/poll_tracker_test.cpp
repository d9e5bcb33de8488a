// What counts as a wait, and what ends it.
#include "guest_harness/guest/poll_tracker.h"

#include <doctest/doctest.h>

namespace harness {

TEST_CASE("identical loads of one location are one wait") {
    PollTracker tracker;
    for (u64 poll = 1; poll <= 20; ++poll) {
        PollTracker::Seen seen = tracker.load(0x1000, 4, 7, SimTime::from_ns(poll));
        CHECK_FALSE(seen.ended);
        CHECK(seen.count == poll);
        CHECK(seen.spinning == (poll >= PollTracker::kSpinCount));
    }
    PollTracker::Seen seen = tracker.load(0x1000, 4, 8, SimTime::from_ns(30));
    REQUIRE(seen.ended);
    CHECK(seen.ended->old_value == 7);
    CHECK(seen.ended->new_value == 8);
    CHECK(seen.ended->count == 20);
    CHECK(seen.ended->begin == SimTime::from_ns(1));
    CHECK(seen.ended->end == SimTime::from_ns(30));
    CHECK(seen.ended->bytes == 4);
}

TEST_CASE("locations polled in turn are told apart, and sizes too") {
    PollTracker tracker;
    for (u64 poll = 0; poll < 3; ++poll)
        for (u64 location = 0; location < PollTracker::kLocations; ++location)
            CHECK(tracker.load(0x1000 + 4 * location, 4, location, {}).count == poll + 1);
    CHECK(tracker.load(0x1000, 8, 0, {}).count == 1);
    // The location used longest ago had to go.
    CHECK(tracker.load(0x1004, 4, 1, {}).count == 4);
    CHECK(tracker.load(0x1000, 4, 0, {}).count == 1);
}

TEST_CASE("a pass over a buffer is no wait") {
    PollTracker tracker;
    for (int pass = 0; pass < 2; ++pass)
        for (u64 at = 0; at < 4096; at += 4) {
            PollTracker::Seen seen = tracker.load(0x8000 + at, 4, at + static_cast<u64>(pass), {});
            CHECK_FALSE(seen.ended);
            CHECK_FALSE(seen.spinning);
        }
}

TEST_CASE("the guest's own store is no end of a wait; a crossing starts the count anew") {
    PollTracker tracker;
    tracker.load(0x1000, 4, 1, {});
    tracker.stored(0x1003, 1);
    CHECK_FALSE(tracker.load(0x1000, 4, 2, {}).ended);
    tracker.stored(0x1004, 4);
    tracker.crossed();
    CHECK(tracker.load(0x1000, 4, 2, SimTime::from_ns(5)).count == 1);
    tracker.crossed();
    // The change that happened across the crossing is seen, with the count since then.
    PollTracker::Seen seen = tracker.load(0x1000, 4, 3, SimTime::from_ns(9));
    REQUIRE(seen.ended);
    CHECK(seen.ended->count == 0);
    CHECK(seen.ended->begin == SimTime::from_ns(9));
}

}  // namespace harness
