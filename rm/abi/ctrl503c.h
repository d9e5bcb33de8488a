// Wire structs of the driver's ctrl503c.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl503c.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV503C_CTRL_REGISTER_VA_SPACE_PARAMS {
    NvHandle hVASpace;
    NvU8 hole0[4];
    NvU64 vaSpaceToken;
};
static_assert(sizeof(NV503C_CTRL_REGISTER_VA_SPACE_PARAMS) == 16);

struct NV503C_CTRL_REGISTER_VIDMEM_PARAMS {
    NvHandle hMemory;
    NvU64 address;
    NvU64 size;
    NvU64 offset;
};
static_assert(sizeof(NV503C_CTRL_REGISTER_VIDMEM_PARAMS) == 32);

struct NV503C_CTRL_UNREGISTER_VIDMEM_PARAMS {
    NvHandle hMemory;
};
static_assert(sizeof(NV503C_CTRL_UNREGISTER_VIDMEM_PARAMS) == 4);

}  // namespace rm::abi
