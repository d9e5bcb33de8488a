// Wire structs of the driver's ctrl0000client.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl0000/ctrl0000client.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/rs_access.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct NV0000_CTRL_CLIENT_GET_ADDR_SPACE_TYPE_PARAMS {
    NvHandle hObject;
    NvU32 mapFlags;
    NvU32 addrSpaceType;
};
static_assert(sizeof(NV0000_CTRL_CLIENT_GET_ADDR_SPACE_TYPE_PARAMS) == 12);

struct NV0000_CTRL_CLIENT_SET_INHERITED_SHARE_POLICY_PARAMS {
    RS_SHARE_POLICY sharePolicy;
};
static_assert(sizeof(NV0000_CTRL_CLIENT_SET_INHERITED_SHARE_POLICY_PARAMS) == 12);

}  // namespace rm::abi
