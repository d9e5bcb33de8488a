// Wire structs of the driver's cl0005.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/class/cl0005.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV0005_ALLOC_PARAMETERS {
    NvHandle hParentClient;
    NvHandle hSrcResource;
    NvV32 hClass;
    NvV32 notifyIndex;
    NvP64 data;
};
static_assert(sizeof(NV0005_ALLOC_PARAMETERS) == 24);

}  // namespace rm::abi
