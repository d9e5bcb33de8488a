// Wire structs of the driver's g_rpc-structures.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/nvidia/generated/g_rpc-structures.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/g_sdk_structures.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct rpc_alloc_memory_v13_01 {
    NvHandle hClient;
    NvHandle hDevice;
    NvHandle hMemory;
    NvU32 hClass;
    NvU32 flags;
    NvU32 pteAdjust;
    NvU32 format;
    NvU64 length;
    NvU32 pageCount;
    NvU64 pteDesc;
};
static_assert(sizeof(rpc_alloc_memory_v13_01) == 56);

struct rpc_dump_protobuf_component_v18_12 {
    NvU16 component;
    NvU8 nvDumpType;
    NvBool countOnly;
    NvU32 bugCheckCode;
    NvU32 internalCode;
    NvU32 bufferSize;
    // NvU8 blob[] follows at 16.
};
static_assert(sizeof(rpc_dump_protobuf_component_v18_12) == 16);

struct rpc_dup_object_v03_00 {
    NVOS55_PARAMETERS_v03_00 params;
};
static_assert(sizeof(rpc_dup_object_v03_00) == 28);

struct rpc_free_v03_00 {
    NVOS00_PARAMETERS_v03_00 params;
};
static_assert(sizeof(rpc_free_v03_00) == 16);

struct rpc_gsp_lockdown_notice_v17_00 {
    NvBool bLockdownEngaging;
};
static_assert(sizeof(rpc_gsp_lockdown_notice_v17_00) == 1);

struct rpc_gsp_rm_alloc_v03_00 {
    NvHandle hClient;
    NvHandle hParent;
    NvHandle hObject;
    NvU32 hClass;
    NvU32 status;
    NvU32 paramsSize;
    NvU32 flags;
    NvU8 reserved[4];
    // NvU8 params[] follows at 32.
};
static_assert(sizeof(rpc_gsp_rm_alloc_v03_00) == 32);

struct rpc_gsp_rm_control_v03_00 {
    NvHandle hClient;
    NvHandle hObject;
    NvU32 cmd;
    NvU32 status;
    NvU32 paramsSize;
    NvU32 flags;
    // NvU8 params[] follows at 24.
};
static_assert(sizeof(rpc_gsp_rm_control_v03_00) == 24);

struct rpc_os_error_log_v17_00 {
    NvU32 exceptType;
    NvU32 runlistId;
    NvU32 chid;
    char errString[256];
    NvU32 preemptiveRemovalPreviousXid;
};
static_assert(sizeof(rpc_os_error_log_v17_00) == 272);

struct rpc_post_event_v17_00 {
    NvHandle hClient;
    NvHandle hEvent;
    NvU32 notifyIndex;
    NvU32 data;
    NvU16 info16;
    NvU32 status;
    NvU32 eventDataSize;
    NvBool bNotifyList;
    // NvU8 eventData[] follows at 29.
};
static_assert(sizeof(rpc_post_event_v17_00) == 32);

struct rpc_rc_triggered_v17_02 {
    NvU32 nv2080EngineType;
    NvU32 chid;
    NvU32 gfid;
    NvU32 exceptLevel;
    NvU32 exceptType;
    NvU32 scope;
    NvU16 partitionAttributionId;
    NvU32 mmuFaultAddrLo;
    NvU32 mmuFaultAddrHi;
    NvU32 mmuFaultType;
    NvBool bCallbackNeeded;
    NvU32 rcJournalBufferSize;
    // NvU8 rcJournalBuffer[] follows at 48.
};
static_assert(sizeof(rpc_rc_triggered_v17_02) == 48);

struct rpc_run_cpu_sequencer_v17_00 {
    NvU32 bufferSizeDWord;
    NvU32 cmdIndex;
    NvU32 regSaveArea[8];
    // NvU32 commandBuffer[] follows at 40.
};
static_assert(sizeof(rpc_run_cpu_sequencer_v17_00) == 40);

struct rpc_set_guest_system_info_v03_00 {
    NvU32 vgxVersionMajorNum;
    NvU32 vgxVersionMinorNum;
    NvU32 guestDriverVersionBufferLength;
    NvU32 guestVersionBufferLength;
    NvU32 guestTitleBufferLength;
    NvU32 guestClNum;
    char guestDriverVersion[256];
    char guestVersion[256];
    char guestTitle[256];
};
static_assert(sizeof(rpc_set_guest_system_info_v03_00) == 792);

struct rpc_set_page_directory_v1E_05 {
    NvHandle hClient;
    NvHandle hDevice;
    NvU32 pasid;
    NV0080_CTRL_DMA_SET_PAGE_DIRECTORY_PARAMS_v1E_05 params;
};
static_assert(sizeof(rpc_set_page_directory_v1E_05) == 48);

struct rpc_ucode_libos_print_v1E_08 {
    NvU32 ucodeEngDesc;
    NvU32 libosPrintBufSize;
    // NvU8 libosPrintBuf[] follows at 8.
};
static_assert(sizeof(rpc_ucode_libos_print_v1E_08) == 8);

struct rpc_unloading_guest_driver_v1F_07 {
    NvBool bInPMTransition;
    NvBool bGc6Entering;
    NvU8 hole0[2];
    NvU32 newLevel;
};
static_assert(sizeof(rpc_unloading_guest_driver_v1F_07) == 8);

struct rpc_unset_page_directory_v1E_05 {
    NvHandle hClient;
    NvHandle hDevice;
    NV0080_CTRL_DMA_UNSET_PAGE_DIRECTORY_PARAMS_v1E_05 params;
};
static_assert(sizeof(rpc_unset_page_directory_v1E_05) == 16);

struct rpc_update_bar_pde_v15_00 {
    UpdateBarPde_v15_00 info;
};
static_assert(sizeof(rpc_update_bar_pde_v15_00) == 24);

}  // namespace rm::abi
