// Wire structs of the driver's g_chipset_nvoc.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/nvidia/generated/g_chipset_nvoc.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct BUSINFO {
    NvU16 deviceID;
    NvU16 vendorID;
    NvU16 subdeviceID;
    NvU16 subvendorID;
    NvU8 revisionID;
    NvU8 hole0[1];
};
static_assert(sizeof(BUSINFO) == 10);

}  // namespace rm::abi
