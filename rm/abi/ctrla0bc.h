// Wire structs of the driver's ctrla0bc.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrla0bc.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NVA0BC_CTRL_NVENC_SW_SESSION_UPDATE_INFO_PARAMS {
    NvU32 hResolution;
    NvU32 vResolution;
    NvU32 averageEncodeLatency;
    NvU32 averageEncodeFps;
    NvU32 timestampBufferSize;
    NvP64 timestampBuffer;
};
static_assert(sizeof(NVA0BC_CTRL_NVENC_SW_SESSION_UPDATE_INFO_PARAMS) == 32);

}  // namespace rm::abi
