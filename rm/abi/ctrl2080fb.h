// Wire structs of the driver's ctrl2080fb.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080fb.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/ctrlxxxx.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_CMD_FB_GET_FB_REGION_FB_REGION_INFO {
    NvU64 base;
    NvU64 limit;
    NvU64 reserved;
    NvU32 performance;
    NvBool supportCompressed;
    NvBool supportISO;
    NvBool bProtected;
    NvU8 blackList[17];
};
static_assert(sizeof(NV2080_CTRL_CMD_FB_GET_FB_REGION_FB_REGION_INFO) == 48);

struct NV2080_CTRL_CMD_FB_GET_FB_REGION_INFO_PARAMS {
    NvU32 numFBRegions;
    NV2080_CTRL_CMD_FB_GET_FB_REGION_FB_REGION_INFO fbRegion[16];
};
static_assert(sizeof(NV2080_CTRL_CMD_FB_GET_FB_REGION_INFO_PARAMS) == 776);

struct NV2080_CTRL_FB_DRAM_ENCRYPTION_INFOROM_SUPPORT_PARAMS {
    NvU32 isSupported;
};
static_assert(sizeof(NV2080_CTRL_FB_DRAM_ENCRYPTION_INFOROM_SUPPORT_PARAMS) == 4);

struct NV2080_CTRL_FB_FLUSH_GPU_CACHE_PARAMS {
    NvU64 addressArray[500];
    NvU32 addressArraySize;
    NvU32 addressAlign;
    NvU64 memBlockSizeBytes;
    NvU32 flags;
};
static_assert(sizeof(NV2080_CTRL_FB_FLUSH_GPU_CACHE_PARAMS) == 4024);

struct NV2080_CTRL_FB_DYNAMIC_OFFLINED_ADDRESS_INFO {
    NvU64 pageNumber;
    NvU8 source;
    NvU8 hole0[7];
};
static_assert(sizeof(NV2080_CTRL_FB_DYNAMIC_OFFLINED_ADDRESS_INFO) == 16);

struct NV2080_CTRL_FB_GET_DYNAMIC_OFFLINED_PAGES_PARAMS {
    NV2080_CTRL_FB_DYNAMIC_OFFLINED_ADDRESS_INFO offlined[64];
    NvU32 validEntries;
    NvU32 baseIndex;
    NvBool bMore;
};
static_assert(sizeof(NV2080_CTRL_FB_GET_DYNAMIC_OFFLINED_PAGES_PARAMS) == 1040);

struct NV2080_CTRL_FB_FS_INFO_INVALID_QUERY_PARAMS {
    NvU8 data[24];
};
static_assert(sizeof(NV2080_CTRL_FB_FS_INFO_INVALID_QUERY_PARAMS) == 24);

struct NV2080_CTRL_FB_FS_INFO_FBP_MASK_PARAMS {
    NvU32 swizzId;
    NvU8 hole0[4];
    NvU64 fbpEnMask;
};
static_assert(sizeof(NV2080_CTRL_FB_FS_INFO_FBP_MASK_PARAMS) == 16);

struct NV2080_CTRL_FB_FS_INFO_LTC_MASK_PARAMS {
    NvU32 fbpIndex;
    NvU32 ltcEnMask;
};
static_assert(sizeof(NV2080_CTRL_FB_FS_INFO_LTC_MASK_PARAMS) == 8);

struct NV2080_CTRL_FB_FS_INFO_LTS_MASK_PARAMS {
    NvU32 fbpIndex;
    NvU32 ltsEnMask;
};
static_assert(sizeof(NV2080_CTRL_FB_FS_INFO_LTS_MASK_PARAMS) == 8);

struct NV2080_CTRL_FB_FS_INFO_FBPA_MASK_PARAMS {
    NvU32 fbpIndex;
    NvU32 fbpaEnMask;
};
static_assert(sizeof(NV2080_CTRL_FB_FS_INFO_FBPA_MASK_PARAMS) == 8);

struct NV2080_CTRL_FB_FS_INFO_ROP_MASK_PARAMS {
    NvU32 fbpIndex;
    NvU32 ropEnMask;
};
static_assert(sizeof(NV2080_CTRL_FB_FS_INFO_ROP_MASK_PARAMS) == 8);

struct NV2080_CTRL_FB_FS_INFO_PROFILER_MON_LTC_MASK_PARAMS {
    NvU32 fbpIndex;
    NvU32 swizzId;
    NvU32 ltcEnMask;
};
static_assert(sizeof(NV2080_CTRL_FB_FS_INFO_PROFILER_MON_LTC_MASK_PARAMS) == 12);

struct NV2080_CTRL_FB_FS_INFO_PROFILER_MON_LTS_MASK_PARAMS {
    NvU32 fbpIndex;
    NvU32 swizzId;
    NvU32 ltsEnMask;
};
static_assert(sizeof(NV2080_CTRL_FB_FS_INFO_PROFILER_MON_LTS_MASK_PARAMS) == 12);

