// Wire structs of the driver's clb0b5sw.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/class/clb0b5sw.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NVB0B5_ALLOCATION_PARAMETERS {
    NvU32 version;
    NvU32 engineType;
};
static_assert(sizeof(NVB0B5_ALLOCATION_PARAMETERS) == 8);

}  // namespace rm::abi
