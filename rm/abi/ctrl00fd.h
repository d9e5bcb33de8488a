// Wire structs of the driver's ctrl00fd.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl00fd.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV00FD_CTRL_ATTACH_GPU_PARAMS {
    NvHandle hSubdevice;
    NvU32 flags;
    NvU64 devDescriptor;
};
static_assert(sizeof(NV00FD_CTRL_ATTACH_GPU_PARAMS) == 16);

struct NV00FD_CTRL_ATTACH_MEM_PARAMS {
    NvHandle hSubdevice;
    NvHandle hMemory;
    NvU64 offset;
    NvU64 mapOffset;
    NvU64 mapLength;
    NvU32 flags;
};
static_assert(sizeof(NV00FD_CTRL_ATTACH_MEM_PARAMS) == 40);

struct NV00FD_CTRL_DETACH_MEM_PARAMS {
    NvHandle hSubdevice;
    NvU64 offset;
    NvU32 flags;
};
static_assert(sizeof(NV00FD_CTRL_DETACH_MEM_PARAMS) == 24);

struct NV00FD_CTRL_GET_INFO_PARAMS {
    NvU64 alignment;
    NvU64 allocSize;
    NvU32 pageSize;
    NvU32 numMaxGpus;
    NvU32 numAttachedGpus;
};
static_assert(sizeof(NV00FD_CTRL_GET_INFO_PARAMS) == 32);

}  // namespace rm::abi