struct NV2080_CTRL_FB_FS_INFO_PROFILER_MON_FBPA_MASK_PARAMS {
    NvU32 fbpIndex;
    NvU32 swizzId;
    NvU32 fbpaEnMask;
};
static_assert(sizeof(NV2080_CTRL_FB_FS_INFO_PROFILER_MON_FBPA_MASK_PARAMS) == 12);

struct NV2080_CTRL_FB_FS_INFO_PROFILER_MON_ROP_MASK_PARAMS {
    NvU32 fbpIndex;
    NvU32 swizzId;
    NvU32 ropEnMask;
};
static_assert(sizeof(NV2080_CTRL_FB_FS_INFO_PROFILER_MON_ROP_MASK_PARAMS) == 12);

struct NV2080_CTRL_FB_FS_INFO_PROFILER_MON_FBPA_SUBP_MASK_PARAMS {
    NvU32 fbpIndex;
    NvU32 swizzId;
    NvU64 fbpaSubpEnMask;
};
static_assert(sizeof(NV2080_CTRL_FB_FS_INFO_PROFILER_MON_FBPA_SUBP_MASK_PARAMS) == 16);

struct NV2080_CTRL_FB_FS_INFO_FBPA_SUBP_MASK_PARAMS {
    NvU32 fbpIndex;
    NvU32 fbpaSubpEnMask;
};
static_assert(sizeof(NV2080_CTRL_FB_FS_INFO_FBPA_SUBP_MASK_PARAMS) == 8);

struct NV2080_CTRL_FB_FS_INFO_FBP_LOGICAL_MAP_PARAMS {
    NvU32 fbpIndex;
    NvU32 fbpLogicalIndex;
};
static_assert(sizeof(NV2080_CTRL_FB_FS_INFO_FBP_LOGICAL_MAP_PARAMS) == 8);

struct NV2080_CTRL_SYSL2_FS_INFO_SYSLTC_MASK_PARAMS {
    NvU32 sysIdx;
    NvU32 sysl2LtcEnMask;
};
static_assert(sizeof(NV2080_CTRL_SYSL2_FS_INFO_SYSLTC_MASK_PARAMS) == 8);

struct NV2080_CTRL_FB_FS_INFO_PAC_MASK_PARAMS {
    NvU32 fbpIndex;
    NvU32 pacEnMask;
};
static_assert(sizeof(NV2080_CTRL_FB_FS_INFO_PAC_MASK_PARAMS) == 8);

struct NV2080_CTRL_FB_FS_INFO_LOGICAL_LTC_MASK_PARAMS {
    NvU32 fbpIndex;
    NvU8 hole0[4];
    NvU64 logicalLtcEnMask;
};
static_assert(sizeof(NV2080_CTRL_FB_FS_INFO_LOGICAL_LTC_MASK_PARAMS) == 16);

struct NV2080_CTRL_FB_FS_INFO_PROFILER_MON_LOGICAL_LTC_MASK_PARAMS {
    NvU32 fbpIndex;
    NvU32 swizzId;
    NvU64 logicalLtcEnMask;
};
static_assert(sizeof(NV2080_CTRL_FB_FS_INFO_PROFILER_MON_LOGICAL_LTC_MASK_PARAMS) == 16);

struct NV2080_CTRL_SYSL2_FS_INFO_SYSLTS_MASK_PARAMS {
    NvU32 sysIdx;
    NvU8 hole0[4];
    NvU64 sysl2LtsEnMask;
};
static_assert(sizeof(NV2080_CTRL_SYSL2_FS_INFO_SYSLTS_MASK_PARAMS) == 16);

