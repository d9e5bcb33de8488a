// Wire structs of the driver's gsp_init_args.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/nvidia/inc/kernel/gpu/gsp/gsp_init_args.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct MESSAGE_QUEUE_INIT_ARGUMENTS {
    NvU64 sharedMemPhysAddr;
    NvU32 pageTableEntryCount;
    NvLength cmdQueueOffset;
    NvLength statQueueOffset;
};
static_assert(sizeof(MESSAGE_QUEUE_INIT_ARGUMENTS) == 32);

struct GSP_SR_INIT_ARGUMENTS {
    NvU32 oldLevel;
    NvU32 flags;
    NvBool bInPMTransition;
    NvU8 hole0[3];
};
static_assert(sizeof(GSP_SR_INIT_ARGUMENTS) == 12);

struct GSP_ARGUMENTS_CACHED {
    MESSAGE_QUEUE_INIT_ARGUMENTS messageQueueInitArguments;
    GSP_SR_INIT_ARGUMENTS srInitArguments;
    NvU32 gpuInstance;
    NvBool bDmemStack;
    struct {
        NvU64 pa;
        NvU64 size;
    } profilerArgs;
};
static_assert(sizeof(GSP_ARGUMENTS_CACHED) == 72);

}  // namespace rm::abi
