// Wire structs of the driver's ctrl0080perf.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl0080/ctrl0080perf.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV0080_CTRL_PERF_CUDA_LIMIT_CONTROL_PARAMS {
    NvBool bCudaLimit;
};
static_assert(sizeof(NV0080_CTRL_PERF_CUDA_LIMIT_CONTROL_PARAMS) == 1);

}  // namespace rm::abi
