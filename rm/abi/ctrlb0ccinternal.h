// Wire structs of the driver's ctrlb0ccinternal.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrlb0cc/ctrlb0ccinternal.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NVB0CC_CTRL_INTERNAL_ALLOC_PMA_STREAM_PARAMS {
    NvHandle hMemPmaBuffer;
    NvU64 pmaBufferOffset;
    NvU64 pmaBufferSize;
    NvHandle hMemPmaBytesAvailable;
    NvU64 pmaBytesAvailableOffset;
    NvBool ctxsw;
    NvU32 pmaChannelIdx;
    NvU64 pmaBufferVA;
    NvBool bInputPmaChIdx;
};
static_assert(sizeof(NVB0CC_CTRL_INTERNAL_ALLOC_PMA_STREAM_PARAMS) == 64);

struct NVB0CC_CTRL_INTERNAL_FREE_PMA_STREAM_PARAMS {
    NvU32 pmaChannelIdx;
};
static_assert(sizeof(NVB0CC_CTRL_INTERNAL_FREE_PMA_STREAM_PARAMS) == 4);

struct NVB0CC_CTRL_INTERNAL_GET_MAX_PMAS_PARAMS {
    NvU32 maxPmaChannels;
};
static_assert(sizeof(NVB0CC_CTRL_INTERNAL_GET_MAX_PMAS_PARAMS) == 4);

struct NVB0CC_CTRL_INTERNAL_PERMISSIONS_INIT_PARAMS {
    NvBool bAdminProfilingPermitted;
    NvBool bDevProfilingPermitted;
    NvBool bCtxProfilingPermitted;
    NvBool bVideoMemoryProfilingPermitted;
    NvBool bSysMemoryProfilingPermitted;
};
static_assert(sizeof(NVB0CC_CTRL_INTERNAL_PERMISSIONS_INIT_PARAMS) == 5);

struct NVB0CC_CTRL_INTERNAL_QUIESCE_PMA_CHANNEL_PARAMS {
    NvU32 pmaChannelIdx;
    NvBool bMembytesPollingRequired;
    NvU8 hole0[3];
};
static_assert(sizeof(NVB0CC_CTRL_INTERNAL_QUIESCE_PMA_CHANNEL_PARAMS) == 8);

struct NVB0CC_CTRL_INTERNAL_RESERVE_HWPM_LEGACY_PARAMS {
    NvBool ctxsw;
};
static_assert(sizeof(NVB0CC_CTRL_INTERNAL_RESERVE_HWPM_LEGACY_PARAMS) == 1);

}  // namespace rm::abi
