// Wire structs of the driver's ctrl2080fla.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080fla.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_FLA_RANGE_PARAMS {
    NvU64 base;
    NvU64 size;
    NvU32 mode;
    NvHandle hVASpace;
};
static_assert(sizeof(NV2080_CTRL_FLA_RANGE_PARAMS) == 24);

struct NV2080_CTRL_FLA_SETUP_INSTANCE_MEM_BLOCK_PARAMS {
    NvU64 imbPhysAddr;
    NvU32 addrSpace;
    NvU32 flaAction;
};
static_assert(sizeof(NV2080_CTRL_FLA_SETUP_INSTANCE_MEM_BLOCK_PARAMS) == 16);

}  // namespace rm::abi
