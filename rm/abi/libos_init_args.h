// Wire structs of the driver's libos_init_args.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/uproc/os/common/include/libos_init_args.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct LibosMemoryRegionInitArgument {
    NvU64 id8;
    NvU64 pa;
    NvU64 size;
    NvU8 kind;
    NvU8 loc;
};
static_assert(sizeof(LibosMemoryRegionInitArgument) == 32);

}  // namespace rm::abi
