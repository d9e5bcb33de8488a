// Wire structs of the driver's ctrl2080gpumon.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080gpumon.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_GPUMON_SAMPLE {
    NvU64 timeStamp;
};
static_assert(sizeof(NV2080_CTRL_GPUMON_SAMPLE) == 8);

}  // namespace rm::abi
