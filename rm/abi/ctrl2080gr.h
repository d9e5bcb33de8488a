// Wire structs of the driver's ctrl2080gr.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080gr.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/ctrl0080gr.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_GR_CTXSW_PM_MODE_PARAMS {
    NvHandle hChannel;
    NvU32 pmMode;
    NV0080_CTRL_GR_ROUTE_INFO grRouteInfo;
};
static_assert(sizeof(NV2080_CTRL_GR_CTXSW_PM_MODE_PARAMS) == 24);

struct NV2080_CTRL_GR_CTXSW_PREEMPTION_BIND_PARAMS {
    NvU32 flags;
    NvHandle hClient;
    NvHandle hChannel;
    NvU64 vMemPtrs[9];
    NvU32 gfxpPreemptMode;
    NvU32 cilpPreemptMode;
    NV0080_CTRL_GR_ROUTE_INFO grRouteInfo;
};
static_assert(sizeof(NV2080_CTRL_GR_CTXSW_PREEMPTION_BIND_PARAMS) == 112);

struct NV2080_CTRL_GR_GET_CTX_BUFFER_SIZE_PARAMS {
    NvHandle hChannel;
    NvU8 hole0[4];
    NvU64 totalBufferSize;
};
static_assert(sizeof(NV2080_CTRL_GR_GET_CTX_BUFFER_SIZE_PARAMS) == 16);

struct NV2080_CTRL_GR_GET_GLOBAL_SM_ORDER_PARAMS {
    struct {
        NvU16 gpcId;
        NvU16 localTpcId;
        NvU16 localSmId;
        NvU16 globalTpcId;
        NvU16 virtualGpcId;
        NvU16 migratableTpcId;
    } globalSmId[512];
    NvU16 numSm;
    NvU16 numTpc;
    NV0080_CTRL_GR_ROUTE_INFO grRouteInfo;
};
static_assert(sizeof(NV2080_CTRL_GR_GET_GLOBAL_SM_ORDER_PARAMS) == 6168);

struct NV2080_CTRL_GR_GET_GPC_MASK_PARAMS {
    NV0080_CTRL_GR_ROUTE_INFO grRouteInfo;
    NvU32 gpcMask;
};
static_assert(sizeof(NV2080_CTRL_GR_GET_GPC_MASK_PARAMS) == 24);

struct NV2080_CTRL_GR_GET_INFO_PARAMS {
    NvU32 grInfoListSize;
    NvP64 grInfoList;
    NV0080_CTRL_GR_ROUTE_INFO grRouteInfo;
};
static_assert(sizeof(NV2080_CTRL_GR_GET_INFO_PARAMS) == 32);

struct NV2080_CTRL_GR_GET_SM_ISSUE_RATE_MODIFIER_PARAMS {
    NV0080_CTRL_GR_ROUTE_INFO grRouteInfo;
    NvU8 imla0;
    NvU8 fmla16;
    NvU8 dp;
    NvU8 fmla32;
    NvU8 ffma;
    NvU8 imla1;
    NvU8 imla2;
    NvU8 imla3;
    NvU8 imla4;
};
static_assert(sizeof(NV2080_CTRL_GR_GET_SM_ISSUE_RATE_MODIFIER_PARAMS) == 32);

struct NV2080_CTRL_GR_GET_SM_TO_GPC_TPC_MAPPINGS_PARAMS {
    struct {
        NvU32 gpcId;
        NvU32 tpcId;
    } smId[240];
    NvU32 smCount;
    NV0080_CTRL_GR_ROUTE_INFO grRouteInfo;
};
static_assert(sizeof(NV2080_CTRL_GR_GET_SM_TO_GPC_TPC_MAPPINGS_PARAMS) == 1944);

struct NV2080_CTRL_GR_GET_TPC_MASK_PARAMS {
    NV0080_CTRL_GR_ROUTE_INFO grRouteInfo;
    NvU32 gpcId;
    NvU32 tpcMask;
};
static_assert(sizeof(NV2080_CTRL_GR_GET_TPC_MASK_PARAMS) == 24);

struct NV2080_CTRL_GR_GET_TPC_RECONFIG_MASK_PARAMS {
    NvU32 gpc;
    NvU32 tpcReconfigMask;
    NV0080_CTRL_GR_ROUTE_INFO grRouteInfo;
};
static_assert(sizeof(NV2080_CTRL_GR_GET_TPC_RECONFIG_MASK_PARAMS) == 24);

struct NV2080_CTRL_GR_SET_CTXSW_PREEMPTION_MODE_PARAMS {
    NvU32 flags;
    NvHandle hChannel;
    NvU32 gfxpPreemptMode;
    NvU32 cilpPreemptMode;
    NV0080_CTRL_GR_ROUTE_INFO grRouteInfo;
};
static_assert(sizeof(NV2080_CTRL_GR_SET_CTXSW_PREEMPTION_MODE_PARAMS) == 32);

struct NV2080_CTRL_GR_CTXSW_ZCULL_BIND_PARAMS {
    NvHandle hClient;
    NvHandle hChannel;
    NvU64 vMemPtr;
    NvU32 zcullMode;
};
static_assert(sizeof(NV2080_CTRL_GR_CTXSW_ZCULL_BIND_PARAMS) == 24);

struct NV2080_CTRL_GR_CTXSW_PM_BIND_PARAMS {
    NvHandle hClient;
    NvHandle hChannel;
    NvU64 vMemPtr;
    NvU32 pmMode;
    NV0080_CTRL_GR_ROUTE_INFO grRouteInfo;
};
static_assert(sizeof(NV2080_CTRL_GR_CTXSW_PM_BIND_PARAMS) == 40);

}  // namespace rm::abi
