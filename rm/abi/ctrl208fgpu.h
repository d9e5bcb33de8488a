// Wire structs of the driver's ctrl208fgpu.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl208f/ctrl208fgpu.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV208F_CTRL_GPU_VERIFY_INFOROM_PARAMS {
    NvU32 result;
    NvU32 checksum;
};
static_assert(sizeof(NV208F_CTRL_GPU_VERIFY_INFOROM_PARAMS) == 8);

}  // namespace rm::abi
