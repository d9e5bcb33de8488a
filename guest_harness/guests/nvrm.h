// The driver surface as a small user-mode client needs it: ioctl numbers, wire structs and method numbers of driver 570.144, in
// NVIDIA's spelling, and what other branches of the driver have in their place. Sources: NVIDIA/open-gpu-kernel-modules 535.183.01 to
// 580.95.05 (nvos.h, nv-ioctl.h, class headers), NVIDIA/open-gpu-doc (clc46f.h, clc5b5.h).
#pragma once

#include "guest_harness/guests/nolibc.h"

typedef u32 NvHandle;

enum { NV01_MEMORY_SYSTEM = 0x3E, NV01_MEMORY_LOCAL_USER = 0x40, NV01_ROOT_CLIENT = 0x41, NV01_MEMORY_SYSTEM_OS_DESCRIPTOR = 0x71,
       NV01_EVENT_OS_EVENT = 0x79,
       NV01_DEVICE_0 = 0x80, NV20_SUBDEVICE_0 = 0x2080, NV50_MEMORY_VIRTUAL = 0x50A0, FERMI_CONTEXT_SHARE_A = 0x9067,
       FERMI_VASPACE_A = 0x90F1, KEPLER_CHANNEL_GROUP_A = 0xA06C, TURING_USERMODE_A = 0xC461, TURING_CHANNEL_GPFIFO_A = 0xC46F,
       TURING_DMA_COPY_A = 0xC5B5, TURING_COMPUTE_A = 0xC5C0, AMPERE_CHANNEL_GPFIFO_A = 0xC56F };

enum { NV_ESC_RM_ALLOC_MEMORY = 0x27, NV_ESC_RM_FREE = 0x29, NV_ESC_RM_CONTROL = 0x2A, NV_ESC_RM_ALLOC = 0x2B, NV_ESC_RM_MAP_MEMORY = 0x4E,
       NV_ESC_RM_UNMAP_MEMORY = 0x4F, NV_ESC_RM_GET_EVENT_DATA = 0x52, NV_ESC_RM_MAP_MEMORY_DMA = 0x57,
       NV_ESC_RM_UNMAP_MEMORY_DMA = 0x58, NV_ESC_CARD_INFO = 0xC8, NV_ESC_REGISTER_FD = 0xC9, NV_ESC_ALLOC_OS_EVENT = 0xCE,
       NV_ESC_FREE_OS_EVENT = 0xCF, NV_ESC_CHECK_VERSION_STR = 0xD2, NV_ESC_SYS_PARAMS = 0xD6 };

enum { NV0080_CTRL_CMD_FIFO_GET_CHANNELLIST = 0x80170d, NV2080_CTRL_CMD_EVENT_SET_NOTIFICATION = 0x20800301,
       NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN = 0xc36f0108, NVA06C_CTRL_CMD_GPFIFO_SCHEDULE = 0xa06c0101 };

enum { NV_OK = 0, NV_ERR_INVALID_CLASS = 0x22, NV_ERR_NOT_SUPPORTED = 0x56, NV_ERR_OBJECT_NOT_FOUND = 0x57 };
enum { NVOS32_ALLOC_FLAGS_VIRTUAL = 0x80000, NVOS32_ATTR_LOCATION_PCI = 1 << 25, NV2080_ENGINE_TYPE_GR0 = 1,
       NV2080_NOTIFIERS_FIFO_EVENT_MTHD = 0x23, NV01_EVENT_NONSTALL_INTR = 0x08000000,
       NV2080_CTRL_EVENT_SET_NOTIFICATION_ACTION_REPEAT = 2 };

typedef struct { NvHandle hRoot, hObjectParent, hObjectNew; u32 hClass; u64 pAllocParms; u32 paramsSize, status; } NVOS21;
typedef struct { NvHandle hRoot, hObjectParent, hObjectNew; u32 hClass; u64 pAllocParms, pRightsRequested; u32 paramsSize, flags,
                 status, pad; } NVOS64;
typedef struct { NvHandle hClient, hObject; u32 cmd, flags; u64 params; u32 paramsSize, status; } NVOS54;
typedef struct { NvHandle hRoot, hObjectParent, hObjectOld; u32 status; } NVOS00;
typedef struct { NvHandle hRoot, hObjectParent, hObjectNew; u32 hClass, flags, pad; u64 pMemory, limit; u32 status, pad2; i32 fd,
                 pad3; } NVOS02;
