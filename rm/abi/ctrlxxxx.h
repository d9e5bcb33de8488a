// Wire structs of the driver's ctrlxxxx.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrlxxxx.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NVXXXX_CTRL_XXX_INFO {
    NvU32 index;
    NvU32 data;
};
static_assert(sizeof(NVXXXX_CTRL_XXX_INFO) == 8);
using NV2080_CTRL_GR_INFO = NVXXXX_CTRL_XXX_INFO;

}  // namespace rm::abi
