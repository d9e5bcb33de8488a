// A launch of the copy engine as copies and fills of a stream. Remapped and block-linear launches become strided copies of components and
// of the runs of 16 bytes that a GOB keeps together.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "guest_harness/hw/gpu_queues.h"

namespace harness::hw {

struct CopyTarget {
    GpuQueues& queues;
    u32 queue;
    // Whether the whole range is memory of the trace.
    const std::function<bool(u64 va, u64 bytes)>& mapped;
};

// `state`: the class's methods by word. Returns why the launch cannot be made; empty: it was.
std::string issue_copy(const CopyTarget& target, std::span<const u32> state, u32 launch);

}  // namespace harness::hw