typedef struct { NvHandle hClient, hDevice, hDma, hMemory; u64 offset, length; u32 flags, pad; u64 dmaOffset; u32 status, pad2; } NVOS46;
typedef struct { NvHandle hClient, hDevice, hDma, hMemory; u64 offset, length; u32 flags, flags2, kindOverride, pad; u64 dmaOffset;
                 u32 status, pad2; } NVOS46_580;  // since 580
typedef struct { NvHandle hClient, hDevice, hDma, hMemory; u32 flags, pad; u64 dmaOffset, size; u32 status, pad2; } NVOS47;
typedef struct { NvHandle hClient, hDevice, hDma, hMemory; u32 flags, pad; u64 dmaOffset; u32 status, pad2; } NVOS47_535;  // until 535
typedef struct { NvHandle hClient, hDevice, hMemory; u32 pad; u64 offset, length, pLinearAddress; u32 status, flags; i32 fd, pad2; } NVOS33;
typedef struct { NvHandle hClient, hDevice, hMemory; u32 pad; u64 pLinearAddress; u32 status, flags; } NVOS34;
typedef struct { u64 pEvent; u32 MoreEvents, status; } NVOS41;
typedef struct { NvHandle hObject; u32 NotifyIndex, info32; u16 info16, pad; } NvUnixEvent;
typedef struct { u32 cmd, reply; char versionString[64]; } ApiVersion;
typedef struct { NvHandle hClient, hDevice; u32 fd, Status; } OsEvent;
typedef struct { u8 valid, pad[3]; u32 domain; u8 bus, slot, function, pad2; u16 vendor_id, device_id; u32 gpu_id; u16 interrupt_line,
                 pad3; u64 reg_address, reg_size, fb_address, fb_size; u32 minor_number; u8 dev_name[10], pad4[2]; } CardInfo;
typedef struct { u32 owner, type, flags, width, height; i32 pitch; u32 attr, attr2, format, comprCovg, zcullCovg, pad; u64 rangeLo,
                 rangeHi, size, alignment, offset, limit, address; u32 ctagOffset; NvHandle hVASpace; u32 internalflags, tag;
                 i32 numaNode, pad2; } MemoryAllocation;
typedef struct { u32 deviceId; NvHandle hClientShare, hTargetClient, hTargetDevice; u32 flags, pad; u64 vaSpaceSize, vaStartInternal,
                 vaLimitInternal; u32 vaMode, pad2; } DeviceAllocation;
typedef struct { u32 index, flags; u64 vaSize, vaStartInternal, vaLimitInternal; u32 bigPageSize, pad; u64 vaBase; } VaSpaceAllocation;
typedef struct { NvHandle hParentClient, hSrcResource; u32 hClass, notifyIndex; u64 data; } EventAllocation;
typedef struct { NvHandle hObjectError, hObjectEccError, hVASpace; u32 engineType; u8 vgpu, pad[3]; } GroupAllocation;
typedef struct { NvHandle hVASpace; u32 flags, subctxId; } ShareAllocation;
typedef struct { NvHandle hObjectError, hObjectBuffer; u64 gpFifoOffset; u32 gpFifoEntries, flags; NvHandle hContextShare, hVASpace,
                 hUserdMemory[8]; u64 userdOffset[8]; u32 engineType, cid, subDeviceId;
                 NvHandle hObjectEccError; u8 rest[224]; } ChannelAllocation;
typedef struct { u32 version, engineType; } CopyAllocation;
typedef struct { u32 event, action; u8 bNotifyState, pad[3]; u32 info32; u16 info16, pad2; } SetNotification;
typedef struct { u32 numChannels, pad; u64 pChannelHandleList, pChannelList; } ChannelList;
typedef struct { u8 bEnable, bSkipSubmit, bSkipEnable; } Schedule;  // the third since 580

_Static_assert(sizeof(NVOS21) == 32 && sizeof(NVOS64) == 48 && sizeof(NVOS54) == 32 && sizeof(NVOS46) == 56 &&
               sizeof(NVOS46_580) == 64 && sizeof(NVOS47) == 48 && sizeof(NVOS47_535) == 40 && sizeof(NVOS02) == 56 &&
               sizeof(NVOS33) == 56 && sizeof(NVOS34) == 32 && sizeof(CardInfo) == 72 && sizeof(MemoryAllocation) == 128 &&
               sizeof(ChannelAllocation) == 368 && sizeof(GroupAllocation) == 20 && sizeof(EventAllocation) == 24, "wire sizes");

// _IOWR('F', number, size)
static inline u64 nv_ioctl_word(u32 number, u64 bytes) { return 0xC0000000u | bytes << 16 | 'F' << 8 | number; }
static inline i64 nv_ioctl(i64 fd, u32 number, void* argument, u64 bytes) { return sys_ioctl(fd, nv_ioctl_word(number, bytes), argument); }

