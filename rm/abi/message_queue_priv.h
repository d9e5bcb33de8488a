// Wire structs of the driver's message_queue_priv.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/nvidia/inc/kernel/gpu/gsp/message_queue_priv.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/g_rpc_message_header.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct GSP_MSG_QUEUE_ELEMENT {
    NvU8 authTagBuffer[16];
    NvU8 aadBuffer[16];
    NvU32 checkSum;
    NvU32 seqNum;
    NvU32 elemCount;
    alignas(8) rpc_message_header_v03_00 rpc;
};
static_assert(sizeof(GSP_MSG_QUEUE_ELEMENT) == 80);

struct MESSAGE_QUEUE_INFO {
    NvLength commandQueueSize;
    NvLength statusQueueSize;
    NvP64 pCommandQueue;
    NvP64 pStatusQueue;
    NvP64 pRpcMsgBuf;
    NvP64 pWorkArea;
    NvP64 pCmdQueueElement;
    NvP64 pMetaData;
    NvU64 hQueue;
    NvU32 txSeqNum;
    NvU32 rxSeqNum;
    NvU32 txBufferFull;
    NvU32 queueIdx;
};
static_assert(sizeof(MESSAGE_QUEUE_INFO) == 88);

struct MESSAGE_QUEUE_COLLECTION {
    NvLength pageTableEntryCount;
    NvLength pageTableSize;
    NvP64 pSharedMemDesc;
    NvU64 sharedMemPA;
    MESSAGE_QUEUE_INFO rpcQueues[1];
};
static_assert(sizeof(MESSAGE_QUEUE_COLLECTION) == 120);

}  // namespace rm::abi
