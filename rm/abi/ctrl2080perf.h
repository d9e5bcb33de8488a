// Wire structs of the driver's ctrl2080perf.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080perf.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/ctrl2080gpumon.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_PERF_BOOST_PARAMS {
    NvU32 flags;
    NvU32 duration;
};
static_assert(sizeof(NV2080_CTRL_PERF_BOOST_PARAMS) == 8);

struct NV2080_CTRL_PERF_GET_CURRENT_PSTATE_PARAMS {
    NvU32 currPstate;
};
static_assert(sizeof(NV2080_CTRL_PERF_GET_CURRENT_PSTATE_PARAMS) == 4);

struct NV2080_CTRL_PERF_GPUMON_ENGINE_UTIL_SAMPLE {
    NvU32 util;
    NvU32 vgpuScale;
    NvU32 procId;
    NvU32 subProcessID;
    char subProcessName[100];
    NvU64 pOsPidInfo;
};
static_assert(sizeof(NV2080_CTRL_PERF_GPUMON_ENGINE_UTIL_SAMPLE) == 128);

struct NV2080_CTRL_PERF_GPUMON_PERFMON_UTIL_SAMPLE {
    NV2080_CTRL_GPUMON_SAMPLE base;
    NV2080_CTRL_PERF_GPUMON_ENGINE_UTIL_SAMPLE fb;
    NV2080_CTRL_PERF_GPUMON_ENGINE_UTIL_SAMPLE gr;
    NV2080_CTRL_PERF_GPUMON_ENGINE_UTIL_SAMPLE nvenc;
    NV2080_CTRL_PERF_GPUMON_ENGINE_UTIL_SAMPLE nvdec;
    NV2080_CTRL_PERF_GPUMON_ENGINE_UTIL_SAMPLE nvjpg;
    NV2080_CTRL_PERF_GPUMON_ENGINE_UTIL_SAMPLE nvofa;
};
static_assert(sizeof(NV2080_CTRL_PERF_GPUMON_PERFMON_UTIL_SAMPLE) == 776);

struct NV2080_CTRL_PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2_PARAMS {
    NvU8 type;
    NvU32 bufSize;
    NvU32 count;
    NvU32 tracker;
    NV2080_CTRL_PERF_GPUMON_PERFMON_UTIL_SAMPLE samples[72];
};
static_assert(sizeof(NV2080_CTRL_PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2_PARAMS) == 55888);

struct NV2080_CTRL_PERF_GET_LEVEL_INFO_PARAMS {
    NvU32 level;
    NvU32 flags;
    NvP64 perfGetClkInfoList;
    NvU32 perfGetClkInfoListSize;
};
static_assert(sizeof(NV2080_CTRL_PERF_GET_LEVEL_INFO_PARAMS) == 24);

struct NV2080_CTRL_PERF_RESERVE_PERFMON_HW_PARAMS {
    NvBool bAcquire;
};
static_assert(sizeof(NV2080_CTRL_PERF_RESERVE_PERFMON_HW_PARAMS) == 1);

struct NV2080_CTRL_PERF_SET_AUX_POWER_STATE_PARAMS {
    NvU32 powerState;
};
static_assert(sizeof(NV2080_CTRL_PERF_SET_AUX_POWER_STATE_PARAMS) == 4);

struct NV2080_CTRL_PERF_POWERSTATE_PARAMS {
    NvU32 powerState;
};
static_assert(sizeof(NV2080_CTRL_PERF_POWERSTATE_PARAMS) == 4);

struct NV2080_CTRL_PERF_SET_POWERSTATE_PARAMS {
    NV2080_CTRL_PERF_POWERSTATE_PARAMS powerStateInfo;
};
static_assert(sizeof(NV2080_CTRL_PERF_SET_POWERSTATE_PARAMS) == 4);

}  // namespace rm::abi
