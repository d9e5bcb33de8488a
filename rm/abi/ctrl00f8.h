// Wire structs of the driver's ctrl00f8.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl00f8.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV00F8_CTRL_ATTACH_MEM_INFO {
    NvHandle hMemory;
    NvU64 offset;
    NvU64 mapOffset;
    NvU64 mapLength;
};
static_assert(sizeof(NV00F8_CTRL_ATTACH_MEM_INFO) == 32);

struct NV00F8_CTRL_ATTACH_MEM_PARAMS {
    NV00F8_CTRL_ATTACH_MEM_INFO memInfos[64];
    NvU16 numMemInfos;
    NvU32 flags;
    NvU16 numAttached;
};
static_assert(sizeof(NV00F8_CTRL_ATTACH_MEM_PARAMS) == 2064);

struct NV_FABRIC_MEMORY_ATTRS {
    NvU32 kind;
    NvU64 pageSize;
    NvU64 size;
    NvU32 cliqueId;
};
static_assert(sizeof(NV_FABRIC_MEMORY_ATTRS) == 32);

struct NV_PHYSICAL_MEMORY_ATTRS {
    NvU32 addressSpace;
    NvU32 compressionCoverage;
};
static_assert(sizeof(NV_PHYSICAL_MEMORY_ATTRS) == 8);

struct NV00F8_CTRL_DESCRIBE_PARAMS {
    NvU64 offset;
    NvU64 totalPfns;
    NvU32 pfnArray[512];
    NvU32 numPfns;
    NV_FABRIC_MEMORY_ATTRS attrs;
    NV_PHYSICAL_MEMORY_ATTRS physAttrs;
    NvU32 memFlags;
};
static_assert(sizeof(NV00F8_CTRL_DESCRIBE_PARAMS) == 2120);

}  // namespace rm::abi
