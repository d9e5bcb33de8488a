// Wire structs of the driver's ctrl0080gr.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl0080/ctrl0080gr.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/ctrlxxxx.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct NV0080_CTRL_GR_GET_CAPS_PARAMS {
    NvU32 capsTblSize;
    NvU8 hole0[4];
    NvP64 capsTbl;
};
static_assert(sizeof(NV0080_CTRL_GR_GET_CAPS_PARAMS) == 16);

struct NV0080_CTRL_GR_GET_INFO_PARAMS {
    NvU32 grInfoListSize;
    NvU8 hole0[4];
    NvP64 grInfoList;
};
static_assert(sizeof(NV0080_CTRL_GR_GET_INFO_PARAMS) == 16);

struct NV0080_CTRL_GR_ROUTE_INFO {
    NvU32 flags;
    NvU8 hole0[4];
    NvU64 route;
};
static_assert(sizeof(NV0080_CTRL_GR_ROUTE_INFO) == 16);

struct NV0080_CTRL_GR_TPC_PARTITION_MODE_PARAMS {
    NvHandle hChannelGroup;
    NvU32 mode;
    NvBool bEnableAllTpcs;
    NV0080_CTRL_GR_ROUTE_INFO grRouteInfo;
};
static_assert(sizeof(NV0080_CTRL_GR_TPC_PARTITION_MODE_PARAMS) == 32);
using NV0080_CTRL_GR_SET_TPC_PARTITION_MODE_PARAMS = NV0080_CTRL_GR_TPC_PARTITION_MODE_PARAMS;

struct NV0080_CTRL_GR_GET_CAPS_V2_PARAMS {
    NvU8 capsTbl[23];
    NV0080_CTRL_GR_ROUTE_INFO grRouteInfo;
    NvBool bCapsPopulated;
};
static_assert(sizeof(NV0080_CTRL_GR_GET_CAPS_V2_PARAMS) == 48);
using NV2080_CTRL_GR_GET_CAPS_V2_PARAMS = NV0080_CTRL_GR_GET_CAPS_V2_PARAMS;

struct NV0080_CTRL_GR_GET_INFO_V2_PARAMS {
    NvU32 grInfoListSize;
    NVXXXX_CTRL_XXX_INFO grInfoList[58];
    NV0080_CTRL_GR_ROUTE_INFO grRouteInfo;
};
static_assert(sizeof(NV0080_CTRL_GR_GET_INFO_V2_PARAMS) == 488);
using NV2080_CTRL_GR_GET_INFO_V2_PARAMS = NV0080_CTRL_GR_GET_INFO_V2_PARAMS;

}  // namespace rm::abi
