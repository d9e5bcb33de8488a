// Wire structs of the driver's cl503c.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/class/cl503c.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV503C_ALLOC_PARAMETERS {
    NvU32 flags;
};
static_assert(sizeof(NV503C_ALLOC_PARAMETERS) == 4);

}  // namespace rm::abi
