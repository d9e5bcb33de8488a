// Wire structs of the driver's ctrlc56f.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrlc56f.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/cc_drv.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct NVC56F_CTRL_CMD_GET_KMB_PARAMS {
    CC_KMB kmb;
    NvHandle hMemory;
};
static_assert(sizeof(NVC56F_CTRL_CMD_GET_KMB_PARAMS) == 128);

}  // namespace rm::abi
