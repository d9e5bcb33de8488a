// Wire structs of the driver's ctrl2080rc.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080rc.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_RC_GET_ERROR_COUNT_PARAMS {
    NvU32 errorCount;
};
static_assert(sizeof(NV2080_CTRL_RC_GET_ERROR_COUNT_PARAMS) == 4);

struct NV2080_CTRL_RC_GET_ERROR_V2_PARAMS {
    NvU32 whichBuffer;
    NvU32 outputRecordSize;
    NvU8 recordBuffer[8192];
};
static_assert(sizeof(NV2080_CTRL_RC_GET_ERROR_V2_PARAMS) == 8200);

struct NV2080_CTRL_RC_GET_WATCHDOG_INFO_PARAMS {
    NvU32 watchdogStatusFlags;
};
static_assert(sizeof(NV2080_CTRL_RC_GET_WATCHDOG_INFO_PARAMS) == 4);

}  // namespace rm::abi
