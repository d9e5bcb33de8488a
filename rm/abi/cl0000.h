// Wire structs of the driver's cl0000.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/class/cl0000.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV0000_ALLOC_PARAMETERS {
    NvHandle hClient;
    NvU32 processID;
    char processName[100];
    NvP64 pOsPidInfo;
};
static_assert(sizeof(NV0000_ALLOC_PARAMETERS) == 120);

}  // namespace rm::abi
