// Wire structs of the driver's ctrl2080mc.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080mc.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_MC_GET_ARCH_INFO_PARAMS {
    NvU32 architecture;
    NvU32 implementation;
    NvU32 revision;
    NvU8 subRevision;
    NvU8 hole0[3];
};
static_assert(sizeof(NV2080_CTRL_MC_GET_ARCH_INFO_PARAMS) == 16);

struct NV2080_CTRL_MC_SERVICE_INTERRUPTS_PARAMS {
    NvU32 engines;
};
static_assert(sizeof(NV2080_CTRL_MC_SERVICE_INTERRUPTS_PARAMS) == 4);

}  // namespace rm::abi
