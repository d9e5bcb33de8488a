// Wire structs of the driver's cl2080.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/class/cl2080.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_ALLOC_PARAMETERS {
    NvU32 subDeviceId;
};
static_assert(sizeof(NV2080_ALLOC_PARAMETERS) == 4);

}  // namespace rm::abi
