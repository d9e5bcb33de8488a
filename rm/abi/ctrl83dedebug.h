// Wire structs of the driver's ctrl83dedebug.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl83de/ctrl83dedebug.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV83DE_CTRL_DEBUG_SET_EXCEPTION_MASK_PARAMS {
    NvU32 exceptionMask;
};
static_assert(sizeof(NV83DE_CTRL_DEBUG_SET_EXCEPTION_MASK_PARAMS) == 4);

}  // namespace rm::abi
