// Wire structs of the driver's cl0070.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/class/cl0070.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS {
    NvU64 offset;
    NvU64 limit;
    NvHandle hVASpace;
};
static_assert(sizeof(NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS) == 24);

}  // namespace rm::abi
