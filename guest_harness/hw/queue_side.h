// The other side of a comparison as queues of a GPU: the CUDA forwarder, or what a test puts in its place.
#pragma once

#include <memory>

#include "guest_harness/hw/compare.h"
#include "guest_harness/hw/cuda_queues.h"
#include "guest_harness/hw/queue_playback.h"

namespace harness::hw {

// Where queues come from, and what is said of them.
class QueueSource {
public:
    virtual ~QueueSource() = default;
    virtual Hardware hardware() = 0;
    // Memory comes in pieces of so many bytes.
    virtual u64 granule() const = 0;
    // Once. Throws HostError as cuda_queues().
    virtual GpuQueues& open(const std::vector<GpuRange>& ranges) = 0;
    // Host time in ns; empty: waits are counted in looks, and nothing is timed.
    virtual std::function<u64()> clock() { return {}; }
    // Gives everything back.
    virtual Ending end() = 0;
};
// This host's GPU, through the CUDA driver library. Throws HostError: no GPU.
std::unique_ptr<QueueSource> cuda_source();

// `companions` and `source` outlive it.
std::unique_ptr<RealSide> queue_side(QueueSource& source, const Companions& companions);

}  // namespace harness::hw
