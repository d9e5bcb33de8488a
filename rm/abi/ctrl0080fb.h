// Wire structs of the driver's ctrl0080fb.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl0080/ctrl0080fb.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV0080_CTRL_FB_GET_CAPS_PARAMS {
    NvU32 capsTblSize;
    NvU8 hole0[4];
    NvP64 capsTbl;
};
static_assert(sizeof(NV0080_CTRL_FB_GET_CAPS_PARAMS) == 16);

struct NV0080_CTRL_FB_GET_CAPS_V2_PARAMS {
    NvU8 capsTbl[3];
};
static_assert(sizeof(NV0080_CTRL_FB_GET_CAPS_V2_PARAMS) == 3);

struct NV0080_CTRL_FB_GET_COMPBIT_STORE_INFO_PARAMS {
    NvU64 Size;
    NvU64 Address;
    NvU32 AddressSpace;
    NvU32 MaxCompbitLine;
    NvU32 comptagsPerCacheLine;
    NvU32 cacheLineSize;
    NvU32 cacheLineSizePerSlice;
    NvU32 cacheLineFetchAlignment;
    NvU64 backingStoreBase;
    NvU32 gobsPerComptagPerSlice;
    NvU32 backingStoreCbcBase;
    NvU32 comptaglineAllocationPolicy;
    NvU64 privRegionStartOffset;
    NvU32 cbcCoveragePerSlice;
};
static_assert(sizeof(NV0080_CTRL_FB_GET_COMPBIT_STORE_INFO_PARAMS) == 80);

}  // namespace rm::abi
