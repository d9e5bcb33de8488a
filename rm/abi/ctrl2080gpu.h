// Wire structs of the driver's ctrl2080gpu.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080gpu.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/ctrl0080gr.h"
#include "rm/abi/ctrlxxxx.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_GPU_GET_GID_INFO_PARAMS {
    NvU32 index;
    NvU32 flags;
    NvU32 length;
    NvU8 data[256];
};
static_assert(sizeof(NV2080_CTRL_GPU_GET_GID_INFO_PARAMS) == 268);

struct NV2080_CTRL_CMD_GET_GPU_FABRIC_PROBE_INFO_PARAMS {
    NvU8 state;
    NV_STATUS status;
    NvU8 clusterUuid[16];
    NvU16 fabricPartitionId;
    NvU64 fabricCaps;
    NvU32 fabricCliqueId;
    NvU32 fabricHealthMask;
};
static_assert(sizeof(NV2080_CTRL_CMD_GET_GPU_FABRIC_PROBE_INFO_PARAMS) == 48);

struct NV2080_CTRL_CMD_GPU_HANDLE_VF_PRI_FAULT_PARAMS {
    NvU32 faultType;
};
static_assert(sizeof(NV2080_CTRL_CMD_GPU_HANDLE_VF_PRI_FAULT_PARAMS) == 4);

struct NV2080_CTRL_GPU_P2P_PEER_CAPS_PEER_INFO {
    NvU32 gpuId;
    NvU8 gpuUuid[16];
    NvU32 p2pCaps;
    NvU32 p2pOptimalReadCEs;
    NvU32 p2pOptimalWriteCEs;
    NvU8 p2pCapsStatus[9];
    NvU32 busPeerId;
    NvU32 busEgmPeerId;
};
static_assert(sizeof(NV2080_CTRL_GPU_P2P_PEER_CAPS_PEER_INFO) == 52);

struct NV2080_CTRL_GET_P2P_CAPS_PARAMS {
    NvBool bAllCaps;
    NvBool bUseUuid;
    NvU32 peerGpuCount;
    NV2080_CTRL_GPU_P2P_PEER_CAPS_PEER_INFO peerGpuCaps[32];
};
static_assert(sizeof(NV2080_CTRL_GET_P2P_CAPS_PARAMS) == 1672);

struct NV2080_CTRL_GPU_EVICT_CTX_PARAMS {
    NvU32 engineType;
    NvHandle hClient;
    NvU32 ChID;
    NvHandle hChanClient;
    NvHandle hObject;
};
static_assert(sizeof(NV2080_CTRL_GPU_EVICT_CTX_PARAMS) == 20);

struct NV2080_CTRL_GPU_EXEC_REG_OPS_PARAMS {
    NvHandle hClientTarget;
    NvHandle hChannelTarget;
    NvU32 bNonTransactional;
    NvU32 reserved00[2];
    NvU32 regOpCount;
    NvP64 regOps;
    NV0080_CTRL_GR_ROUTE_INFO grRouteInfo;
};
static_assert(sizeof(NV2080_CTRL_GPU_EXEC_REG_OPS_PARAMS) == 48);

struct NV2080_CTRL_GPU_GET_ACTIVE_PARTITION_IDS_PARAMS {
    NvU32 swizzId[9];
    NvU32 partitionCount;
};
static_assert(sizeof(NV2080_CTRL_GPU_GET_ACTIVE_PARTITION_IDS_PARAMS) == 40);

struct NV2080_CTRL_GPU_COMPUTE_POLICY_CONFIG {
    NvU32 type;
    struct {
        NvU32 timeslice;
    } data;
};
static_assert(sizeof(NV2080_CTRL_GPU_COMPUTE_POLICY_CONFIG) == 8);

struct NV2080_CTRL_GPU_GET_COMPUTE_POLICY_CONFIG_PARAMS {
    NvU32 numConfigs;
    NV2080_CTRL_GPU_COMPUTE_POLICY_CONFIG configList[32];
};
static_assert(sizeof(NV2080_CTRL_GPU_GET_COMPUTE_POLICY_CONFIG_PARAMS) == 260);

