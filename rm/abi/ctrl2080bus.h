// Wire structs of the driver's ctrl2080bus.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080bus.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/ctrlxxxx.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_BUS_GET_INFO_PARAMS {
    NvU32 busInfoListSize;
    NvU8 hole0[4];
    NvP64 busInfoList;
};
static_assert(sizeof(NV2080_CTRL_BUS_GET_INFO_PARAMS) == 16);

struct NV2080_CTRL_BUS_GET_INFO_V2_PARAMS {
    NvU32 busInfoListSize;
    NVXXXX_CTRL_XXX_INFO busInfoList[52];
};
static_assert(sizeof(NV2080_CTRL_BUS_GET_INFO_V2_PARAMS) == 420);

struct NV2080_CTRL_BUS_PCI_BAR_INFO {
    NvU32 flags;
    NvU32 barSize;
    NvU64 barSizeBytes;
    NvU64 barOffset;
};
static_assert(sizeof(NV2080_CTRL_BUS_PCI_BAR_INFO) == 24);

struct NV2080_CTRL_BUS_GET_PCI_BAR_INFO_PARAMS {
    NvU32 pciBarCount;
    NV2080_CTRL_BUS_PCI_BAR_INFO pciBarInfo[8];
};
static_assert(sizeof(NV2080_CTRL_BUS_GET_PCI_BAR_INFO_PARAMS) == 200);

struct NV2080_CTRL_BUS_GET_PCI_INFO_PARAMS {
    NvU32 pciDeviceId;
    NvU32 pciSubSystemId;
    NvU32 pciRevisionId;
    NvU32 pciExtDeviceId;
};
static_assert(sizeof(NV2080_CTRL_BUS_GET_PCI_INFO_PARAMS) == 16);

struct NV2080_CTRL_BUS_SYSMEM_ACCESS_PARAMS {
    NvBool bDisable;
};
static_assert(sizeof(NV2080_CTRL_BUS_SYSMEM_ACCESS_PARAMS) == 1);

struct NV2080_CTRL_CMD_BUS_GET_C2C_INFO_PARAMS {
    NvBool bIsLinkUp;
    NvU32 nrLinks;
    NvU32 maxNrLinks;
    NvU32 linkMask;
    NvU32 perLinkBwMBps;
    NvU32 perLinkLaneWidth;
    NvU32 remoteType;
};
static_assert(sizeof(NV2080_CTRL_CMD_BUS_GET_C2C_INFO_PARAMS) == 28);

struct NV2080_CTRL_BUS_PCIE_GPU_ATOMIC_OP_INFO {
    NvBool bSupported;
    NvU8 hole0[3];
    NvU32 attributes;
};
static_assert(sizeof(NV2080_CTRL_BUS_PCIE_GPU_ATOMIC_OP_INFO) == 8);

struct NV2080_CTRL_CMD_BUS_GET_PCIE_SUPPORTED_GPU_ATOMICS_PARAMS {
    NvU32 capType;
    NvU32 dbdf;
    NV2080_CTRL_BUS_PCIE_GPU_ATOMIC_OP_INFO atomicOp[13];
};
static_assert(sizeof(NV2080_CTRL_CMD_BUS_GET_PCIE_SUPPORTED_GPU_ATOMICS_PARAMS) == 112);

}  // namespace rm::abi
