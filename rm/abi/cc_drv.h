// Wire structs of the driver's cc_drv.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/cc_drv.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct CC_AES_CRYPTOBUNDLE {
    NvU32 iv[3];
    NvU32 key[8];
    NvU32 ivMask[3];
};
static_assert(sizeof(CC_AES_CRYPTOBUNDLE) == 56);

struct CC_HMAC_CRYPTOBUNDLE {
    NvU32 nonce[8];
    NvU32 key[8];
};
static_assert(sizeof(CC_HMAC_CRYPTOBUNDLE) == 64);

struct CC_KMB {
    CC_AES_CRYPTOBUNDLE encryptBundle;
    CC_HMAC_CRYPTOBUNDLE hmacBundle;
    NvBool bIsWorkLaunch;
};
static_assert(sizeof(CC_KMB) == 124);

}  // namespace rm::abi