struct NV2080_CTRL_GPU_CONSTRUCTED_FALCON_INFO {
    NvU32 engDesc;
    NvU32 ctxAttr;
    NvU32 ctxBufferSize;
    NvU32 addrSpaceList;
    NvU32 registerBase;
};
static_assert(sizeof(NV2080_CTRL_GPU_CONSTRUCTED_FALCON_INFO) == 20);

struct NV2080_CTRL_GPU_GET_CONSTRUCTED_FALCON_INFO_PARAMS {
    NvU32 numConstructedFalcons;
    NV2080_CTRL_GPU_CONSTRUCTED_FALCON_INFO constructedFalconsTable[64];
};
static_assert(sizeof(NV2080_CTRL_GPU_GET_CONSTRUCTED_FALCON_INFO_PARAMS) == 1284);

struct NV2080_CTRL_GPU_GET_ENGINES_V2_PARAMS {
    NvU32 engineCount;
    NvU32 engineList[84];
};
static_assert(sizeof(NV2080_CTRL_GPU_GET_ENGINES_V2_PARAMS) == 340);

struct NV2080_CTRL_GPU_GET_ID_PARAMS {
    NvU32 gpuId;
};
static_assert(sizeof(NV2080_CTRL_GPU_GET_ID_PARAMS) == 4);

struct NV2080_CTRL_GPU_GET_INFOROM_IMAGE_VERSION_PARAMS {
    NvU8 version[16];
};
static_assert(sizeof(NV2080_CTRL_GPU_GET_INFOROM_IMAGE_VERSION_PARAMS) == 16);

struct NV2080_CTRL_GPU_GET_INFOROM_OBJECT_VERSION_PARAMS {
    char objectType[3];
    NvU8 version;
    NvU8 subversion;
};
static_assert(sizeof(NV2080_CTRL_GPU_GET_INFOROM_OBJECT_VERSION_PARAMS) == 5);

struct NV2080_CTRL_GPU_GET_INFO_PARAMS {
    NvU32 gpuInfoListSize;
    NvU8 hole0[4];
    NvP64 gpuInfoList;
};
static_assert(sizeof(NV2080_CTRL_GPU_GET_INFO_PARAMS) == 16);

struct NV2080_CTRL_GPU_GET_INFO_V2_PARAMS {
    NvU32 gpuInfoListSize;
    NVXXXX_CTRL_XXX_INFO gpuInfoList[65];
};
static_assert(sizeof(NV2080_CTRL_GPU_GET_INFO_V2_PARAMS) == 524);

struct NV2080_CTRL_GPU_GET_MAX_SUPPORTED_PAGE_SIZE_PARAMS {
    NvU64 maxSupportedPageSize;
};
static_assert(sizeof(NV2080_CTRL_GPU_GET_MAX_SUPPORTED_PAGE_SIZE_PARAMS) == 8);

struct NV2080_CTRL_GPU_GET_NAME_STRING_PARAMS {
    NvU32 gpuNameStringFlags;
    union {
        NvU8 ascii[64];
        NvU16 unicode[64];
    } gpuNameString;
};
static_assert(sizeof(NV2080_CTRL_GPU_GET_NAME_STRING_PARAMS) == 132);

struct NV2080_CTRL_GPU_GET_OEM_BOARD_INFO_PARAMS {
    NvU32 buildDate;
    NvU8 marketingName[24];
    NvU8 serialNumber[16];
    NvU8 memoryManufacturer;
    NvU8 memoryPartID[20];
    NvU8 memoryDateCode[6];
    NvU8 productPartNumber[20];
    NvU8 boardRevision[3];
    NvU8 boardType;
    NvU8 board699PartNumber[20];
    NvU8 board965PartNumber[20];
};
static_assert(sizeof(NV2080_CTRL_GPU_GET_OEM_BOARD_INFO_PARAMS) == 136);

struct NV2080_CTRL_GPU_GET_PIDS_PARAMS {
    NvU32 idType;
    NvU32 id;
    NvU32 pidTblCount;
    NvU32 pidTbl[950];
};
static_assert(sizeof(NV2080_CTRL_GPU_GET_PIDS_PARAMS) == 3812);

