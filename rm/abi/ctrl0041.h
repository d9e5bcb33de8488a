// Wire structs of the driver's ctrl0041.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl0041.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV0041_CTRL_GET_SURFACE_INFO_PARAMS {
    NvU32 surfaceInfoListSize;
    NvU8 hole0[4];
    NvP64 surfaceInfoList;
};
static_assert(sizeof(NV0041_CTRL_GET_SURFACE_INFO_PARAMS) == 16);

struct NV0041_CTRL_GET_SURFACE_PHYS_ATTR_PARAMS {
    NvU64 memOffset;
    NvU32 memFormat;
    NvU32 comprOffset;
    NvU32 comprFormat;
    NvU32 memAperture;
    NvU32 gpuCacheAttr;
    NvU32 gpuP2PCacheAttr;
    NvU32 mmuContext;
    NvU64 contigSegmentSize;
};
static_assert(sizeof(NV0041_CTRL_GET_SURFACE_PHYS_ATTR_PARAMS) == 48);

}  // namespace rm::abi
