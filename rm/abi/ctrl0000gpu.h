// Wire structs of the driver's ctrl0000gpu.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl0000/ctrl0000gpu.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV0000_CTRL_GPU_ASYNC_ATTACH_ID_PARAMS {
    NvU32 gpuId;
};
static_assert(sizeof(NV0000_CTRL_GPU_ASYNC_ATTACH_ID_PARAMS) == 4);

struct NV0000_CTRL_GPU_ATTACH_IDS_PARAMS {
    NvU32 gpuIds[32];
    NvU32 failedId;
};
static_assert(sizeof(NV0000_CTRL_GPU_ATTACH_IDS_PARAMS) == 132);

struct NV0000_CTRL_GPU_DETACH_IDS_PARAMS {
    NvU32 gpuIds[32];
};
static_assert(sizeof(NV0000_CTRL_GPU_DETACH_IDS_PARAMS) == 128);

struct NV0000_CTRL_GPU_ACTIVE_DEVICE {
    NvU32 gpuId;
    NvU32 gpuInstanceId;
    NvU32 computeInstanceId;
};
static_assert(sizeof(NV0000_CTRL_GPU_ACTIVE_DEVICE) == 12);

struct NV0000_CTRL_GPU_GET_ACTIVE_DEVICE_IDS_PARAMS {
    NvU32 numDevices;
    NV0000_CTRL_GPU_ACTIVE_DEVICE devices[256];
};
static_assert(sizeof(NV0000_CTRL_GPU_GET_ACTIVE_DEVICE_IDS_PARAMS) == 3076);

struct NV0000_CTRL_GPU_GET_ATTACHED_IDS_PARAMS {
    NvU32 gpuIds[32];
};
static_assert(sizeof(NV0000_CTRL_GPU_GET_ATTACHED_IDS_PARAMS) == 128);

struct NV0000_CTRL_GPU_GET_DEVICE_IDS_PARAMS {
    NvU32 deviceIds;
};
static_assert(sizeof(NV0000_CTRL_GPU_GET_DEVICE_IDS_PARAMS) == 4);

struct NV0000_CTRL_GPU_GET_ID_INFO_PARAMS {
    NvU32 gpuId;
    NvU32 gpuFlags;
    NvU32 deviceInstance;
    NvU32 subDeviceInstance;
    NvP64 szName;
    NvU32 sliStatus;
    NvU32 boardId;
    NvU32 gpuInstance;
    NvS32 numaId;
};
static_assert(sizeof(NV0000_CTRL_GPU_GET_ID_INFO_PARAMS) == 40);

struct NV0000_CTRL_GPU_GET_ID_INFO_V2_PARAMS {
    NvU32 gpuId;
    NvU32 gpuFlags;
    NvU32 deviceInstance;
    NvU32 subDeviceInstance;
    NvU32 sliStatus;
    NvU32 boardId;
    NvU32 gpuInstance;
    NvS32 numaId;
};
static_assert(sizeof(NV0000_CTRL_GPU_GET_ID_INFO_V2_PARAMS) == 32);

struct NV0000_CTRL_GPU_GET_MEMOP_ENABLE_PARAMS {
    NvU32 enableMask;
};
static_assert(sizeof(NV0000_CTRL_GPU_GET_MEMOP_ENABLE_PARAMS) == 4);

struct NV0000_CTRL_GPU_GET_PCI_INFO_PARAMS {
    NvU32 gpuId;
    NvU32 domain;
    NvU16 bus;
    NvU16 slot;
};
static_assert(sizeof(NV0000_CTRL_GPU_GET_PCI_INFO_PARAMS) == 12);

struct NV0000_CTRL_GPU_GET_PROBED_IDS_PARAMS {
    NvU32 gpuIds[32];
    NvU32 excludedGpuIds[32];
};
static_assert(sizeof(NV0000_CTRL_GPU_GET_PROBED_IDS_PARAMS) == 256);

struct NV0000_CTRL_GPU_GET_UUID_FROM_GPU_ID_PARAMS {
    NvU32 gpuId;
    NvU32 flags;
    NvU8 gpuUuid[256];
    NvU32 uuidStrLen;
};
static_assert(sizeof(NV0000_CTRL_GPU_GET_UUID_FROM_GPU_ID_PARAMS) == 268);

struct NV0000_CTRL_GPU_QUERY_DRAIN_STATE_PARAMS {
    NvU32 gpuId;
    NvU32 drainState;
    NvU32 flags;
};
static_assert(sizeof(NV0000_CTRL_GPU_QUERY_DRAIN_STATE_PARAMS) == 12);

struct NV0000_CTRL_GPU_WAIT_ATTACH_ID_PARAMS {
    NvU32 gpuId;
};
static_assert(sizeof(NV0000_CTRL_GPU_WAIT_ATTACH_ID_PARAMS) == 4);

}  // namespace rm::abi