struct NV2080_CTRL_FB_FS_INFO_QUERY {
    NvU16 queryType;
    NvU8 reserved[2];
    NvU32 status;
    union {
        NV2080_CTRL_FB_FS_INFO_INVALID_QUERY_PARAMS inv;
        NV2080_CTRL_FB_FS_INFO_FBP_MASK_PARAMS fbp;
        NV2080_CTRL_FB_FS_INFO_LTC_MASK_PARAMS ltc;
        NV2080_CTRL_FB_FS_INFO_LTS_MASK_PARAMS lts;
        NV2080_CTRL_FB_FS_INFO_FBPA_MASK_PARAMS fbpa;
        NV2080_CTRL_FB_FS_INFO_ROP_MASK_PARAMS rop;
        NV2080_CTRL_FB_FS_INFO_PROFILER_MON_LTC_MASK_PARAMS dmLtc;
        NV2080_CTRL_FB_FS_INFO_PROFILER_MON_LTS_MASK_PARAMS dmLts;
        NV2080_CTRL_FB_FS_INFO_PROFILER_MON_FBPA_MASK_PARAMS dmFbpa;
        NV2080_CTRL_FB_FS_INFO_PROFILER_MON_ROP_MASK_PARAMS dmRop;
        NV2080_CTRL_FB_FS_INFO_PROFILER_MON_FBPA_SUBP_MASK_PARAMS dmFbpaSubp;
        NV2080_CTRL_FB_FS_INFO_FBPA_SUBP_MASK_PARAMS fbpaSubp;
        NV2080_CTRL_FB_FS_INFO_FBP_LOGICAL_MAP_PARAMS fbpLogicalMap;
        NV2080_CTRL_SYSL2_FS_INFO_SYSLTC_MASK_PARAMS sysl2Ltc;
        NV2080_CTRL_FB_FS_INFO_PAC_MASK_PARAMS pac;
        NV2080_CTRL_FB_FS_INFO_LOGICAL_LTC_MASK_PARAMS logicalLtc;
        NV2080_CTRL_FB_FS_INFO_PROFILER_MON_LOGICAL_LTC_MASK_PARAMS dmLogicalLtc;
        NV2080_CTRL_SYSL2_FS_INFO_SYSLTS_MASK_PARAMS sysl2Lts;
    } queryParams;
};
static_assert(sizeof(NV2080_CTRL_FB_FS_INFO_QUERY) == 32);

struct NV2080_CTRL_FB_GET_FS_INFO_PARAMS {
    NvU16 numQueries;
    NvU8 reserved[6];
    NV2080_CTRL_FB_FS_INFO_QUERY queries[120];
};
static_assert(sizeof(NV2080_CTRL_FB_GET_FS_INFO_PARAMS) == 3848);

struct NV2080_CTRL_FB_GET_GPU_CACHE_INFO_PARAMS {
    NvU32 powerState;
    NvU32 writeMode;
    NvU32 bypassMode;
    NvU32 rcmState;
};
static_assert(sizeof(NV2080_CTRL_FB_GET_GPU_CACHE_INFO_PARAMS) == 16);

struct NV2080_CTRL_FB_GET_INFO_PARAMS {
    NvU32 fbInfoListSize;
    NvU8 hole0[4];
    NvP64 fbInfoList;
};
static_assert(sizeof(NV2080_CTRL_FB_GET_INFO_PARAMS) == 16);

struct NV2080_CTRL_FB_GET_INFO_V2_PARAMS {
    NvU32 fbInfoListSize;
    NVXXXX_CTRL_XXX_INFO fbInfoList[57];
};
static_assert(sizeof(NV2080_CTRL_FB_GET_INFO_V2_PARAMS) == 460);

struct NV2080_CTRL_FB_GET_MEM_ALIGNMENT_PARAMS {
    NvU32 alignType;
    NvU32 alignAttr;
    NvU32 alignInputFlags;
    NvU32 alignHead;
    NvU64 alignSize;
    NvU32 alignHeight;
    NvU32 alignWidth;
    NvU32 alignPitch;
    NvU32 alignPad;
    NvU32 alignMask;
    NvU32 alignOutputFlags[4];
    NvU32 alignBank[4];
    NvU32 alignKind;
    NvU32 alignAdjust;
    NvU32 alignAttr2;
};
static_assert(sizeof(NV2080_CTRL_FB_GET_MEM_ALIGNMENT_PARAMS) == 88);

struct NV2080_CTRL_FB_OFFLINED_ADDRESS_INFO {
    NvU64 pageAddressWithEccOn;
    NvU64 pageAddressWithEccOff;
    NvU32 rbcAddress;
    NvU32 source;
    NvU32 status;
    NvU32 timestamp;
};
static_assert(sizeof(NV2080_CTRL_FB_OFFLINED_ADDRESS_INFO) == 32);

struct NV2080_CTRL_FB_GET_OFFLINED_PAGES_PARAMS {
    NV2080_CTRL_FB_OFFLINED_ADDRESS_INFO offlined[64];
    NvU32 validEntries;
    NvBool bRetirementPending;
    NvU8 retirementPending;
};
static_assert(sizeof(NV2080_CTRL_FB_GET_OFFLINED_PAGES_PARAMS) == 2056);

struct NV2080_CTRL_FB_GET_SEMAPHORE_SURFACE_LAYOUT_PARAMS {
    NvU64 maxSubmittedSemaphoreValueOffset;
    NvU64 monitoredFenceThresholdOffset;
    NvU64 size;
    NvU32 caps;
};
static_assert(sizeof(NV2080_CTRL_FB_GET_SEMAPHORE_SURFACE_LAYOUT_PARAMS) == 32);

struct NV2080_CTRL_FB_GET_STATUS_PARAMS {
    NvU32 fbStatus;
};
static_assert(sizeof(NV2080_CTRL_FB_GET_STATUS_PARAMS) == 4);

}  // namespace rm::abi
