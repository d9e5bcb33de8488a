// Wire structs of the driver's ctrl2080bios.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080bios.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_BIOS_GET_SKU_INFO_PARAMS {
    NvU32 BoardID;
    char chipSKU[9];
    char chipSKUMod[5];
    NvU32 skuConfigVersion;
    char project[5];
    char projectSKU[5];
    char CDP[6];
    char projectSKUMod[2];
    NvU32 businessCycle;
};
static_assert(sizeof(NV2080_CTRL_BIOS_GET_SKU_INFO_PARAMS) == 48);

}  // namespace rm::abi
