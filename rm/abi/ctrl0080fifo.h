// Wire structs of the driver's ctrl0080fifo.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl0080/ctrl0080fifo.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV0080_CTRL_FIFO_GET_CAPS_PARAMS {
    NvU32 capsTblSize;
    NvU8 hole0[4];
    NvP64 capsTbl;
};
static_assert(sizeof(NV0080_CTRL_FIFO_GET_CAPS_PARAMS) == 16);

struct NV0080_CTRL_FIFO_GET_CAPS_V2_PARAMS {
    NvU8 capsTbl[2];
};
static_assert(sizeof(NV0080_CTRL_FIFO_GET_CAPS_V2_PARAMS) == 2);

struct NV0080_CTRL_FIFO_GET_CHANNELLIST_PARAMS {
    NvU32 numChannels;
    NvP64 pChannelHandleList;
    NvP64 pChannelList;
};
static_assert(sizeof(NV0080_CTRL_FIFO_GET_CHANNELLIST_PARAMS) == 24);

struct NV0080_CTRL_FIFO_GET_LATENCY_BUFFER_SIZE_PARAMS {
    NvU32 engineID;
    NvU32 gpEntries;
    NvU32 pbEntries;
};
static_assert(sizeof(NV0080_CTRL_FIFO_GET_LATENCY_BUFFER_SIZE_PARAMS) == 12);

struct NV0080_CTRL_FIFO_SET_CHANNEL_PROPERTIES_PARAMS {
    NvHandle hChannel;
    NvU32 property;
    NvU64 value;
};
static_assert(sizeof(NV0080_CTRL_FIFO_SET_CHANNEL_PROPERTIES_PARAMS) == 16);

}  // namespace rm::abi
