// Plays the work of a driver-surface trace on the queues of a GPU: no call reaches a driver. What the process stores goes to memory at the
// recorded GPU addresses, each channel's pushbuffers become work of a queue (stream_work.h), and waits are waited for; after every wait it
// shows the settled memory as play_back() does.
#pragma once

#include <map>
#include <memory>

#include "guest_harness/hw/guard.h"
#include "guest_harness/hw/playback.h"
#include "guest_harness/hw/stream_work.h"

namespace harness::hw {

// The GPU memory that a trace maps: whole pieces of `granule` bytes, ascending and disjoint. Throws HostError: damaged trace.
std::vector<GpuRange> mapped_ranges(trace::Reader& reader, u64 granule);

struct QueuePlayOptions {
    std::function<void(Point&)> on_point;
    std::function<u64()> clock;  // host time, ns
    u64 wait_limit_ms = 5000;    // of one wait
};

struct QueuePlayOutcome {
    PlaybackOutcome play;
    StreamWork::Counts counts;  // of all channels
    u64 submissions = 0;
};

// `ranges`: what `queues` has, from mapped_ranges(). What cannot be played is refused by name (guard.h) and ends the playback.
// Throws HostError: damaged trace, or the GPU's driver refused something.
QueuePlayOutcome play_on_queues(GpuQueues& queues, const std::vector<GpuRange>& ranges, const Companions& companions, Guard& guard,
                                trace::Reader& reader, const QueuePlayOptions& options);

}  // namespace harness::hw
