// The clocks of the simulated computer's processor: what a process reads, and what the driver reads for it.
#pragma once

#include "sim/types.h"

namespace rm {

using namespace sim;

// (model) The wall clock at virtual time zero: 2025-01-01 00:00:00 UTC.
inline constexpr u64 kEpochSeconds = 1'735'689'600;
// (model) The time-stamp counter runs at 1 GHz from zero.
inline constexpr u64 kTscHz = 1'000'000'000;

inline u64 wall_clock_us(SimTime now) {
    return kEpochSeconds * 1'000'000 + now.ns() / 1'000;
}
inline u64 timestamp_counter(SimTime now) {
    return now.ns() * (kTscHz / 1'000'000'000);
}

}  // namespace rm
