// Wire structs of the driver's msgq_priv.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/shared/msgq/inc/msgq/msgq_priv.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct msgqTxHeader {
    NvU32 version;
    NvU32 size;
    NvU32 msgSize;
    NvU32 msgCount;
    NvU32 writePtr;
    NvU32 flags;
    NvU32 rxHdrOff;
    NvU32 entryOff;
};
static_assert(sizeof(msgqTxHeader) == 32);

struct msgqMetadata {
    NvP64 pOurTxHdr;
    NvP64 pTheirTxHdr;
    NvP64 pOurRxHdr;
    NvP64 pTheirRxHdr;
    NvP64 pOurEntries;
    NvP64 pTheirEntries;
    NvP64 pReadIncoming;
    NvP64 pWriteIncoming;
    NvP64 pReadOutgoing;
    NvP64 pWriteOutgoing;
    msgqTxHeader tx;
    NvU32 txReadPtr;
    NvU32 txFree;
    NvBool txLinked;
    msgqTxHeader rx;
    NvU32 rxReadPtr;
    NvU32 rxAvail;
    NvBool rxLinked;
    NvBool rxSwapped;
    NvU64 fcnNotify;
    NvP64 fcnNotifyArg;
    NvU64 fcnBackendRw;
    NvP64 fcnBackendRwArg;
    NvU64 fcnInvalidate;
    NvU64 fcnFlush;
    NvU64 fcnZero;
    NvU64 fcnBarrier;
};
static_assert(sizeof(msgqMetadata) == 232);

struct msgqRxHeader {
    NvU32 readPtr;
};
static_assert(sizeof(msgqRxHeader) == 4);

}  // namespace rm::abi
