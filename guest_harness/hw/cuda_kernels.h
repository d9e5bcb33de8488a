// Kernels of the forwarder's own, for what CUDA's streams have no call: 32-bit reductions of semaphores, and the time. One thread each;
// parameters: the address (u64), the operand (u32). The driver compiles them for the GPU that is there.
#pragma once

#include <string_view>

#include "gpu_model/mem/reduction.h"

namespace harness::hw {

// PTX of all of them.
extern const std::string_view kOwnKernels;
inline constexpr std::string_view kWriteTimeKernel = "write_time";
// Precondition: reduce_u32() takes the combination, and it is no FADD.
std::string_view reduction_kernel(gpu::Reduction operation, bool is_signed);

}  // namespace harness::hw
