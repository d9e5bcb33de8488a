// Wire structs of the driver's ctrl2080fifo.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080fifo.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/ctrlxxxx.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_FIFO_MEM_INFO {
    NvU32 aperture;
    NvU64 base;
    NvU64 size;
};
static_assert(sizeof(NV2080_CTRL_FIFO_MEM_INFO) == 24);

struct NV2080_CTRL_FIFO_CHANNEL_MEM_INFO {
    NV2080_CTRL_FIFO_MEM_INFO inst;
    NV2080_CTRL_FIFO_MEM_INFO ramfc;
    NV2080_CTRL_FIFO_MEM_INFO methodBuf[2];
    NvU32 methodBufCount;
};
static_assert(sizeof(NV2080_CTRL_FIFO_CHANNEL_MEM_INFO) == 104);

struct NV2080_CTRL_CMD_FIFO_GET_CHANNEL_MEM_INFO_PARAMS {
    NvHandle hChannel;
    NV2080_CTRL_FIFO_CHANNEL_MEM_INFO chMemInfo;
};
static_assert(sizeof(NV2080_CTRL_CMD_FIFO_GET_CHANNEL_MEM_INFO_PARAMS) == 112);

struct NV2080_CTRL_CMD_FIFO_GET_USERD_LOCATION_PARAMS {
    NvU32 aperture;
    NvU32 attribute;
};
static_assert(sizeof(NV2080_CTRL_CMD_FIFO_GET_USERD_LOCATION_PARAMS) == 8);

struct NV2080_CTRL_CMD_SET_OPERATIONAL_PROPERTIES_PARAMS {
    NvU32 flags;
};
static_assert(sizeof(NV2080_CTRL_CMD_SET_OPERATIONAL_PROPERTIES_PARAMS) == 4);

struct NV2080_CTRL_FIFO_BIND_CHANNEL {
    NvHandle hClient;
    NvHandle hChannel;
};
static_assert(sizeof(NV2080_CTRL_FIFO_BIND_CHANNEL) == 8);

struct NV2080_CTRL_FIFO_BIND_ENGINES_PARAMS {
    NvU32 bindChannelCount;
    NV2080_CTRL_FIFO_BIND_CHANNEL bindChannels[16];
};
static_assert(sizeof(NV2080_CTRL_FIFO_BIND_ENGINES_PARAMS) == 132);

struct NV2080_CTRL_FIFO_CHANNEL_PREEMPTIVE_REMOVAL_PARAMS {
    NvHandle hChannel;
};
static_assert(sizeof(NV2080_CTRL_FIFO_CHANNEL_PREEMPTIVE_REMOVAL_PARAMS) == 4);

struct NV2080_CTRL_FIFO_DISABLE_CHANNELS_PARAMS {
    NvBool bDisable;
    NvU32 numChannels;
    NvBool bOnlyDisableScheduling;
    NvBool bRewindGpPut;
    NvP64 pRunlistPreemptEvent;
    NvHandle hClientList[64];
    NvHandle hChannelList[64];
};
static_assert(sizeof(NV2080_CTRL_FIFO_DISABLE_CHANNELS_PARAMS) == 536);

struct NV2080_CTRL_FIFO_DEVICE_ENTRY {
    NvU32 engineData[16];
    NvU32 pbdmaIds[2];
    NvU32 pbdmaFaultIds[2];
    NvU32 numPbdmas;
    char engineName[16];
};
static_assert(sizeof(NV2080_CTRL_FIFO_DEVICE_ENTRY) == 100);

struct NV2080_CTRL_FIFO_GET_DEVICE_INFO_TABLE_PARAMS {
    NvU32 baseIndex;
    NvU32 numEntries;
    NvBool bMore;
    NV2080_CTRL_FIFO_DEVICE_ENTRY entries[32];
};
static_assert(sizeof(NV2080_CTRL_FIFO_GET_DEVICE_INFO_TABLE_PARAMS) == 3212);

struct NV2080_CTRL_FIFO_GET_INFO_PARAMS {
    NvU32 fifoInfoTblSize;
    NVXXXX_CTRL_XXX_INFO fifoInfoTbl[256];
    NvU32 engineType;
};
static_assert(sizeof(NV2080_CTRL_FIFO_GET_INFO_PARAMS) == 2056);

struct NV2080_CTRL_FIFO_RUNLIST_SET_SCHED_POLICY_PARAMS {
    NvU32 flags;
    NvU32 schedPolicy;
};
static_assert(sizeof(NV2080_CTRL_FIFO_RUNLIST_SET_SCHED_POLICY_PARAMS) == 8);

struct NV2080_CTRL_FIFO_SETUP_VF_ZOMBIE_SUBCTX_PDB_PARAMS {
    NvU64 base;
    NvU64 size;
    NvU32 addressSpace;
    NvU32 cacheAttrib;
};
static_assert(sizeof(NV2080_CTRL_FIFO_SETUP_VF_ZOMBIE_SUBCTX_PDB_PARAMS) == 24);

struct NV2080_CTRL_FIFO_UPDATE_CHANNEL_INFO_PARAMS {
    NvHandle hClient;
    NvHandle hChannel;
    NvHandle hUserdMemory;
    NvU32 gpFifoEntries;
    NvU64 gpFifoOffset;
    NvU64 userdOffset;
};
static_assert(sizeof(NV2080_CTRL_FIFO_UPDATE_CHANNEL_INFO_PARAMS) == 32);

}  // namespace rm::abi
