// Wire structs of the driver's ctrl30f1.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl30f1.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV30F1_CTRL_GSYNC_GET_OPTIMIZED_TIMING_PARAMS {
    NvU32 gpuId;
    NvU32 output;
    NvU32 protocol;
    NvU32 structure;
    NvU32 adjust;
    NvU32 hDeltaStep;
    NvU32 hDeltaMax;
    NvU32 vDeltaStep;
    NvU32 vDeltaMax;
    NvU32 hSyncEnd;
    NvU32 hBlankEnd;
    NvU32 hBlankStart;
    NvU32 hTotal;
    NvU32 vSyncEnd;
    NvU32 vBlankEnd;
    NvU32 vBlankStart;
    NvU32 vInterlacedBlankEnd;
    NvU32 vInterlacedBlankStart;
    NvU32 vTotal;
    NvU32 refreshX10K;
    NvU64 pixelClockHz;
    NvBool bOptimized;
};
static_assert(sizeof(NV30F1_CTRL_GSYNC_GET_OPTIMIZED_TIMING_PARAMS) == 96);

}  // namespace rm::abi