// A failed envelope shows as a status above all others.
enum { STATUS_IOCTL_FAILED = 0xF0000000 };

typedef struct { i64 ctl, gpu; NvHandle client; u32 branch; char version[64]; } Rm;

// Asks the driver its version, by which the calls below choose their structs: branch becomes 570, say.
static inline u32 rm_ask_version(Rm* rm) {
    ApiVersion call = {'2', 0, {0}};
    if (nv_ioctl(rm->ctl, NV_ESC_CHECK_VERSION_STR, &call, sizeof call) != 0 || call.reply != 1) return STATUS_IOCTL_FAILED;
    memcpy(rm->version, call.versionString, sizeof rm->version);
    rm->version[sizeof rm->version - 1] = 0;
    rm->branch = 0;
    for (const char* at = rm->version; *at >= '0' && *at <= '9'; ++at) rm->branch = rm->branch * 10 + (u32)(*at - '0');
    return NV_OK;
}

static inline u32 rm_alloc(Rm* rm, NvHandle parent, NvHandle handle, u32 class, void* params, u32 bytes) {
    NVOS64 call = {rm->client, parent, handle, class, (u64)params, 0, bytes, 0, 0, 0};
    if (nv_ioctl(rm->ctl, NV_ESC_RM_ALLOC, &call, sizeof call) != 0) return STATUS_IOCTL_FAILED;
    return call.status;
}
static inline u32 rm_alloc_short(Rm* rm, NvHandle parent, NvHandle* handle, u32 class, void* params, u32 bytes) {
    NVOS21 call = {rm->client, parent, *handle, class, (u64)params, bytes, 0};
    if (nv_ioctl(rm->ctl, NV_ESC_RM_ALLOC, &call, sizeof call) != 0) return STATUS_IOCTL_FAILED;
    *handle = call.hObjectNew;
    return call.status;
}
// The process's own pages become memory that the GPU can be given: as CUDA registers host memory.
enum { NVOS02_FLAGS_PAGES_OF_A_PROCESS = 0x40001010 };  // PHYSICALITY_NONCONTIGUOUS, LOCATION_PCI, COHERENCY_CACHED, MAPPING_NO_MAP
static inline u32 rm_alloc_own_pages(Rm* rm, NvHandle parent, NvHandle handle, void* pages, u64 bytes) {
    NVOS02 call = {rm->client, parent, handle, NV01_MEMORY_SYSTEM_OS_DESCRIPTOR, NVOS02_FLAGS_PAGES_OF_A_PROCESS, 0, (u64)pages, bytes - 1,
                   0, 0, -1, 0};
    if (nv_ioctl(rm->gpu, NV_ESC_RM_ALLOC_MEMORY, &call, sizeof call) != 0) return STATUS_IOCTL_FAILED;
    return call.status;
}
static inline u32 rm_control(Rm* rm, NvHandle object, u32 cmd, void* params, u32 bytes) {
    NVOS54 call = {rm->client, object, cmd, 0, (u64)params, bytes, 0};
    if (nv_ioctl(rm->ctl, NV_ESC_RM_CONTROL, &call, sizeof call) != 0) return STATUS_IOCTL_FAILED;
    return call.status;
}
static inline u32 rm_free(Rm* rm, NvHandle parent, NvHandle object) {
    NVOS00 call = {rm->client, parent, object, 0};
    if (nv_ioctl(rm->ctl, NV_ESC_RM_FREE, &call, sizeof call) != 0) return STATUS_IOCTL_FAILED;
    return call.status;
}
// Maps `bytes` of `memory` into the process at `at` (0: anywhere); each mapping needs a fresh descriptor. `cookie` is for rm_unmap.
static inline u32 rm_map(Rm* rm, NvHandle device, NvHandle memory, int system, u64 bytes, void* at, void** out, u64* cookie) {
    i64 fd = sys_open(system ? "/dev/nvidiactl" : "/dev/nvidia0");
    if (failed(fd)) return STATUS_IOCTL_FAILED;
    i32 ctl = (i32)rm->ctl;
    if (!system && nv_ioctl(fd, NV_ESC_REGISTER_FD, &ctl, sizeof ctl) != 0) return STATUS_IOCTL_FAILED;
    NVOS33 call = {rm->client, device, memory, 0, 0, bytes, 0, 0, 0, (i32)fd, 0};
    if (nv_ioctl(rm->ctl, NV_ESC_RM_MAP_MEMORY, &call, sizeof call) != 0) return STATUS_IOCTL_FAILED;
    if (call.status != NV_OK) return call.status;
    i64 address = sys_mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);
    sys_close(fd);  // the mapping lives on
    if (failed(address)) return STATUS_IOCTL_FAILED;
    *out = (void*)address;
    *cookie = call.pLinearAddress;
    return NV_OK;
}
static inline u32 rm_unmap(Rm* rm, NvHandle device, NvHandle memory, void* address, u64 bytes, u64 cookie) {
    if (sys_munmap(address, bytes) != 0) return STATUS_IOCTL_FAILED;
    NVOS34 call = {rm->client, device, memory, 0, cookie, 0, 0};
    if (nv_ioctl(rm->ctl, NV_ESC_RM_UNMAP_MEMORY, &call, sizeof call) != 0) return STATUS_IOCTL_FAILED;
    return call.status;
}
static inline u32 rm_map_dma(Rm* rm, NvHandle device, NvHandle virtual, NvHandle memory, u64 bytes, u64 offset, u64* address) {
    if (rm->branch >= 580) {
        NVOS46_580 wide = {rm->client, device, virtual, memory, 0, bytes, 0, 0, 0, 0, offset, 0, 0};
        if (nv_ioctl(rm->ctl, NV_ESC_RM_MAP_MEMORY_DMA, &wide, sizeof wide) != 0) return STATUS_IOCTL_FAILED;
        *address = wide.dmaOffset;
        return wide.status;
    }
    NVOS46 call = {rm->client, device, virtual, memory, 0, bytes, 0, 0, offset, 0, 0};
    if (nv_ioctl(rm->ctl, NV_ESC_RM_MAP_MEMORY_DMA, &call, sizeof call) != 0) return STATUS_IOCTL_FAILED;
    *address = call.dmaOffset;
    return call.status;
}
static inline u32 rm_unmap_dma(Rm* rm, NvHandle device, NvHandle virtual, NvHandle memory, u64 address) {
    if (rm->branch <= 535) {
        NVOS47_535 narrow = {rm->client, device, virtual, memory, 0, 0, address, 0, 0};
        if (nv_ioctl(rm->ctl, NV_ESC_RM_UNMAP_MEMORY_DMA, &narrow, sizeof narrow) != 0) return STATUS_IOCTL_FAILED;
        return narrow.status;
    }
    NVOS47 call = {rm->client, device, virtual, memory, 0, 0, address, 0, 0, 0};
    if (nv_ioctl(rm->ctl, NV_ESC_RM_UNMAP_MEMORY_DMA, &call, sizeof call) != 0) return STATUS_IOCTL_FAILED;
    return call.status;
}
static inline u32 rm_schedule(Rm* rm, NvHandle group) {
    Schedule schedule = {1, 0, 0};
    return rm_control(rm, group, NVA06C_CTRL_CMD_GPFIFO_SCHEDULE, &schedule, rm->branch >= 580 ? 3 : 2);
}

