// Wire structs of the driver's ctrl506f.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl506f.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV506F_CTRL_CMD_RESET_ISOLATED_CHANNEL_PARAMS {
    NvU32 exceptType;
    NvU32 engineID;
};
static_assert(sizeof(NV506F_CTRL_CMD_RESET_ISOLATED_CHANNEL_PARAMS) == 8);
using NV506F_CTRL_CMD_INTERNAL_RESET_ISOLATED_CHANNEL_PARAMS = NV506F_CTRL_CMD_RESET_ISOLATED_CHANNEL_PARAMS;

}  // namespace rm::abi
