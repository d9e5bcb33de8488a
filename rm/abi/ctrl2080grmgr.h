// Wire structs of the driver's ctrl2080grmgr.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080grmgr.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_GRMGR_GR_FS_INFO_GPC_COUNT_PARAMS {
    NvU32 gpcCount;
};
static_assert(sizeof(NV2080_CTRL_GRMGR_GR_FS_INFO_GPC_COUNT_PARAMS) == 4);

struct NV2080_CTRL_GRMGR_GR_FS_INFO_CHIPLET_GPC_MAP_PARAMS {
    NvU32 gpcId;
    NvU32 chipletGpcMap;
};
static_assert(sizeof(NV2080_CTRL_GRMGR_GR_FS_INFO_CHIPLET_GPC_MAP_PARAMS) == 8);

struct NV2080_CTRL_GRMGR_GR_FS_INFO_TPC_MASK_PARAMS {
    NvU32 gpcId;
    NvU32 tpcMask;
};
static_assert(sizeof(NV2080_CTRL_GRMGR_GR_FS_INFO_TPC_MASK_PARAMS) == 8);

struct NV2080_CTRL_GRMGR_GR_FS_INFO_PPC_MASK_PARAMS {
    NvU32 gpcId;
    NvU32 ppcMask;
};
static_assert(sizeof(NV2080_CTRL_GRMGR_GR_FS_INFO_PPC_MASK_PARAMS) == 8);

struct NV2080_CTRL_GRMGR_GR_FS_INFO_PARTITION_CHIPLET_GPC_MAP_PARAMS {
    NvU32 swizzId;
    NvU32 gpcId;
    NvU32 chipletGpcMap;
};
static_assert(sizeof(NV2080_CTRL_GRMGR_GR_FS_INFO_PARTITION_CHIPLET_GPC_MAP_PARAMS) == 12);

struct NV2080_CTRL_GRMGR_GR_FS_INFO_CHIPLET_SYSPIPE_MASK_PARAMS {
    NvU32 chipletSyspipeMask;
};
static_assert(sizeof(NV2080_CTRL_GRMGR_GR_FS_INFO_CHIPLET_SYSPIPE_MASK_PARAMS) == 4);

struct NV2080_CTRL_GRMGR_GR_FS_INFO_PARTITION_CHIPLET_SYSPIPE_IDS_PARAMS {
    NvU16 swizzId;
    NvU16 physSyspipeIdCount;
    NvU8 physSyspipeId[8];
};
static_assert(sizeof(NV2080_CTRL_GRMGR_GR_FS_INFO_PARTITION_CHIPLET_SYSPIPE_IDS_PARAMS) == 12);

struct NV2080_CTRL_GRMGR_GR_FS_INFO_PROFILER_MON_GPC_MASK_PARAMS {
    NvU32 swizzId;
    NvU32 grIdx;
    NvU32 gpcEnMask;
};
static_assert(sizeof(NV2080_CTRL_GRMGR_GR_FS_INFO_PROFILER_MON_GPC_MASK_PARAMS) == 12);

struct NV2080_CTRL_GRMGR_GR_FS_INFO_PARTITION_SYSPIPE_ID_PARAMS {
    NvU32 syspipeId;
};
static_assert(sizeof(NV2080_CTRL_GRMGR_GR_FS_INFO_PARTITION_SYSPIPE_ID_PARAMS) == 4);

struct NV2080_CTRL_GRMGR_GR_FS_INFO_ROP_MASK_PARAMS {
    NvU32 gpcId;
    NvU32 ropMask;
};
static_assert(sizeof(NV2080_CTRL_GRMGR_GR_FS_INFO_ROP_MASK_PARAMS) == 8);

struct NV2080_CTRL_GRMGR_GR_FS_INFO_QUERY_PARAMS {
    NvU16 queryType;
    NvU8 reserved[2];
    NvU32 status;
    union {
        NV2080_CTRL_GRMGR_GR_FS_INFO_GPC_COUNT_PARAMS gpcCountData;
        NV2080_CTRL_GRMGR_GR_FS_INFO_CHIPLET_GPC_MAP_PARAMS chipletGpcMapData;
        NV2080_CTRL_GRMGR_GR_FS_INFO_TPC_MASK_PARAMS tpcMaskData;
        NV2080_CTRL_GRMGR_GR_FS_INFO_PPC_MASK_PARAMS ppcMaskData;
        NV2080_CTRL_GRMGR_GR_FS_INFO_PARTITION_CHIPLET_GPC_MAP_PARAMS partitionGpcMapData;
        NV2080_CTRL_GRMGR_GR_FS_INFO_CHIPLET_SYSPIPE_MASK_PARAMS syspipeMaskData;
        NV2080_CTRL_GRMGR_GR_FS_INFO_PARTITION_CHIPLET_SYSPIPE_IDS_PARAMS partitionChipletSyspipeData;
        NV2080_CTRL_GRMGR_GR_FS_INFO_PROFILER_MON_GPC_MASK_PARAMS dmGpcMaskData;
        NV2080_CTRL_GRMGR_GR_FS_INFO_PARTITION_SYSPIPE_ID_PARAMS partitionSyspipeIdData;
        NV2080_CTRL_GRMGR_GR_FS_INFO_ROP_MASK_PARAMS ropMaskData;
    } queryData;
};
static_assert(sizeof(NV2080_CTRL_GRMGR_GR_FS_INFO_QUERY_PARAMS) == 20);

struct NV2080_CTRL_GRMGR_GET_GR_FS_INFO_PARAMS {
    NvU16 numQueries;
    NvU8 reserved[6];
    NV2080_CTRL_GRMGR_GR_FS_INFO_QUERY_PARAMS queries[96];
};
static_assert(sizeof(NV2080_CTRL_GRMGR_GET_GR_FS_INFO_PARAMS) == 1928);

}  // namespace rm::abi
