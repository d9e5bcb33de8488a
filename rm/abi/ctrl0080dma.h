// Wire structs of the driver's ctrl0080dma.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl0080/ctrl0080dma.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV0080_CTRL_DMA_ADV_SCHED_GET_VA_CAPS_PAGE_TABLE_FORMAT {
    NvU32 pageTableSize;
    NvU32 pageTableCoverage;
};
static_assert(sizeof(NV0080_CTRL_DMA_ADV_SCHED_GET_VA_CAPS_PAGE_TABLE_FORMAT) == 8);

struct NV0080_CTRL_DMA_ADV_SCHED_GET_VA_CAPS_PARAMS {
    NvU32 vaBitCount;
    NvU32 pdeCoverageBitCount;
    NvU32 num4KPageTableFormats;
    NvU32 bigPageSize;
    NvU32 compressionPageSize;
    NvU32 dualPageTableSupported;
    NvU32 idealVRAMPageSize;
    NV0080_CTRL_DMA_ADV_SCHED_GET_VA_CAPS_PAGE_TABLE_FORMAT pageTableBigFormat;
    NV0080_CTRL_DMA_ADV_SCHED_GET_VA_CAPS_PAGE_TABLE_FORMAT pageTable4KFormat[16];
    NvHandle hVASpace;
    NvU64 vaRangeLo;
    NvU32 vaSpaceId;
    NvU64 supportedPageSizeMask;
};
static_assert(sizeof(NV0080_CTRL_DMA_ADV_SCHED_GET_VA_CAPS_PARAMS) == 192);

struct NV0080_CTRL_DMA_GET_CAPS_PARAMS {
    NvU32 capsTblSize;
    NvU8 capsTbl[8];
};
static_assert(sizeof(NV0080_CTRL_DMA_GET_CAPS_PARAMS) == 12);

struct NV0080_CTRL_DMA_INVALIDATE_TLB_PARAMS {
    NvHandle hVASpace;
    NvU32 flags;
};
static_assert(sizeof(NV0080_CTRL_DMA_INVALIDATE_TLB_PARAMS) == 8);

struct NV0080_CTRL_DMA_SET_PAGE_DIRECTORY_PARAMS {
    NvU64 physAddress;
    NvU32 numEntries;
    NvU32 flags;
    NvHandle hVASpace;
    NvU32 chId;
    NvU32 subDeviceId;
    NvU32 pasid;
};
static_assert(sizeof(NV0080_CTRL_DMA_SET_PAGE_DIRECTORY_PARAMS) == 32);

struct NV0080_CTRL_DMA_UNSET_PAGE_DIRECTORY_PARAMS {
    NvHandle hVASpace;
    NvU32 subDeviceId;
};
static_assert(sizeof(NV0080_CTRL_DMA_UNSET_PAGE_DIRECTORY_PARAMS) == 8);

struct NV0080_CTRL_DMA_FILL_PTE_MEM_PARAMS {
    NvU32 pageCount;
    struct {
        NvHandle hClient;
        NvHandle hDevice;
        NvHandle hMemory;
        NvU32 subDeviceId;
    } hwResource;
    struct {
        NvU32 fbKind;
        NvU32 sysKind;
        NvU32 compTagStartOffset;
    } comprInfo;
    NvU64 offset;
    NvU64 gpuAddr;
    NvP64 pageArray;
    NvP64 pteMem;
    NvU32 pteMemPfn;
    NvU32 pageSize;
    NvU32 startPageIndex;
    NvU32 flags;
    NvHandle hSrcVASpace;
    NvHandle hTgtVASpace;
    NvU32 peerId;
};
static_assert(sizeof(NV0080_CTRL_DMA_FILL_PTE_MEM_PARAMS) == 96);

}  // namespace rm::abi
