// Wire structs of the driver's ctrlb0ccprofiler.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrlb0cc/ctrlb0ccprofiler.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/ctrl2080gpu.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct NVB0CC_CTRL_ALLOC_PMA_STREAM_PARAMS {
    NvHandle hMemPmaBuffer;
    NvU64 pmaBufferOffset;
    NvU64 pmaBufferSize;
    NvHandle hMemPmaBytesAvailable;
    NvU64 pmaBytesAvailableOffset;
    NvBool ctxsw;
    NvU32 pmaChannelIdx;
    NvU64 pmaBufferVA;
};
static_assert(sizeof(NVB0CC_CTRL_ALLOC_PMA_STREAM_PARAMS) == 56);

struct NVB0CC_CTRL_EXEC_REG_OPS_PARAMS {
    NvU32 regOpCount;
    NvU32 mode;
    NvBool bPassed;
    NvBool bDirect;
    NV2080_CTRL_GPU_REG_OP regOps[124];
};
static_assert(sizeof(NVB0CC_CTRL_EXEC_REG_OPS_PARAMS) == 3980);

struct NVB0CC_CTRL_FREE_PMA_STREAM_PARAMS {
    NvU32 pmaChannelIdx;
};
static_assert(sizeof(NVB0CC_CTRL_FREE_PMA_STREAM_PARAMS) == 4);

struct NVB0CC_CTRL_CREDIT_POOL_INFO {
    NvU16 numCredits;
    NvU8 poolIndex;
    NvU8 chipletType;
};
static_assert(sizeof(NVB0CC_CTRL_CREDIT_POOL_INFO) == 4);

struct NVB0CC_CTRL_GET_CHIPLET_HS_CREDIT_POOL {
    NVB0CC_CTRL_CREDIT_POOL_INFO poolInfos[30];
    NvU32 poolInfosCount;
};
static_assert(sizeof(NVB0CC_CTRL_GET_CHIPLET_HS_CREDIT_POOL) == 124);

struct NVB0CC_CTRL_GET_TOTAL_HS_CREDITS_PARAMS {
    NvU32 numCredits;
};
static_assert(sizeof(NVB0CC_CTRL_GET_TOTAL_HS_CREDITS_PARAMS) == 4);

struct NVB0CC_CTRL_PMA_STREAM_UPDATE_GET_PUT_PARAMS {
    NvU64 bytesConsumed;
    NvBool bUpdateAvailableBytes;
    NvBool bWait;
    NvU64 bytesAvailable;
    NvBool bReturnPut;
    NvU64 putPtr;
    NvU32 pmaChannelIdx;
    NvBool bOverflowStatus;
};
static_assert(sizeof(NVB0CC_CTRL_PMA_STREAM_UPDATE_GET_PUT_PARAMS) == 48);

struct NVB0CC_CTRL_RESERVE_CCUPROF_PARAMS {
    NvBool ctxsw;
};
static_assert(sizeof(NVB0CC_CTRL_RESERVE_CCUPROF_PARAMS) == 1);

struct NVB0CC_CTRL_RESERVE_HWPM_LEGACY_PARAMS {
    NvBool ctxsw;
};
static_assert(sizeof(NVB0CC_CTRL_RESERVE_HWPM_LEGACY_PARAMS) == 1);

struct NVB0CC_CTRL_RESERVE_PM_AREA_SMPC_PARAMS {
    NvBool ctxsw;
};
static_assert(sizeof(NVB0CC_CTRL_RESERVE_PM_AREA_SMPC_PARAMS) == 1);

struct NVB0CC_CTRL_PMA_STREAM_HS_CREDITS_STATUS {
    NvU8 status;
    NvU8 entryIndex;
};
static_assert(sizeof(NVB0CC_CTRL_PMA_STREAM_HS_CREDITS_STATUS) == 2);

struct NVB0CC_CTRL_PMA_STREAM_HS_CREDITS_INFO {
    NvU8 chipletType;
    NvU8 chipletIndex;
    NvU16 numCredits;
};
static_assert(sizeof(NVB0CC_CTRL_PMA_STREAM_HS_CREDITS_INFO) == 4);

struct NVB0CC_CTRL_HS_CREDITS_PARAMS {
    NvU8 pmaChannelIdx;
    NvU8 numEntries;
    NVB0CC_CTRL_PMA_STREAM_HS_CREDITS_STATUS statusInfo;
    NVB0CC_CTRL_PMA_STREAM_HS_CREDITS_INFO creditInfo[63];
};
static_assert(sizeof(NVB0CC_CTRL_HS_CREDITS_PARAMS) == 256);
using NVB0CC_CTRL_SET_HS_CREDITS_PARAMS = NVB0CC_CTRL_HS_CREDITS_PARAMS;

}  // namespace rm::abi
