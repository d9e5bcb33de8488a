// Wire structs of the driver's cl2081.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/class/cl2081.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV2081_ALLOC_PARAMETERS {
    NvU32 reserved;
};
static_assert(sizeof(NV2081_ALLOC_PARAMETERS) == 4);

}  // namespace rm::abi
