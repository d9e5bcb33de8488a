// Wire structs of the driver's ctrl906f.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl906f.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV906F_CTRL_CMD_RESET_CHANNEL_PARAMS {
    NvU32 engineID;
    NvU32 subdeviceInstance;
    NvU32 resetReason;
    NvBool bIsRcPending;
    NvU8 hole0[3];
};
static_assert(sizeof(NV906F_CTRL_CMD_RESET_CHANNEL_PARAMS) == 16);

struct NV906F_CTRL_GET_CLASS_ENGINEID_PARAMS {
    NvHandle hObject;
    NvU32 classEngineID;
    NvU32 classID;
    NvU32 engineID;
};
static_assert(sizeof(NV906F_CTRL_GET_CLASS_ENGINEID_PARAMS) == 16);

}  // namespace rm::abi
