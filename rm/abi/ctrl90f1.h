// Wire structs of the driver's ctrl90f1.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl90f1.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/mmu_fmt_types.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct NV90F1_CTRL_VASPACE_COPY_SERVER_RESERVED_PDES_PARAMS {
    NvHandle hSubDevice;
    NvU32 subDeviceId;
    NvU64 pageSize;
    NvU64 virtAddrLo;
    NvU64 virtAddrHi;
    NvU32 numLevelsToCopy;
    struct {
        NvU64 physAddress;
        NvU64 size;
        NvU32 aperture;
        NvU8 pageShift;
    } levels[6];
};
static_assert(sizeof(NV90F1_CTRL_VASPACE_COPY_SERVER_RESERVED_PDES_PARAMS) == 184);

struct NV90F1_CTRL_VASPACE_GET_GMMU_FORMAT_PARAMS {
    NvHandle hSubDevice;
    NvU32 subDeviceId;
    NvP64 pFmt;
};
static_assert(sizeof(NV90F1_CTRL_VASPACE_GET_GMMU_FORMAT_PARAMS) == 16);

struct NV90F1_CTRL_VASPACE_GET_HOST_RM_MANAGED_SIZE_PARAMS {
    NvHandle hSubDevice;
    NvU32 subDeviceId;
    NvU64 requiredVaRange;
};
static_assert(sizeof(NV90F1_CTRL_VASPACE_GET_HOST_RM_MANAGED_SIZE_PARAMS) == 16);

struct NV_CTRL_VASPACE_PAGE_LEVEL {
    NvP64 pFmt;
    MMU_FMT_LEVEL levelFmt;
    MMU_FMT_LEVEL sublevelFmt[2];
    NvU64 physAddress;
    NvU32 aperture;
    NvU64 size;
    NvU32 entryIndex;
};
static_assert(sizeof(NV_CTRL_VASPACE_PAGE_LEVEL) == 112);

struct NV90F1_CTRL_VASPACE_GET_PAGE_LEVEL_INFO_PARAMS {
    NvHandle hSubDevice;
    NvU32 subDeviceId;
    NvU64 virtAddress;
    NvU64 pageSize;
    NvU64 flags;
    NvU32 numLevels;
    NV_CTRL_VASPACE_PAGE_LEVEL levels[6];
};
static_assert(sizeof(NV90F1_CTRL_VASPACE_GET_PAGE_LEVEL_INFO_PARAMS) == 712);
using NV90F1_CTRL_VASPACE_GET_PAGE_LEVEL_INFO_VERIF_PARAMS = NV90F1_CTRL_VASPACE_GET_PAGE_LEVEL_INFO_PARAMS;

struct NV90F1_CTRL_VASPACE_RELEASE_ENTRIES_PARAMS {
    NvHandle hSubDevice;
    NvU32 subDeviceId;
    NvU64 pageSize;
    NvU64 virtAddrLo;
    NvU64 virtAddrHi;
};
static_assert(sizeof(NV90F1_CTRL_VASPACE_RELEASE_ENTRIES_PARAMS) == 32);

struct NV90F1_CTRL_VASPACE_RESERVE_ENTRIES_PARAMS {
    NvHandle hSubDevice;
    NvU32 subDeviceId;
    NvU64 pageSize;
    NvU64 virtAddrLo;
    NvU64 virtAddrHi;
};
static_assert(sizeof(NV90F1_CTRL_VASPACE_RESERVE_ENTRIES_PARAMS) == 32);

}  // namespace rm::abi
