// Wire structs of the driver's ctrl208ffifo.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl208f/ctrl208ffifo.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV208F_CTRL_FIFO_GET_CHANNEL_STATE_PARAMS {
    NvHandle hChannel;
    NvHandle hClient;
    NvBool bBound;
    NvBool bEnabled;
    NvBool bScheduled;
    NvBool bCpuMap;
    NvBool bContention;
    NvBool bRunlistSet;
    NvBool bDeferRC;
    NvU8 hole0[1];
};
static_assert(sizeof(NV208F_CTRL_FIFO_GET_CHANNEL_STATE_PARAMS) == 16);

}  // namespace rm::abi
