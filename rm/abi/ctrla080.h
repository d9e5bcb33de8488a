// Wire structs of the driver's ctrla080.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrla080.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NVA080_CTRL_SET_FB_USAGE_PARAMS {
    NvU64 fbUsed;
};
static_assert(sizeof(NVA080_CTRL_SET_FB_USAGE_PARAMS) == 8);

}  // namespace rm::abi
