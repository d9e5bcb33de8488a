// Wire structs of the driver's ctrl00de.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl00de.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV00DE_CTRL_REQUEST_DATA_POLL_PARAMS {
    NvU64 polledDataMask;
};
static_assert(sizeof(NV00DE_CTRL_REQUEST_DATA_POLL_PARAMS) == 8);

}  // namespace rm::abi
