// Wire structs of the driver's clc46f.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/class/clc46f.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct Nvc46fControl_struct {
    NvU32 Ignored00[16];
    NvU32 Put;
    NvU32 Get;
    NvU32 Reference;
    NvU32 PutHi;
    NvU32 Ignored01[2];
    NvU32 TopLevelGet;
    NvU32 TopLevelGetHi;
    NvU32 GetHi;
    NvU32 Ignored02[7];
    NvU32 Ignored03;
    NvU32 Ignored04[1];
    NvU32 GPGet;
    NvU32 GPPut;
    NvU32 Ignored05[92];
};
static_assert(sizeof(Nvc46fControl_struct) == 512);

}  // namespace rm::abi
