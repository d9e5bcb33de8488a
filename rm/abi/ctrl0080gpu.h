// Wire structs of the driver's ctrl0080gpu.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl0080/ctrl0080gpu.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV0080_CTRL_GPU_GET_SRIOV_CAPS_PARAMS {
    NvU32 totalVFs;
    NvU32 firstVfOffset;
    NvU32 vfFeatureMask;
    NvU64 FirstVFBar0Address;
    NvU64 FirstVFBar1Address;
    NvU64 FirstVFBar2Address;
    NvU64 bar0Size;
    NvU64 bar1Size;
    NvU64 bar2Size;
    NvBool b64bitBar0;
    NvBool b64bitBar1;
    NvBool b64bitBar2;
    NvBool bSriovEnabled;
    NvBool bSriovHeavyEnabled;
    NvBool bEmulateVFBar0TlbInvalidationRegister;
    NvBool bClientRmAllocatedCtxBuffer;
    NvBool bNonPowerOf2ChannelCountSupported;
    NvBool bVfResizableBAR1Supported;
};
static_assert(sizeof(NV0080_CTRL_GPU_GET_SRIOV_CAPS_PARAMS) == 80);

struct NV0080_CTRL_GPU_GET_CLASSLIST_PARAMS {
    NvU32 numClasses;
    NvU8 hole0[4];
    NvP64 classList;
};
static_assert(sizeof(NV0080_CTRL_GPU_GET_CLASSLIST_PARAMS) == 16);

struct NV0080_CTRL_GPU_GET_CLASSLIST_V2_PARAMS {
    NvU32 numClasses;
    NvU32 classList[100];
};
static_assert(sizeof(NV0080_CTRL_GPU_GET_CLASSLIST_V2_PARAMS) == 404);

struct NV0080_CTRL_GPU_GET_NUM_SUBDEVICES_PARAMS {
    NvU32 numSubDevices;
};
static_assert(sizeof(NV0080_CTRL_GPU_GET_NUM_SUBDEVICES_PARAMS) == 4);

struct NV0080_CTRL_GPU_GET_VIRTUALIZATION_MODE_PARAMS {
    NvU32 virtualizationMode;
    NvBool isGridBuild;
    NvU8 hole0[3];
};
static_assert(sizeof(NV0080_CTRL_GPU_GET_VIRTUALIZATION_MODE_PARAMS) == 8);

struct NV0080_CTRL_GPU_QUERY_SW_STATE_PERSISTENCE_PARAMS {
    NvU32 swStatePersistence;
};
static_assert(sizeof(NV0080_CTRL_GPU_QUERY_SW_STATE_PERSISTENCE_PARAMS) == 4);

struct NV0080_CTRL_GPU_SET_SPARSE_TEXTURE_COMPUTE_MODE_PARAMS {
    NvU32 setting;
};
static_assert(sizeof(NV0080_CTRL_GPU_SET_SPARSE_TEXTURE_COMPUTE_MODE_PARAMS) == 4);

}  // namespace rm::abi