struct NV2080_CTRL_GPU_PID_INFO_VIDEO_MEMORY_USAGE_DATA {
    NvU64 memPrivate;
    NvU64 memSharedOwned;
    NvU64 memSharedDuped;
    NvU64 protectedMemPrivate;
    NvU64 protectedMemSharedOwned;
    NvU64 protectedMemSharedDuped;
};
static_assert(sizeof(NV2080_CTRL_GPU_PID_INFO_VIDEO_MEMORY_USAGE_DATA) == 48);

union NV2080_CTRL_GPU_PID_INFO_DATA {
    NV2080_CTRL_GPU_PID_INFO_VIDEO_MEMORY_USAGE_DATA vidMemUsage;
};
static_assert(sizeof(NV2080_CTRL_GPU_PID_INFO_DATA) == 48);

struct NV2080_CTRL_SMC_SUBSCRIPTION_INFO {
    NvU32 computeInstanceId;
    NvU32 gpuInstanceId;
};
static_assert(sizeof(NV2080_CTRL_SMC_SUBSCRIPTION_INFO) == 8);

struct NV2080_CTRL_GPU_PID_INFO {
    NvU32 pid;
    NvU32 index;
    NvU32 result;
    NV2080_CTRL_GPU_PID_INFO_DATA data;
    NV2080_CTRL_SMC_SUBSCRIPTION_INFO smcSubscription;
};
static_assert(sizeof(NV2080_CTRL_GPU_PID_INFO) == 72);

struct NV2080_CTRL_GPU_GET_PID_INFO_PARAMS {
    NvU32 pidInfoListCount;
    NV2080_CTRL_GPU_PID_INFO pidInfoList[200];
};
static_assert(sizeof(NV2080_CTRL_GPU_GET_PID_INFO_PARAMS) == 14408);

struct NV2080_CTRL_GPU_GET_SHORT_NAME_STRING_PARAMS {
    NvU8 gpuShortNameString[64];
};
static_assert(sizeof(NV2080_CTRL_GPU_GET_SHORT_NAME_STRING_PARAMS) == 64);

struct NV2080_CTRL_GPU_GET_SIMULATION_INFO_PARAMS {
    NvU32 type;
};
static_assert(sizeof(NV2080_CTRL_GPU_GET_SIMULATION_INFO_PARAMS) == 4);

struct NV2080_CTRL_GPU_GET_VMMU_SEGMENT_SIZE_PARAMS {
    NvU64 vmmuSegmentSize;
};
static_assert(sizeof(NV2080_CTRL_GPU_GET_VMMU_SEGMENT_SIZE_PARAMS) == 8);

struct NV2080_CTRL_GPU_PROMOTE_CTX_BUFFER_ENTRY {
    NvU64 gpuPhysAddr;
    NvU64 gpuVirtAddr;
    NvU64 size;
    NvU32 physAttr;
    NvU16 bufferId;
    NvU8 bInitialize;
    NvU8 bNonmapped;
};
static_assert(sizeof(NV2080_CTRL_GPU_PROMOTE_CTX_BUFFER_ENTRY) == 32);

struct NV2080_CTRL_GPU_PROMOTE_CTX_PARAMS {
    NvU32 engineType;
    NvHandle hClient;
    NvU32 ChID;
    NvHandle hChanClient;
    NvHandle hObject;
    NvHandle hVirtMemory;
    NvU64 virtAddress;
    NvU64 size;
    NvU32 entryCount;
    NV2080_CTRL_GPU_PROMOTE_CTX_BUFFER_ENTRY promoteEntry[16];
};
static_assert(sizeof(NV2080_CTRL_GPU_PROMOTE_CTX_PARAMS) == 560);

struct NV2080_CTRL_GPU_QUERY_COMPUTE_MODE_RULES_PARAMS {
    NvU32 rules;
};
static_assert(sizeof(NV2080_CTRL_GPU_QUERY_COMPUTE_MODE_RULES_PARAMS) == 4);

