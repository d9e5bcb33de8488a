// Wire structs of the driver's rpc_headers.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/nvidia/inc/kernel/vgpu/rpc_headers.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct VIRTUAL_DISPLAY_GET_NUM_HEADS_PARAMS {
    NvU32 numHeads;
    NvU32 maxNumHeads;
};
static_assert(sizeof(VIRTUAL_DISPLAY_GET_NUM_HEADS_PARAMS) == 8);

struct VIRTUAL_DISPLAY_GET_MAX_RESOLUTION_PARAMS {
    NvU32 headIndex;
    NvU32 maxHResolution;
    NvU32 maxVResolution;
};
static_assert(sizeof(VIRTUAL_DISPLAY_GET_MAX_RESOLUTION_PARAMS) == 12);

}  // namespace rm::abi
