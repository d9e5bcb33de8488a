// The time that engines write into timestamps: PTIMER as software set it.
#pragma once

#include "gpu_model/addresses.h"

namespace gpu {

class GpuClock {
public:
    // Nanoseconds; the low five bits are zero (the manual's NSEC field is 31:5).
    virtual u64 timestamp_ns() const = 0;

protected:
    ~GpuClock() = default;
};

}  // namespace gpu
