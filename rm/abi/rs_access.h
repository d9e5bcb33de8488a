// Wire structs of the driver's rs_access.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/rs_access.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct RS_ACCESS_MASK {
    NvU32 limbs[1];
};
static_assert(sizeof(RS_ACCESS_MASK) == 4);

struct RS_SHARE_POLICY {
    NvU32 target;
    RS_ACCESS_MASK accessMask;
    NvU16 type;
    NvU8 action;
    NvU8 hole0[1];
};
static_assert(sizeof(RS_SHARE_POLICY) == 12);

}  // namespace rm::abi
