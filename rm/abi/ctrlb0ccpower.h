// Wire structs of the driver's ctrlb0ccpower.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrlb0cc/ctrlb0ccpower.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NVB0CC_CTRL_POWER_RELEASE_FEATURES_PARAMS {
    NvU32 controlMask;
};
static_assert(sizeof(NVB0CC_CTRL_POWER_RELEASE_FEATURES_PARAMS) == 4);

struct NVB0CC_CTRL_POWER_REQUEST_FEATURES_PARAMS {
    NvU32 globalStatus;
    NvU32 controlMask;
    NvU32 statusMask;
};
static_assert(sizeof(NVB0CC_CTRL_POWER_REQUEST_FEATURES_PARAMS) == 12);

}  // namespace rm::abi
