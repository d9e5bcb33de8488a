// Streams of the CUDA driver library as GpuQueues, with memory at the recorded addresses: they are occupied before the library starts, so
// that it does not settle there, then reserved from it, and every one is checked. Where the library does not place device memory as it is
// asked to, pages of this process at that address are registered for the GPU instead. Observed at 580.159.04: it never does, whatever is
// free; so the work is the same, but its memory is the host's.
#pragma once

#include <memory>
#include <vector>

#include "guest_harness/hw/gpu_queues.h"

namespace harness::hw {

// What is left when the queues are given back.
struct CudaEnding {
    u64 made = 0;  // streams, ranges, modules, buffers
    std::vector<std::string> problems;
};

class CudaQueues : public GpuQueues {
public:
    // Streams and memory that one process asks for at most.
    static constexpr u64 kMemoryMax = u64{8} << 30;
    static constexpr u32 kQueuesMax = 64;

    // "1 context, 3 streams, ..." of what is held now.
    virtual std::string held() const = 0;
    // Gives everything back, the context last. Once; also what the destructor does.
    virtual CudaEnding give_back() = 0;
    // A buffer anywhere, for kernels that no trace places. Freed by give_back().
    virtual u64 buffer(u64 bytes) = 0;
    virtual void free_buffer(u64 va) = 0;
    // Until the queue is idle, `limit_ms` of host time at most.
    virtual void drain(u32 queue, u64 limit_ms) = 0;
};

// Ranges: disjoint, ascending. Throws HostError: no library, no device, or a range that cannot be had, naming what lies there.
std::unique_ptr<CudaQueues> cuda_queues(const std::vector<GpuRange>& ranges);

}  // namespace harness::hw
