// Wire structs of the driver's ctrla06fgpfifo.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrla06f/ctrla06fgpfifo.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NVA06F_CTRL_GPFIFO_SCHEDULE_PARAMS {
    NvBool bEnable;
    NvBool bSkipSubmit;
};
static_assert(sizeof(NVA06F_CTRL_GPFIFO_SCHEDULE_PARAMS) == 2);
using NVA06C_CTRL_GPFIFO_SCHEDULE_PARAMS = NVA06F_CTRL_GPFIFO_SCHEDULE_PARAMS;
using NVA06C_CTRL_INTERNAL_GPFIFO_SCHEDULE_PARAMS = NVA06F_CTRL_GPFIFO_SCHEDULE_PARAMS;

struct NVA06F_CTRL_BIND_PARAMS {
    NvU32 engineType;
};
static_assert(sizeof(NVA06F_CTRL_BIND_PARAMS) == 4);

struct NVA06F_CTRL_INTERLEAVE_LEVEL_PARAMS {
    NvU32 channelInterleaveLevel;
};
static_assert(sizeof(NVA06F_CTRL_INTERLEAVE_LEVEL_PARAMS) == 4);
using NVA06F_CTRL_GET_INTERLEAVE_LEVEL_PARAMS = NVA06F_CTRL_INTERLEAVE_LEVEL_PARAMS;

struct NVA06F_CTRL_RESTART_RUNLIST_PARAMS {
    NvBool bForceRestart;
    NvBool bBypassWait;
};
static_assert(sizeof(NVA06F_CTRL_RESTART_RUNLIST_PARAMS) == 2);

struct NVA06F_CTRL_STOP_CHANNEL_PARAMS {
    NvBool bImmediate;
};
static_assert(sizeof(NVA06F_CTRL_STOP_CHANNEL_PARAMS) == 1);

}  // namespace rm::abi
