// Wire structs of the driver's ctrl2080gsp.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080gsp.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_GSP_GET_FEATURES_PARAMS {
    NvU32 gspFeatures;
    NvBool bValid;
    NvBool bDefaultGspRmGpu;
    NvU8 firmwareVersion[64];
};
static_assert(sizeof(NV2080_CTRL_GSP_GET_FEATURES_PARAMS) == 72);

}  // namespace rm::abi
