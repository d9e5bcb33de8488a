// Wire structs of the driver's ctrl0073system.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl0073/ctrl0073system.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV0073_CTRL_CMD_SYSTEM_VRR_SET_RGLINE_ACTIVE_PARAMS {
    NvU32 subDeviceInstance;
    NvBool bEnable;
    NvU32 head;
    NvU32 height;
    NvU32 maxFrameTime;
    NvU32 minFrameTime;
    NvHandle hMemory;
};
static_assert(sizeof(NV0073_CTRL_CMD_SYSTEM_VRR_SET_RGLINE_ACTIVE_PARAMS) == 28);
using NV0073_CTRL_CMD_INTERNAL_VRR_SET_RGLINE_ACTIVE_PARAMS = NV0073_CTRL_CMD_SYSTEM_VRR_SET_RGLINE_ACTIVE_PARAMS;

struct NV0073_CTRL_SHARED_MEMDESC_INFO {
    NvU64 base;
    NvU64 size;
    NvU64 alignment;
    NvU32 addressSpace;
    NvU32 cpuCacheAttrib;
};
static_assert(sizeof(NV0073_CTRL_SHARED_MEMDESC_INFO) == 32);

struct NV0073_CTRL_CMD_SYSTEM_MAP_SHARED_DATA_PARAMS {
    NV0073_CTRL_SHARED_MEMDESC_INFO memDescInfo;
    NvU32 subDeviceInstance;
    NvBool bMap;
};
static_assert(sizeof(NV0073_CTRL_CMD_SYSTEM_MAP_SHARED_DATA_PARAMS) == 40);

struct NV0073_CTRL_SYSTEM_GET_HOTPLUG_UNPLUG_STATE_PARAMS {
    NvU32 subDeviceInstance;
    NvU32 flags;
    NvU32 hotPlugMask;
    NvU32 hotUnplugMask;
};
static_assert(sizeof(NV0073_CTRL_SYSTEM_GET_HOTPLUG_UNPLUG_STATE_PARAMS) == 16);
using NV0073_CTRL_INTERNAL_GET_HOTPLUG_UNPLUG_STATE_PARAMS = NV0073_CTRL_SYSTEM_GET_HOTPLUG_UNPLUG_STATE_PARAMS;

struct NV0073_CTRL_SYSTEM_GET_CONNECT_STATE_PARAMS {
    NvU32 subDeviceInstance;
    NvU32 flags;
    NvU32 displayMask;
    NvU32 retryTimeMs;
};
static_assert(sizeof(NV0073_CTRL_SYSTEM_GET_CONNECT_STATE_PARAMS) == 16);

struct NV0073_CTRL_SYSTEM_GET_SUPPORTED_PARAMS {
    NvU32 subDeviceInstance;
    NvU32 displayMask;
    NvU32 displayMaskDDC;
};
static_assert(sizeof(NV0073_CTRL_SYSTEM_GET_SUPPORTED_PARAMS) == 12);

}  // namespace rm::abi
