// Wire structs of the driver's nvCpuUuid.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/inc/nvCpuUuid.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NvUuid {
    NvU8 uuid[16];
};
static_assert(sizeof(NvUuid) == 16);

}  // namespace rm::abi
