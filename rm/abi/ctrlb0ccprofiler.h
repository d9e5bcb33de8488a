// Wire structs of the driver's ctrlb0ccprofiler.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrlb0cc/ctrlb0ccprofiler.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NVB0CC_CTRL_ALLOC_PMA_STREAM_PARAMS {
    NvHandle hMemPmaBuffer;
    NvU64 pmaBufferOffset;
    NvU64 pmaBufferSize;
    NvHandle hMemPmaBytesAvailable;
    NvU64 pmaBytesAvailableOffset;
    NvBool ctxsw;
    NvU32 pmaChannelIdx;
    NvU64 pmaBufferVA;
};
static_assert(sizeof(NVB0CC_CTRL_ALLOC_PMA_STREAM_PARAMS) == 56);

struct NVB0CC_CTRL_FREE_PMA_STREAM_PARAMS {
    NvU32 pmaChannelIdx;
};
static_assert(sizeof(NVB0CC_CTRL_FREE_PMA_STREAM_PARAMS) == 4);

}  // namespace rm::abi
