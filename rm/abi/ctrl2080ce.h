// Wire structs of the driver's ctrl2080ce.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080ce.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_CE_GET_ALL_CAPS_PARAMS {
    NvU8 capsTbl[64][2];
    NvU64 present;
};
static_assert(sizeof(NV2080_CTRL_CE_GET_ALL_CAPS_PARAMS) == 136);
using NV2080_CTRL_CE_GET_ALL_PHYSICAL_CAPS_PARAMS = NV2080_CTRL_CE_GET_ALL_CAPS_PARAMS;

struct NV2080_CTRL_CE_GET_CAPS_PARAMS {
    NvU32 ceEngineType;
    NvU32 capsTblSize;
    NvP64 capsTbl;
};
static_assert(sizeof(NV2080_CTRL_CE_GET_CAPS_PARAMS) == 16);

struct NV2080_CTRL_CE_GET_CAPS_V2_PARAMS {
    NvU32 ceEngineType;
    NvU8 capsTbl[2];
    NvU8 hole0[2];
};
static_assert(sizeof(NV2080_CTRL_CE_GET_CAPS_V2_PARAMS) == 8);
using NV2080_CTRL_CE_GET_PHYSICAL_CAPS_PARAMS = NV2080_CTRL_CE_GET_CAPS_V2_PARAMS;

struct NV2080_CTRL_CE_GET_CE_PCE_MASK_PARAMS {
    NvU32 ceEngineType;
    NvU32 pceMask;
};
static_assert(sizeof(NV2080_CTRL_CE_GET_CE_PCE_MASK_PARAMS) == 8);

struct NV2080_CTRL_CE_GET_FAULT_METHOD_BUFFER_SIZE_PARAMS {
    NvU32 size;
};
static_assert(sizeof(NV2080_CTRL_CE_GET_FAULT_METHOD_BUFFER_SIZE_PARAMS) == 4);

struct NV2080_CTRL_CE_GET_HUB_PCE_MASK_V2_PARAMS {
    NvU32 connectingHubPceMasks[32];
    NvU32 fbhubPceMask;
    NvU32 shimInstance;
};
static_assert(sizeof(NV2080_CTRL_CE_GET_HUB_PCE_MASK_V2_PARAMS) == 136);

struct NV2080_CTRL_CE_IS_DECOMP_LCE_ENABLED_PARAMS {
    NvU32 lceIndex;
    NvBool bDecompEnabled;
    NvU8 hole0[3];
};
static_assert(sizeof(NV2080_CTRL_CE_IS_DECOMP_LCE_ENABLED_PARAMS) == 8);

struct NV2080_CTRL_CE_SET_PCE_LCE_CONFIG_PARAMS {
    NvU32 ceEngineType;
    NvU32 pceLceMap[32];
    NvU32 grceSharedLceMap[4];
};
static_assert(sizeof(NV2080_CTRL_CE_SET_PCE_LCE_CONFIG_PARAMS) == 148);

struct NV2080_CTRL_CE_UPDATE_CLASS_DB_PARAMS {
    NvU32 stubbedCeMask;
};
static_assert(sizeof(NV2080_CTRL_CE_UPDATE_CLASS_DB_PARAMS) == 4);

struct NV2080_CTRL_CE_UPDATE_PCE_LCE_MAPPINGS_V2_PARAMS {
    NvU32 pceLceMap[32];
    NvU32 grceConfig[4];
    NvU32 exposeCeMask;
    NvBool bUpdateNvlinkPceLce;
    NvU32 shimInstance;
};
static_assert(sizeof(NV2080_CTRL_CE_UPDATE_PCE_LCE_MAPPINGS_V2_PARAMS) == 156);

struct NV2080_CTRL_INTERNAL_CE_GET_PCE_CONFIG_FOR_LCE_TYPE_PARAMS {
    NvU32 lceType;
    NvU32 numPces;
    NvU32 numLces;
    NvU32 supportedPceMask;
    NvU32 supportedLceMask;
    NvU32 pcePerHshub;
};
static_assert(sizeof(NV2080_CTRL_INTERNAL_CE_GET_PCE_CONFIG_FOR_LCE_TYPE_PARAMS) == 24);

}  // namespace rm::abi
