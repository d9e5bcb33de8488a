// Wire structs of the driver's ctrl5080.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl5080.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/ctrl0080dma.h"
#include "rm/abi/ctrl2080dma.h"
#include "rm/abi/ctrl2080fifo.h"
#include "rm/abi/ctrl2080gpu.h"
#include "rm/abi/ctrl2080gr.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct NV5080_CTRL_DEFERRED_API_V2_PARAMS {
    NvHandle hApiHandle;
    NvU32 cmd;
    NvU32 flags;
    NvHandle hClientVA;
    NvHandle hDeviceVA;
    union {
        NV2080_CTRL_GPU_INITIALIZE_CTX_PARAMS InitCtx;
        NV2080_CTRL_GPU_PROMOTE_CTX_PARAMS PromoteCtx;
        NV2080_CTRL_GPU_EVICT_CTX_PARAMS EvictCtx;
        NV2080_CTRL_DMA_INVALIDATE_TLB_PARAMS InvalidateTlb;
        NV0080_CTRL_DMA_FILL_PTE_MEM_PARAMS FillPteMem;
        NV2080_CTRL_GR_CTXSW_ZCULL_BIND_PARAMS ZcullCtxsw;
        NV2080_CTRL_GR_CTXSW_PM_BIND_PARAMS PmCtxsw;
        NV2080_CTRL_FIFO_DISABLE_CHANNELS_PARAMS DisableChannels;
        NV2080_CTRL_GR_CTXSW_PREEMPTION_BIND_PARAMS PreemptionCtxsw;
        NV2080_CTRL_FIFO_UPDATE_CHANNEL_INFO_PARAMS ChannelInfoUpdate;
    } api_bundle;
};
static_assert(sizeof(NV5080_CTRL_DEFERRED_API_V2_PARAMS) == 584);
using NV5080_CTRL_DEFERRED_API_INTERNAL_PARAMS = NV5080_CTRL_DEFERRED_API_V2_PARAMS;

}  // namespace rm::abi
