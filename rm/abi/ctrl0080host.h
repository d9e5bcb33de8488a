// Wire structs of the driver's ctrl0080host.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl0080/ctrl0080host.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV0080_CTRL_HOST_GET_CAPS_PARAMS {
    NvU32 capsTblSize;
    NvU8 hole0[4];
    NvP64 capsTbl;
};
static_assert(sizeof(NV0080_CTRL_HOST_GET_CAPS_PARAMS) == 16);

struct NV0080_CTRL_HOST_GET_CAPS_V2_PARAMS {
    NvU8 capsTbl[3];
};
static_assert(sizeof(NV0080_CTRL_HOST_GET_CAPS_V2_PARAMS) == 3);

}  // namespace rm::abi
