// Wire structs of the driver's ctrl0090.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl0090.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV0090_CTRL_GET_MMU_DEBUG_MODE_PARAMS {
    NvBool bMode;
};
static_assert(sizeof(NV0090_CTRL_GET_MMU_DEBUG_MODE_PARAMS) == 1);

}  // namespace rm::abi
