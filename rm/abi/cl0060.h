// Wire structs of the driver's cl0060.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/class/cl0060.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV0060_ALLOC_PARAMETERS {
    NvU32 gpuBoostGroupId;
};
static_assert(sizeof(NV0060_ALLOC_PARAMETERS) == 4);

}  // namespace rm::abi
