// Wire structs of the driver's gsp_fw_wpr_meta.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/nvidia/arch/nvalloc/common/inc/gsp/gsp_fw_wpr_meta.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct GspFwHeapFreeRegion {
    NvU32 offs;
    NvU32 length;
};
static_assert(sizeof(GspFwHeapFreeRegion) == 8);

struct GspFwHeapFreeList {
    NvU64 magic;
    NvU32 nregions;
    GspFwHeapFreeRegion regions[128];
};
static_assert(sizeof(GspFwHeapFreeList) == 1040);

struct GspFwWprMeta {
    NvU64 magic;
    NvU64 revision;
    NvU64 sysmemAddrOfRadix3Elf;
    NvU64 sizeOfRadix3Elf;
    NvU64 sysmemAddrOfBootloader;
    NvU64 sizeOfBootloader;
    NvU64 bootloaderCodeOffset;
    NvU64 bootloaderDataOffset;
    NvU64 bootloaderManifestOffset;
    NvU64 sysmemAddrOfSignature;
    NvU64 sizeOfSignature;
    NvU64 gspFwRsvdStart;
    NvU64 nonWprHeapOffset;
    NvU64 nonWprHeapSize;
    NvU64 gspFwWprStart;
    NvU64 gspFwHeapOffset;
    NvU64 gspFwHeapSize;
    NvU64 gspFwOffset;
    NvU64 bootBinOffset;
    NvU64 frtsOffset;
    NvU64 frtsSize;
    NvU64 gspFwWprEnd;
    NvU64 fbSize;
    NvU64 vgaWorkspaceOffset;
    NvU64 vgaWorkspaceSize;
    NvU64 bootCount;
    NvU64 partitionRpcAddr;
    NvU16 partitionRpcRequestOffset;
    NvU16 partitionRpcReplyOffset;
    NvU32 elfCodeOffset;
    NvU32 elfDataOffset;
    NvU32 elfCodeSize;
    NvU32 elfDataSize;
    NvU32 lsUcodeVersion;
    NvU8 gspFwHeapVfPartitionCount;
    NvU8 flags;
    NvU8 padding[2];
    NvU32 pmuReservedSize;
    NvU64 verified;
};
static_assert(sizeof(GspFwWprMeta) == 256);

}  // namespace rm::abi
