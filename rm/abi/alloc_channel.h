// Wire structs of the driver's alloc_channel.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/alloc/alloc_channel.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV_MEMORY_DESC_PARAMS {
    NvU64 base;
    NvU64 size;
    NvU32 addressSpace;
    NvU32 cacheAttrib;
};
static_assert(sizeof(NV_MEMORY_DESC_PARAMS) == 24);

struct NV_CHANNEL_ALLOC_PARAMS {
    NvHandle hObjectError;
    NvHandle hObjectBuffer;
    NvU64 gpFifoOffset;
    NvU32 gpFifoEntries;
    NvU32 flags;
    NvHandle hContextShare;
    NvHandle hVASpace;
    NvHandle hUserdMemory[8];
    NvU64 userdOffset[8];
    NvU32 engineType;
    NvU32 cid;
    NvU32 subDeviceId;
    NvHandle hObjectEccError;
    NV_MEMORY_DESC_PARAMS instanceMem;
    NV_MEMORY_DESC_PARAMS userdMem;
    NV_MEMORY_DESC_PARAMS ramfcMem;
    NV_MEMORY_DESC_PARAMS mthdbufMem;
    NvHandle hPhysChannelGroup;
    NvU32 internalFlags;
    NV_MEMORY_DESC_PARAMS errorNotifierMem;
    NV_MEMORY_DESC_PARAMS eccErrorNotifierMem;
    NvU32 ProcessID;
    NvU32 SubProcessID;
    NvU32 encryptIv[3];
    NvU32 decryptIv[3];
    NvU32 hmacNonce[8];
    NvU32 tpcConfigID;
};
static_assert(sizeof(NV_CHANNEL_ALLOC_PARAMS) == 368);

}  // namespace rm::abi
