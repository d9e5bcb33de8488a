// One of the 4096 channels as host knows it: its CCSR registers, whether work is pending, and what it waits for.
// Everything else about a channel is in memory (RAMFC) or, while it runs, in the PBDMA.
#pragma once

#include <array>

#include "gpu_model/engine/engine.h"
#include "gpu_model/host/ramfc.h"
#include "sim/state_visitor.h"

namespace gpu {

inline constexpr u32 kChannels = 4096;
inline constexpr u32 kNoPbdma = ~u32{0};
inline constexpr u32 kNoTsg = ~u32{0};

struct Channel {
    u32 chid = 0;
    // CCSR
    u32 instance_register = 0;
    bool enabled = false;
    bool next = false;
    bool pbdma_faulted = false;
    bool eng_faulted = false;
    // Scheduling
    bool pending = false;  // a doorbell rang, or work was left when the channel was taken off
    bool halted = false;   // an error is reported and its interrupt not yet cleared
    u32 halt_pbdma =
        kNoPbdma;          // whose interrupt resumes it; none: an engine's error, which only a new enable or bind ends
    bool stuck = false;    // by a fault plan: it never runs again
    bool parked = false;   // off the PBDMA after a failed acquire, until retry_at
    u32 pbdma = kNoPbdma;  // where it is loaded
    SimTime retry_at;
    // An acquire in progress
    bool acquiring = false;
    SimTime acquire_deadline = SimTime::max();
    u64 acquire_backoff_ps = 0;
    u64 acquire_va = 0;
    // A method that waits: its latency is paid, or its time limit runs
    bool latency_paid = false;
    SimTime wait_deadline = SimTime::max();
    // The GP entry in hand
    bool entry_in_hand = false;
    bool streaming = false;  // later fetches overlap earlier ones: only the first pays the memory's latency
    u32 entry_word0 = 0;
    u32 entry_word1 = 0;
    u32 entry_methods = 0;
    u64 entry_digest = 0;  // folds every method and data word, however they were batched
    // What people see in reports
    u32 gp_get = 0;
    u32 gp_put = 0;
    u32 last_subchannel = 0;
    u32 last_method = 0;
    u32 last_data = 0;

    bool bound() const { return instance_register >> 31 != 0; }
    bool faulted() const { return pbdma_faulted || eng_faulted; }
    void visit(sim::StateVisitor& visitor);
};

}  // namespace gpu
