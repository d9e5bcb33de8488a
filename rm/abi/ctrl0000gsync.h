// Wire structs of the driver's ctrl0000gsync.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl0000/ctrl0000gsync.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV0000_CTRL_GSYNC_GET_ATTACHED_IDS_PARAMS {
    NvU32 gsyncIds[4];
};
static_assert(sizeof(NV0000_CTRL_GSYNC_GET_ATTACHED_IDS_PARAMS) == 16);

}  // namespace rm::abi
