// Wire structs of the driver's g_sdk-structures.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/nvidia/generated/g_sdk-structures.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NVOS55_PARAMETERS_v03_00 {
    NvHandle hClient;
    NvHandle hParent;
    NvHandle hObject;
    NvHandle hClientSrc;
    NvHandle hObjectSrc;
    NvU32 flags;
    NvU32 status;
};
static_assert(sizeof(NVOS55_PARAMETERS_v03_00) == 28);

struct NVOS00_PARAMETERS_v03_00 {
    NvHandle hRoot;
    NvHandle hObjectParent;
    NvHandle hObjectOld;
    NvV32 status;
};
static_assert(sizeof(NVOS00_PARAMETERS_v03_00) == 16);

struct NV0080_CTRL_DMA_SET_PAGE_DIRECTORY_PARAMS_v1E_05 {
    NvU64 physAddress;
    NvU32 numEntries;
    NvU32 flags;
    NvHandle hVASpace;
    NvU32 chId;
    NvU32 subDeviceId;
    NvU32 pasid;
};
static_assert(sizeof(NV0080_CTRL_DMA_SET_PAGE_DIRECTORY_PARAMS_v1E_05) == 32);

struct NV0080_CTRL_DMA_UNSET_PAGE_DIRECTORY_PARAMS_v1E_05 {
    NvHandle hVASpace;
    NvU32 subDeviceId;
};
static_assert(sizeof(NV0080_CTRL_DMA_UNSET_PAGE_DIRECTORY_PARAMS_v1E_05) == 8);

struct UpdateBarPde_v15_00 {
    NvU32 barType;
    NvU64 entryValue;
    NvU64 entryLevelShift;
};
static_assert(sizeof(UpdateBarPde_v15_00) == 24);

}  // namespace rm::abi
