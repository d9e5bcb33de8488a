// Notices that a guest waits by polling driver memory: the same location loaded again and again with the same value.
#pragma once

#include <array>
#include <optional>

#include "guest_harness/crossings.h"

namespace harness {

class PollTracker {
public:
    // A guest may poll a few locations in turn (a semaphore and an error notifier); more than this it only reads.
    static constexpr std::size_t kLocations = 8;
    // From so many identical loads on the guest counts as waiting, and time may skip to the next event.
    static constexpr u64 kSpinCount = 16;

    struct Seen {
        std::optional<PollRecord> ended;  // the value changed since the last load of this location
        bool spinning = false;
        u64 count = 0;                    // identical loads so far, this one included
    };
    Seen load(u64 address, unsigned bytes, u64 value, SimTime now);
    // The guest itself changed these bytes: what it reads next tells nothing about the device.
    void stored(u64 address, unsigned bytes);
    // A crossing: counts begin anew; the values stay known, so that a change is still seen as the end of a wait.
    void crossed();

private:
    struct Location {
        u64 address = 0;
        u8 bytes = 0;  // 0: unused
        u64 value = 0;
        u64 count = 0;
        SimTime begin = {};
        u64 used = 0;  // sequence of the last load, for replacement
    };
    std::array<Location, kLocations> locations_{};
    u64 sequence_ = 0;
};

}  // namespace harness
