// Wire structs of the driver's ctrla06c.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrla06c.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/ctrl2080internal.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct NVA06C_CTRL_GET_INFO_PARAMS {
    NvU32 tsgID;
};
static_assert(sizeof(NVA06C_CTRL_GET_INFO_PARAMS) == 4);

struct NVA06C_CTRL_TIMESLICE_PARAMS {
    NvU64 timesliceUs;
};
static_assert(sizeof(NVA06C_CTRL_TIMESLICE_PARAMS) == 8);
using NVA06C_CTRL_GET_TIMESLICE_PARAMS = NVA06C_CTRL_TIMESLICE_PARAMS;
using NVA06C_CTRL_INTERNAL_SET_TIMESLICE_PARAMS = NVA06C_CTRL_TIMESLICE_PARAMS;
using NVA06C_CTRL_SET_TIMESLICE_PARAMS = NVA06C_CTRL_TIMESLICE_PARAMS;

struct NVA06C_CTRL_INTERNAL_PROMOTE_FAULT_METHOD_BUFFERS_PARAMS {
    NV2080_CTRL_INTERNAL_MEMDESC_INFO methodBufferMemdesc[2];
    NvU64 bar2Addr[2];
    NvU32 numValidEntries;
};
static_assert(sizeof(NVA06C_CTRL_INTERNAL_PROMOTE_FAULT_METHOD_BUFFERS_PARAMS) == 88);

struct NVA06C_CTRL_PREEMPT_PARAMS {
    NvBool bWait;
    NvBool bManualTimeout;
    NvU8 hole0[2];
    NvU32 timeoutUs;
};
static_assert(sizeof(NVA06C_CTRL_PREEMPT_PARAMS) == 8);

}  // namespace rm::abi
