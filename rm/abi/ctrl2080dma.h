// Wire structs of the driver's ctrl2080dma.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080dma.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_DMA_INVALIDATE_TLB_PARAMS {
    NvHandle hClient;
    NvHandle hDevice;
    NvU32 engine;
    NvHandle hVASpace;
};
static_assert(sizeof(NV2080_CTRL_DMA_INVALIDATE_TLB_PARAMS) == 16);

}  // namespace rm::abi
