// Wire structs of the driver's ctrl0000syncgpuboost.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl0000/ctrl0000syncgpuboost.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV0000_SYNC_GPU_BOOST_GROUP_CONFIG {
    NvU32 gpuCount;
    NvU32 gpuIds[32];
    NvU32 boostGroupId;
    NvBool bBridgeless;
};
static_assert(sizeof(NV0000_SYNC_GPU_BOOST_GROUP_CONFIG) == 140);

struct NV0000_SYNC_GPU_BOOST_GROUP_INFO_PARAMS {
    NvU32 groupCount;
    NV0000_SYNC_GPU_BOOST_GROUP_CONFIG pBoostGroups[16];
};
static_assert(sizeof(NV0000_SYNC_GPU_BOOST_GROUP_INFO_PARAMS) == 2244);

}  // namespace rm::abi
