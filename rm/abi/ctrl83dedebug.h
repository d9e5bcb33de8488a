// Wire structs of the driver's ctrl83dedebug.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl83de/ctrl83dedebug.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV83DE_CTRL_CMD_DEBUG_SUSPEND_ALL_CONTEXTS_FOR_CLIENT_PARAMS {
    NvU32 waitForEvent;
    NvHandle hResidentChannel;
};
static_assert(sizeof(NV83DE_CTRL_CMD_DEBUG_SUSPEND_ALL_CONTEXTS_FOR_CLIENT_PARAMS) == 8);
using NV83DE_CTRL_CMD_DEBUG_SUSPEND_CONTEXT_PARAMS = NV83DE_CTRL_CMD_DEBUG_SUSPEND_ALL_CONTEXTS_FOR_CLIENT_PARAMS;

struct NV83DE_CTRL_DEBUG_CLEAR_ALL_SM_ERROR_STATES_PARAMS {
    NvHandle hTargetChannel;
    NvU32 numSMsToClear;
};
static_assert(sizeof(NV83DE_CTRL_DEBUG_CLEAR_ALL_SM_ERROR_STATES_PARAMS) == 8);

struct NV83DE_SM_ERROR_STATE_REGISTERS {
    NvU32 hwwGlobalEsr;
    NvU32 hwwWarpEsr;
    NvU32 hwwWarpEsrPc;
    NvU32 hwwGlobalEsrReportMask;
    NvU32 hwwWarpEsrReportMask;
    NvU64 hwwEsrAddr;
    NvU64 hwwWarpEsrPc64;
    NvU32 hwwCgaEsr;
    NvU32 hwwCgaEsrReportMask;
};
static_assert(sizeof(NV83DE_SM_ERROR_STATE_REGISTERS) == 48);

struct NV83DE_MMU_FAULT_INFO {
    NvBool valid;
    NvU8 hole0[3];
    NvU32 faultInfo;
};
static_assert(sizeof(NV83DE_MMU_FAULT_INFO) == 8);

struct NV83DE_CTRL_DEBUG_READ_ALL_SM_ERROR_STATES_PARAMS {
    NvHandle hTargetChannel;
    NvU32 numSMsToRead;
    NV83DE_SM_ERROR_STATE_REGISTERS smErrorStateArray[100];
    NvU32 mmuFaultInfo;
    NV83DE_MMU_FAULT_INFO mmuFault;
    NvU32 startingSM;
};
static_assert(sizeof(NV83DE_CTRL_DEBUG_READ_ALL_SM_ERROR_STATES_PARAMS) == 4824);

struct NV83DE_CTRL_DEBUG_READ_MEMORY_PARAMS {
    NvU32 hMemory;
    NvU32 length;
    NvU64 offset;
    NvP64 buffer;
};
static_assert(sizeof(NV83DE_CTRL_DEBUG_READ_MEMORY_PARAMS) == 24);

struct NV83DE_CTRL_DEBUG_SET_EXCEPTION_MASK_PARAMS {
    NvU32 exceptionMask;
};
static_assert(sizeof(NV83DE_CTRL_DEBUG_SET_EXCEPTION_MASK_PARAMS) == 4);

struct NV83DE_CTRL_DEBUG_SET_MODE_ERRBAR_DEBUG_PARAMS {
    NvU32 action;
};
static_assert(sizeof(NV83DE_CTRL_DEBUG_SET_MODE_ERRBAR_DEBUG_PARAMS) == 4);

struct NV83DE_CTRL_DEBUG_SET_MODE_MMU_DEBUG_PARAMS {
    NvU32 action;
};
static_assert(sizeof(NV83DE_CTRL_DEBUG_SET_MODE_MMU_DEBUG_PARAMS) == 4);

}  // namespace rm::abi
