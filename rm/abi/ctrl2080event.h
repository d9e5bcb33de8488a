// Wire structs of the driver's ctrl2080event.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080event.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_EVENT_SET_MEMORY_NOTIFIES_PARAMS {
    NvHandle hMemory;
};
static_assert(sizeof(NV2080_CTRL_EVENT_SET_MEMORY_NOTIFIES_PARAMS) == 4);

struct NV2080_CTRL_EVENT_SET_NOTIFICATION_PARAMS {
    NvU32 event;
    NvU32 action;
    NvBool bNotifyState;
    NvU32 info32;
    NvU16 info16;
};
static_assert(sizeof(NV2080_CTRL_EVENT_SET_NOTIFICATION_PARAMS) == 20);

}  // namespace rm::abi
