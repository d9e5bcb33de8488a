// Wire structs of the driver's gsp_static_config.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/nvidia/inc/kernel/gpu/gsp/gsp_static_config.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/ctrl0080gpu.h"
#include "rm/abi/ctrl2080bios.h"
#include "rm/abi/ctrl2080fb.h"
#include "rm/abi/ctrl2080gpu.h"
#include "rm/abi/g_chipset_nvoc.h"
#include "rm/abi/gpu_acpi_data.h"
#include "rm/abi/rpc_headers.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct EcidManufacturingInfo {
    NvU32 ecidLow;
    NvU32 ecidHigh;
    NvU32 ecidExtended;
};
static_assert(sizeof(EcidManufacturingInfo) == 12);

struct FW_WPR_LAYOUT_OFFSET {
    NvU64 nonWprHeapOffset;
    NvU64 frtsOffset;
};
static_assert(sizeof(FW_WPR_LAYOUT_OFFSET) == 16);

struct GSP_PCIE_CONFIG_REG {
    NvU32 linkCap;
};
static_assert(sizeof(GSP_PCIE_CONFIG_REG) == 4);

struct GSP_VF_INFO {
    NvU32 totalVFs;
    NvU32 firstVFOffset;
    NvU64 FirstVFBar0Address;
    NvU64 FirstVFBar1Address;
    NvU64 FirstVFBar2Address;
    NvBool b64bitBar0;
    NvBool b64bitBar1;
    NvBool b64bitBar2;
};
static_assert(sizeof(GSP_VF_INFO) == 40);

struct GspStaticConfigInfo {
    NvU8 grCapsBits[23];
    NV2080_CTRL_GPU_GET_GID_INFO_PARAMS gidInfo;
    NV2080_CTRL_BIOS_GET_SKU_INFO_PARAMS SKUInfo;
    NV2080_CTRL_CMD_FB_GET_FB_REGION_INFO_PARAMS fbRegionInfoParams;
    NV0080_CTRL_GPU_GET_SRIOV_CAPS_PARAMS sriovCaps;
    NvU32 sriovMaxGfid;
    NvU32 engineCaps[3];
    NvBool poisonFuseEnabled;
    NvU64 fb_length;
    NvU64 fbio_mask;
    NvU32 fb_bus_width;
    NvU32 fb_ram_type;
    NvU64 fbp_mask;
    NvU32 l2_cache_size;
    NvU8 gpuNameString[64];
    NvU8 gpuShortNameString[64];
    NvU16 gpuNameString_Unicode[64];
    NvBool bGpuInternalSku;
    NvBool bIsQuadroGeneric;
    NvBool bIsQuadroAd;
    NvBool bIsNvidiaNvs;
    NvBool bIsVgx;
    NvBool bGeforceSmb;
    NvBool bIsTitan;
    NvBool bIsTesla;
    NvBool bIsMobile;
    NvBool bIsGc6Rtd3Allowed;
    NvBool bIsGc8Rtd3Allowed;
    NvBool bIsGcOffRtd3Allowed;
    NvBool bIsGcoffLegacyAllowed;
    NvBool bIsMigSupported;
    NvU16 RTD3GC6TotalBoardPower;
    NvU16 RTD3GC6PerstDelay;
    NvU64 bar1PdeBase;
    NvU64 bar2PdeBase;
    NvBool bVbiosValid;
    NvU32 vbiosSubVendor;
    NvU32 vbiosSubDevice;
    NvBool bPageRetirementSupported;
    NvBool bSplitVasBetweenServerClientRm;
    NvBool bClRootportNeedsNosnoopWAR;
    VIRTUAL_DISPLAY_GET_NUM_HEADS_PARAMS displaylessMaxHeads;
    VIRTUAL_DISPLAY_GET_MAX_RESOLUTION_PARAMS displaylessMaxResolution;
    NvU64 displaylessMaxPixels;
    NvHandle hInternalClient;
    NvHandle hInternalDevice;
    NvHandle hInternalSubdevice;
    NvBool bSelfHostedMode;
    NvBool bAtsSupported;
    NvBool bIsGpuUefi;
    NvBool bIsEfiInit;
    EcidManufacturingInfo ecidInfo[2];
    FW_WPR_LAYOUT_OFFSET fwWprLayoutOffset;
};
static_assert(sizeof(GspStaticConfigInfo) == 1656);

struct GspSystemInfo {
    NvU64 gpuPhysAddr;
    NvU64 gpuPhysFbAddr;
    NvU64 gpuPhysInstAddr;
    NvU64 gpuPhysIoAddr;
    NvU64 nvDomainBusDeviceFunc;
    NvU64 simAccessBufPhysAddr;
    NvU64 notifyOpSharedSurfacePhysAddr;
    NvU64 pcieAtomicsOpMask;
    NvU64 consoleMemSize;
    NvU64 maxUserVa;
    NvU32 pciConfigMirrorBase;
    NvU32 pciConfigMirrorSize;
    NvU32 PCIDeviceID;
    NvU32 PCISubDeviceID;
    NvU32 PCIRevisionID;
    NvU32 pcieAtomicsCplDeviceCapMask;
    NvU8 oorArch;
    NvU64 clPdbProperties;
    NvU32 Chipset;
    NvBool bGpuBehindBridge;
    NvBool bFlrSupported;
    NvBool b64bBar0Supported;
    NvBool bMnocAvailable;
    NvU32 chipsetL1ssEnable;
    NvBool bUpstreamL0sUnsupported;
    NvBool bUpstreamL1Unsupported;
    NvBool bUpstreamL1PorSupported;
    NvBool bUpstreamL1PorMobileOnly;
    NvBool bSystemHasMux;
    NvU8 upstreamAddressValid;
    BUSINFO FHBBusInfo;
    BUSINFO chipsetIDInfo;
    ACPI_METHOD_DATA acpiMethodData;
    NvU32 hypervisorType;
    NvBool bIsPassthru;
    NvU64 sysTimerOffsetNs;
    GSP_VF_INFO gspVFInfo;
    NvBool bIsPrimary;
    NvBool isGridBuild;
    GSP_PCIE_CONFIG_REG pcieConfigReg;
    NvU32 gridBuildCsp;
    NvBool bPreserveVideoMemoryAllocations;
    NvBool bTdrEventSupported;
    NvBool bFeatureStretchVblankCapable;
    NvBool bEnableDynamicGranularityPageArrays;
    NvBool bClockBoostSupported;
    NvBool bRouteDispIntrsToCPU;
    NvU64 hostPageSize;
};
static_assert(sizeof(GspSystemInfo) == 928);

}  // namespace rm::abi
