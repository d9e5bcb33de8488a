// Wire structs of the driver's cl00de.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/class/cl00de.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV00DE_ALLOC_PARAMETERS {
    NvU64 polledDataMask;
};
static_assert(sizeof(NV00DE_ALLOC_PARAMETERS) == 8);

struct RUSD_BAR1_MEMORY_INFO {
    NvU64 lastModifiedTimestamp;
    NvU32 bar1Size;
    NvU32 bar1AvailSize;
};
static_assert(sizeof(RUSD_BAR1_MEMORY_INFO) == 16);

struct RUSD_PMA_MEMORY_INFO {
    NvU64 lastModifiedTimestamp;
    NvU64 totalPmaMemory;
    NvU64 freePmaMemory;
};
static_assert(sizeof(RUSD_PMA_MEMORY_INFO) == 24);

struct RUSD_SHADOW_ERR_CONT {
    NvU64 lastModifiedTimestamp;
    NvU32 shadowErrContVal;
    NvU8 hole0[4];
};
static_assert(sizeof(RUSD_SHADOW_ERR_CONT) == 16);

struct RUSD_GR_INFO {
    NvU64 lastModifiedTimestamp;
    NvBool bCtxswLoggingEnabled;
    NvU8 hole0[7];
};
static_assert(sizeof(RUSD_GR_INFO) == 16);

struct RUSD_CLK_PUBLIC_DOMAIN_INFO {
    NvU32 targetClkMHz;
};
static_assert(sizeof(RUSD_CLK_PUBLIC_DOMAIN_INFO) == 4);

struct RUSD_CLK_PUBLIC_DOMAIN_INFOS {
    NvU64 lastModifiedTimestamp;
    RUSD_CLK_PUBLIC_DOMAIN_INFO info[4];
};
static_assert(sizeof(RUSD_CLK_PUBLIC_DOMAIN_INFOS) == 24);

struct RUSD_CLK_THROTTLE_REASON {
    NvU64 lastModifiedTimestamp;
    NvU32 reasonMask;
    NvU8 hole0[4];
};
static_assert(sizeof(RUSD_CLK_THROTTLE_REASON) == 16);

struct RUSD_ENG_UTILIZATION {
    NvU32 clkPercentBusy;
    NvU32 samplingPeriodUs;
};
static_assert(sizeof(RUSD_ENG_UTILIZATION) == 8);

struct RUSD_PERF_DEVICE_UTILIZATION_INFO {
    NvU32 gpuPercentBusy;
    NvU32 memoryPercentBusy;
    RUSD_ENG_UTILIZATION engUtil[4];
};
static_assert(sizeof(RUSD_PERF_DEVICE_UTILIZATION_INFO) == 40);

struct RUSD_PERF_DEVICE_UTILIZATION {
    NvU64 lastModifiedTimestamp;
    RUSD_PERF_DEVICE_UTILIZATION_INFO info;
};
static_assert(sizeof(RUSD_PERF_DEVICE_UTILIZATION) == 48);

struct RUSD_MEM_ERROR_COUNTS {
    NvU64 correctedVolatile;
    NvU64 correctedAggregate;
    NvU64 uncorrectedVolatile;
    NvU64 uncorrectedAggregate;
};
static_assert(sizeof(RUSD_MEM_ERROR_COUNTS) == 32);

struct RUSD_MEM_ECC {
    NvU64 lastModifiedTimestamp;
    RUSD_MEM_ERROR_COUNTS count[3];
};
static_assert(sizeof(RUSD_MEM_ECC) == 104);

struct RUSD_PERF_CURRENT_PSTATE {
    NvU64 lastModifiedTimestamp;
    NvU32 currentPstate;
    NvU8 hole0[4];
};
static_assert(sizeof(RUSD_PERF_CURRENT_PSTATE) == 16);

struct RUSD_POWER_LIMIT_INFO {
    NvU32 requestedmW;
    NvU32 enforcedmW;
};
static_assert(sizeof(RUSD_POWER_LIMIT_INFO) == 8);

struct RUSD_POWER_LIMITS {
    NvU64 lastModifiedTimestamp;
    RUSD_POWER_LIMIT_INFO info;
};
static_assert(sizeof(RUSD_POWER_LIMITS) == 16);

struct RUSD_TEMPERATURE {
    NvU64 lastModifiedTimestamp;
    NvU32 temperature;
    NvU8 hole0[4];
};
static_assert(sizeof(RUSD_TEMPERATURE) == 16);

struct RUSD_MEM_ROW_REMAP_INFO {
    NvU32 histogramMax;
    NvU32 histogramHigh;
    NvU32 histogramPartial;
    NvU32 histogramLow;
    NvU32 histogramNone;
    NvU32 correctableRows;
    NvU32 uncorrectableRows;
    NvBool isPending;
    NvBool hasFailureOccurred;
};
static_assert(sizeof(RUSD_MEM_ROW_REMAP_INFO) == 32);

struct RUSD_MEM_ROW_REMAP {
    NvU64 lastModifiedTimestamp;
    RUSD_MEM_ROW_REMAP_INFO info;
};
static_assert(sizeof(RUSD_MEM_ROW_REMAP) == 40);

struct RUSD_AVG_POWER_INFO {
    NvU32 averageGpuPower;
    NvU32 averageModulePower;
    NvU32 averageMemoryPower;
};
static_assert(sizeof(RUSD_AVG_POWER_INFO) == 12);

struct RUSD_AVG_POWER_USAGE {
    NvU64 lastModifiedTimestamp;
    RUSD_AVG_POWER_INFO info;
};
static_assert(sizeof(RUSD_AVG_POWER_USAGE) == 24);

struct RUSD_INST_POWER_INFO {
    NvU32 instGpuPower;
    NvU32 instModulePower;
    NvU32 instCpuPower;
};
static_assert(sizeof(RUSD_INST_POWER_INFO) == 12);

struct RUSD_INST_POWER_USAGE {
    NvU64 lastModifiedTimestamp;
    RUSD_INST_POWER_INFO info;
};
static_assert(sizeof(RUSD_INST_POWER_USAGE) == 24);

struct RUSD_PCIE_DATA_INFO {
    NvU32 data[9];
};
static_assert(sizeof(RUSD_PCIE_DATA_INFO) == 36);

struct RUSD_PCIE_DATA {
    NvU64 lastModifiedTimestamp;
    RUSD_PCIE_DATA_INFO info;
};
static_assert(sizeof(RUSD_PCIE_DATA) == 48);

struct NV00DE_SHARED_DATA {
    RUSD_BAR1_MEMORY_INFO bar1MemoryInfo;
    RUSD_PMA_MEMORY_INFO pmaMemoryInfo;
    RUSD_SHADOW_ERR_CONT shadowErrCont;
    RUSD_GR_INFO grInfo;
    RUSD_CLK_PUBLIC_DOMAIN_INFOS clkPublicDomainInfos;
    RUSD_CLK_THROTTLE_REASON clkThrottleReason;
    RUSD_PERF_DEVICE_UTILIZATION perfDevUtil;
    RUSD_MEM_ECC memEcc;
    RUSD_PERF_CURRENT_PSTATE perfCurrentPstate;
    RUSD_POWER_LIMITS powerLimitGpu;
    RUSD_TEMPERATURE temperatures[2];
    RUSD_MEM_ROW_REMAP memRowRemap;
    RUSD_AVG_POWER_USAGE avgPowerUsage;
    RUSD_INST_POWER_USAGE instPowerUsage;
    RUSD_PCIE_DATA pciBusData;
};
static_assert(sizeof(NV00DE_SHARED_DATA) == 464);

}  // namespace rm::abi
