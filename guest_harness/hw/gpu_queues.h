// A GPU as streams offer it: memory at chosen addresses, and queues of copies, fills, waits, releases and kernels, each in order. What the
// CUDA forwarder makes of recorded work it gives to this; behind it stands the CUDA driver library (cuda_queues.h), or a test.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu_model/mem/reduction.h"
#include "guest_harness/hw/companions.h"

namespace harness::hw {

using namespace sim;

class GpuQueues {
public:
    // The first byte, and the distance from one line to the next.
    struct Lines {
        u64 at = 0;
        u64 pitch = 0;
    };
    // What a wait compares with: the value, a distance of less than half the numbers (as (memory - value) >= 0), a common bit, a bit that
    // both lack.
    enum class Until : u8 { Equal, CircularGeq, And, Nor };
    struct Launch {
        const Companion* kernel = nullptr;
        std::array<u32, 3> grid{};
        std::array<u32, 3> block{};
        u32 dynamic_shared_bytes = 0;
        std::vector<u8> parameters;  // as they lie in constant bank 0
    };

    virtual ~GpuQueues() = default;
    // "NVIDIA H200, CUDA driver 13.0".
    virtual std::string name() const = 0;

    // Every function below throws HostError when the GPU or its driver refuses.
    virtual u32 make_queue() = 0;
    virtual bool idle(u32 queue) = 0;
    // Lines of `width` bytes. A pitch is at least `width` when there are several lines.
    virtual void copy(u32 queue, Lines to, Lines from, u64 width, u64 lines) = 0;
    // Lines of `units` units of 1, 2 or 4 bytes, aligned to them.
    virtual void fill(u32 queue, Lines to, unsigned unit_bytes, u32 value, u64 units, u64 lines) = 0;
    virtual void upload(u32 queue, u64 to, std::span<const u8> bytes) = 0;
    // bytes: 4 or 8, aligned.
    virtual void write(u32 queue, u64 va, u64 value, unsigned bytes) = 0;
    virtual void write_time(u32 queue, u64 va) = 0;  // 64 bits, ns
    virtual void wait(u32 queue, u64 va, u64 value, unsigned bytes, Until until) = 0;
    virtual void reduce(u32 queue, u64 va, gpu::Reduction operation, bool is_signed, u32 operand) = 0;
    virtual void launch(u32 queue, const Launch& launch) = 0;

    // Beside all queues, at once.
    virtual void read(u64 va, std::span<u8> out) = 0;
    virtual void store(u64 va, std::span<const u8> bytes) = 0;
};

// Memory at exactly these ranges, which the caller chose; whoever makes queues has it.
struct GpuRange {
    u64 begin = 0;
    u64 end = 0;
    friend bool operator==(const GpuRange&, const GpuRange&) = default;
};

}  // namespace harness::hw
