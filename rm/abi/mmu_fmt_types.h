// Wire structs of the driver's mmu_fmt_types.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/mmu_fmt_types.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct MMU_FMT_LEVEL {
    NvU8 virtAddrBitLo;
    NvU8 virtAddrBitHi;
    NvU8 entrySize;
    NvBool bPageTable;
    NvU8 numSubLevels;
    NvU32 pageLevelIdTag;
    NvP64 subLevels;
};
static_assert(sizeof(MMU_FMT_LEVEL) == 24);

}  // namespace rm::abi