// Pushbuffer. Headers: SEC_OP 31:29, count 28:16, subchannel 15:13, method word 11:0.
enum { SUBCHANNEL_COMPUTE = 1, SUBCHANNEL_COPY = 4 };
enum { SET_OBJECT = 0x0, NON_STALL_INTERRUPT = 0x20, SEM_ADDR_LO = 0x5C, SEM_EXECUTE = 0x6C };
enum { SEM_EXECUTE_RELEASE = 1, SEM_EXECUTE_RELEASE_WFI_EN = 1 << 20 };
enum { CE_SET_SEMAPHORE_A = 0x240, CE_LAUNCH_DMA = 0x300, CE_OFFSET_IN_UPPER = 0x400, CE_OFFSET_OUT_UPPER = 0x408, CE_PITCH_IN = 0x410,
       CE_LINE_LENGTH_IN = 0x418, CE_SET_REMAP_CONST_A = 0x700 };
enum { LAUNCH_NON_PIPELINED = 2, LAUNCH_FLUSH = 1 << 2, LAUNCH_RELEASE_ONE_WORD = 1 << 3, LAUNCH_SRC_PITCH = 1 << 7,
       LAUNCH_DST_PITCH = 1 << 8, LAUNCH_MULTI_LINE = 1 << 9, LAUNCH_REMAP = 1 << 10 };
enum { REMAP_DST_X_CONST_B = 5, REMAP_COMPONENT_SIZE_FOUR = 3 << 16 };
enum { USERD_GP_PUT = 0x8C, USERMODE_NOTIFY_CHANNEL_PENDING = 0x90 };

static inline u32 push_header(u32 subchannel, u32 method, u32 count) { return 1u << 29 | count << 16 | subchannel << 13 | method >> 2; }