struct NV2080_CTRL_GPU_QUERY_ECC_CONFIGURATION_PARAMS {
    NvU32 currentConfiguration;
    NvU32 defaultConfiguration;
};
static_assert(sizeof(NV2080_CTRL_GPU_QUERY_ECC_CONFIGURATION_PARAMS) == 8);

struct NV2080_CTRL_GPU_QUERY_ECC_EXCEPTION_STATUS {
    NvU64 count;
};
static_assert(sizeof(NV2080_CTRL_GPU_QUERY_ECC_EXCEPTION_STATUS) == 8);

struct NV2080_CTRL_GPU_QUERY_ECC_UNIT_STATUS {
    NvBool enabled;
    NvBool scrubComplete;
    NvBool supported;
    NV2080_CTRL_GPU_QUERY_ECC_EXCEPTION_STATUS dbe;
    NV2080_CTRL_GPU_QUERY_ECC_EXCEPTION_STATUS dbeNonResettable;
    NV2080_CTRL_GPU_QUERY_ECC_EXCEPTION_STATUS sbe;
    NV2080_CTRL_GPU_QUERY_ECC_EXCEPTION_STATUS sbeNonResettable;
};
static_assert(sizeof(NV2080_CTRL_GPU_QUERY_ECC_UNIT_STATUS) == 40);

struct NV2080_CTRL_GPU_QUERY_ECC_STATUS_PARAMS {
    NV2080_CTRL_GPU_QUERY_ECC_UNIT_STATUS units[36];
    NvBool bFatalPoisonError;
    NvU8 uncorrectableError;
    NvU32 flags;
    NV0080_CTRL_GR_ROUTE_INFO grRouteInfo;
};
static_assert(sizeof(NV2080_CTRL_GPU_QUERY_ECC_STATUS_PARAMS) == 1464);

struct NV2080_CTRL_GPU_FAULT_PACKET {
    NvU8 data[32];
};
static_assert(sizeof(NV2080_CTRL_GPU_FAULT_PACKET) == 32);

struct NV2080_CTRL_GPU_REPORT_NON_REPLAYABLE_FAULT_PARAMS {
    NV2080_CTRL_GPU_FAULT_PACKET faultPacket;
};
static_assert(sizeof(NV2080_CTRL_GPU_REPORT_NON_REPLAYABLE_FAULT_PARAMS) == 32);

struct NV2080_CTRL_GPU_SET_COMPUTE_MODE_RULES_PARAMS {
    NvU32 rules;
    NvU32 flags;
};
static_assert(sizeof(NV2080_CTRL_GPU_SET_COMPUTE_MODE_RULES_PARAMS) == 8);

struct NV2080_CTRL_GPU_VALIDATE_MEM_MAP_REQUEST_PARAMS {
    NvU64 addressStart;
    NvU64 addressLength;
    NvU32 protection;
};
static_assert(sizeof(NV2080_CTRL_GPU_VALIDATE_MEM_MAP_REQUEST_PARAMS) == 24);

struct NV2080_CTRL_GPU_INITIALIZE_CTX_PARAMS {
    NvU32 engineType;
    NvHandle hClient;
    NvU32 ChID;
    NvHandle hChanClient;
    NvHandle hObject;
    NvHandle hVirtMemory;
    NvU64 physAddress;
    NvU32 physAttr;
    NvHandle hDmaHandle;
    NvU32 index;
    NvU64 size;
};
static_assert(sizeof(NV2080_CTRL_GPU_INITIALIZE_CTX_PARAMS) == 56);

struct NV2080_CTRL_GPU_REG_OP {
    NvU8 regOp;
    NvU8 regType;
    NvU8 regStatus;
    NvU8 regQuad;
    NvU32 regGroupMask;
    NvU32 regSubGroupMask;
    NvU32 regOffset;
    NvU32 regValueHi;
    NvU32 regValueLo;
    NvU32 regAndNMaskHi;
    NvU32 regAndNMaskLo;
};
static_assert(sizeof(NV2080_CTRL_GPU_REG_OP) == 32);

}  // namespace rm::abi
