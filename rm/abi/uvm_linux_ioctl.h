// Wire structs of the driver's uvm_linux_ioctl.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, kernel-open/nvidia-uvm/uvm_linux_ioctl.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct UVM_INITIALIZE_PARAMS {
    NvU64 flags;
    NV_STATUS rmStatus;
    NvU8 hole0[4];
};
static_assert(sizeof(UVM_INITIALIZE_PARAMS) == 16);

}  // namespace rm::abi
