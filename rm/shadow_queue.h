// The queue of MMU fault packets that the firmware fills and the kernel driver empties: indexes in one page of system
// memory, packets in others. One slot stays empty. Source: NVIDIA/open-gpu-kernel-modules tag 570.144,
// libraries/containers/queue.h (Queue, on a 64-bit processor) and queue.c.
#pragma once

#include "sim/types.h"

namespace rm::shadow_queue {

using namespace sim;

inline constexpr u64 kCapacity = 0;     // u64: slots
inline constexpr u64 kMessageBytes = 24;  // u64
inline constexpr u64 kGet = 64;         // u64, written by the driver
inline constexpr u64 kPut = 128;        // u64, written by the firmware
inline constexpr u64 kBytes = 192;

}  // namespace rm::shadow_queue
