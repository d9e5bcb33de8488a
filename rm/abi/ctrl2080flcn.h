// Wire structs of the driver's ctrl2080flcn.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080flcn.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_FLCN_GET_CTX_BUFFER_SIZE_PARAMS {
    NvHandle hChannel;
    NvU8 hole0[4];
    NvU64 totalBufferSize;
};
static_assert(sizeof(NV2080_CTRL_FLCN_GET_CTX_BUFFER_SIZE_PARAMS) == 16);

}  // namespace rm::abi
