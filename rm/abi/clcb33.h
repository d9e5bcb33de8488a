// Wire structs of the driver's clcb33.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/class/clcb33.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV_CONFIDENTIAL_COMPUTE_ALLOC_PARAMS {
    NvHandle hClient;
};
static_assert(sizeof(NV_CONFIDENTIAL_COMPUTE_ALLOC_PARAMS) == 4);

}  // namespace rm::abi
