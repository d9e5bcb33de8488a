// Wire structs of the driver's cl83de.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/class/cl83de.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV83DE_ALLOC_PARAMETERS {
    NvHandle hDebuggerClient_Obsolete;
    NvHandle hAppClient;
    NvHandle hClass3dObject;
};
static_assert(sizeof(NV83DE_ALLOC_PARAMETERS) == 12);

}  // namespace rm::abi
