// Wire structs of the driver's ctrl0000system.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl0000/ctrl0000system.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV0000_CTRL_SYSTEM_GET_BUILD_VERSION_PARAMS {
    NvU32 sizeOfStrings;
    NvP64 pDriverVersionBuffer;
    NvP64 pVersionBuffer;
    NvP64 pTitleBuffer;
    NvU32 changelistNumber;
    NvU32 officialChangelistNumber;
};
static_assert(sizeof(NV0000_CTRL_SYSTEM_GET_BUILD_VERSION_PARAMS) == 40);

struct NV0000_CTRL_SYSTEM_GET_CHIPSET_INFO_PARAMS {
    NvU16 vendorId;
    NvU16 deviceId;
    NvU16 subSysVendorId;
    NvU16 subSysDeviceId;
    NvU16 HBvendorId;
    NvU16 HBdeviceId;
    NvU16 HBsubSysVendorId;
    NvU16 HBsubSysDeviceId;
    NvU32 sliBondId;
    NvU8 vendorNameString[32];
    NvU8 subSysVendorNameString[32];
    NvU8 chipsetNameString[32];
    NvU8 sliBondNameString[32];
    NvU32 flags;
};
static_assert(sizeof(NV0000_CTRL_SYSTEM_GET_CHIPSET_INFO_PARAMS) == 152);

struct NV0000_CTRL_SYSTEM_GET_CPU_INFO_PARAMS {
    NvU32 type;
    NvU32 capabilities;
    NvU32 clock;
    NvU32 L1DataCacheSize;
    NvU32 L2DataCacheSize;
    NvU32 dataCacheLineSize;
    NvU32 numLogicalCpus;
    NvU32 numPhysicalCpus;
    NvU8 name[52];
    NvU32 family;
    NvU32 model;
    NvU8 stepping;
    NvU32 coresOnDie;
    NvBool bCCEnabled;
    NvU32 selfHostedSocType;
};
static_assert(sizeof(NV0000_CTRL_SYSTEM_GET_CPU_INFO_PARAMS) == 108);

struct NV0000_CTRL_SYSTEM_GET_FABRIC_STATUS_PARAMS {
    NvU32 fabricStatus;
};
static_assert(sizeof(NV0000_CTRL_SYSTEM_GET_FABRIC_STATUS_PARAMS) == 4);

struct NV0000_CTRL_SYSTEM_GET_FEATURES_PARAMS {
    NvU32 featuresMask;
};
static_assert(sizeof(NV0000_CTRL_SYSTEM_GET_FEATURES_PARAMS) == 4);

struct NV0000_CTRL_SYSTEM_GET_P2P_CAPS_MATRIX_PARAMS {
    NvU32 grpACount;
    NvU32 grpBCount;
    NvU32 gpuIdGrpA[8];
    NvU32 gpuIdGrpB[8];
    NvU32 p2pCaps[8][8];
    NvU32 a2bOptimalReadCes[8][8];
    NvU32 a2bOptimalWriteCes[8][8];
    NvU32 b2aOptimalReadCes[8][8];
    NvU32 b2aOptimalWriteCes[8][8];
};
static_assert(sizeof(NV0000_CTRL_SYSTEM_GET_P2P_CAPS_MATRIX_PARAMS) == 1352);

struct NV0000_CTRL_SYSTEM_GET_P2P_CAPS_PARAMS {
    NvU32 gpuIds[32];
    NvU32 gpuCount;
    NvU32 p2pCaps;
    NvU32 p2pOptimalReadCEs;
    NvU32 p2pOptimalWriteCEs;
    NvU8 p2pCapsStatus[9];
    NvP64 busPeerIds;
    NvP64 busEgmPeerIds;
};
static_assert(sizeof(NV0000_CTRL_SYSTEM_GET_P2P_CAPS_PARAMS) == 176);

struct NV0000_CTRL_SYSTEM_GET_P2P_CAPS_V2_PARAMS {
    NvU32 gpuIds[32];
    NvU32 gpuCount;
    NvU32 p2pCaps;
    NvU32 p2pOptimalReadCEs;
    NvU32 p2pOptimalWriteCEs;
    NvU8 p2pCapsStatus[9];
    NvU32 busPeerIds[1024];
    NvU32 busEgmPeerIds[1024];
};
static_assert(sizeof(NV0000_CTRL_SYSTEM_GET_P2P_CAPS_V2_PARAMS) == 8348);

}  // namespace rm::abi
