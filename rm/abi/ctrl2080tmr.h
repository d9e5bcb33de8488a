// Wire structs of the driver's ctrl2080tmr.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080tmr.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_CMD_TIMER_SET_GR_TICK_FREQ_PARAMS {
    NvBool bSetMaxFreq;
};
static_assert(sizeof(NV2080_CTRL_CMD_TIMER_SET_GR_TICK_FREQ_PARAMS) == 1);

struct NV2080_CTRL_TIMER_GPU_CPU_TIME_SAMPLE {
    NvU64 cpuTime;
    NvU64 gpuTime;
};
static_assert(sizeof(NV2080_CTRL_TIMER_GPU_CPU_TIME_SAMPLE) == 16);

struct NV2080_CTRL_TIMER_GET_GPU_CPU_TIME_CORRELATION_INFO_PARAMS {
    NvU8 cpuClkId;
    NvU8 sampleCount;
    NV2080_CTRL_TIMER_GPU_CPU_TIME_SAMPLE samples[16];
};
static_assert(sizeof(NV2080_CTRL_TIMER_GET_GPU_CPU_TIME_CORRELATION_INFO_PARAMS) == 264);

struct NV2080_CTRL_TIMER_GET_TIME_PARAMS {
    NvU64 time_nsec;
};
static_assert(sizeof(NV2080_CTRL_TIMER_GET_TIME_PARAMS) == 8);

}  // namespace rm::abi
