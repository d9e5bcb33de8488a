// Wire structs of the driver's nvos.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/nvos.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/rs_access.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct NVOS00_PARAMETERS {
    NvHandle hRoot;
    NvHandle hObjectParent;
    NvHandle hObjectOld;
    NvV32 status;
};
static_assert(sizeof(NVOS00_PARAMETERS) == 16);

struct NVOS02_PARAMETERS {
    NvHandle hRoot;
    NvHandle hObjectParent;
    NvHandle hObjectNew;
    NvV32 hClass;
    NvV32 flags;
    NvP64 pMemory;
    NvU64 limit;
    NvV32 status;
};
static_assert(sizeof(NVOS02_PARAMETERS) == 48);

struct NVOS05_PARAMETERS {
    NvHandle hRoot;
    NvHandle hObjectParent;
    NvHandle hObjectNew;
    NvV32 hClass;
    NvV32 status;
};
static_assert(sizeof(NVOS05_PARAMETERS) == 20);

struct NVOS10_EVENT_KERNEL_CALLBACK_EX {
    NvU64 func;
    NvP64 arg;
};
static_assert(sizeof(NVOS10_EVENT_KERNEL_CALLBACK_EX) == 16);

struct NVOS21_PARAMETERS {
    NvHandle hRoot;
    NvHandle hObjectParent;
    NvHandle hObjectNew;
    NvV32 hClass;
    NvP64 pAllocParms;
    NvU32 paramsSize;
    NvV32 status;
};
static_assert(sizeof(NVOS21_PARAMETERS) == 32);

struct NVOS30_PARAMETERS {
    NvHandle hClient;
    NvHandle hDevice;
    NvHandle hChannel;
    NvV32 numChannels;
    NvP64 phClients;
    NvP64 phDevices;
    NvP64 phChannels;
    NvV32 flags;
    NvV32 timeout;
    NvV32 status;
};
static_assert(sizeof(NVOS30_PARAMETERS) == 56);

struct NVOS32_PARAMETERS {
    NvHandle hRoot;
    NvHandle hObjectParent;
    NvU32 function;
    NvHandle hVASpace;
    NvS16 ivcHeapNumber;
    NvV32 status;
    NvU64 total;
    NvU64 free;
    union {
        struct {
            NvU32 owner;
            NvHandle hMemory;
            NvU32 type;
            NvU32 flags;
            NvU32 attr;
            NvU32 format;
            NvU32 comprCovg;
            NvU32 zcullCovg;
            NvU32 partitionStride;
            NvU32 width;
            NvU32 height;
            NvU64 size;
            NvU64 alignment;
            NvU64 offset;
            NvU64 limit;
            NvP64 address;
            NvU64 rangeBegin;
            NvU64 rangeEnd;
            NvU32 attr2;
            NvU32 ctagOffset;
            NvS32 numaNode;
        } AllocSize;
        struct {
            NvU32 owner;
            NvHandle hMemory;
            NvU32 type;
            NvU32 flags;
            NvU32 height;
            NvS32 pitch;
            NvU32 attr;
            NvU32 width;
            NvU32 format;
            NvU32 comprCovg;
            NvU32 zcullCovg;
            NvU32 partitionStride;
            NvU64 size;
            NvU64 alignment;
            NvU64 offset;
            NvU64 limit;
            NvP64 address;
            NvU64 rangeBegin;
            NvU64 rangeEnd;
            NvU32 attr2;
            NvU32 ctagOffset;
            NvS32 numaNode;
        } AllocTiledPitchHeight;
        struct {
            NvU32 owner;
            NvHandle hMemory;
            NvU32 flags;
        } Free;
        struct {
            NvU32 owner;
            NvU32 flags;
            NvHandle hMemory;
        } ReleaseCompr;
        struct {
            NvU32 owner;
            NvU32 flags;
            NvHandle hMemory;
        } ReacquireCompr;
        struct {
            NvU32 attr;
            NvU64 offset;
            NvU64 size;
            NvU64 base;
        } Info;
        struct {
            NvU32 flags;
            NvP64 pBuffer;
            NvU32 numBlocks;
        } Dump;
        struct {
            NvU32 owner;
            NvHandle hMemory;
            NvU32 type;
            NvU32 flags;
            NvU32 attr;
            NvU32 format;
            NvU32 comprCovg;
            NvU32 zcullCovg;
            NvU32 partitionStride;
            NvU64 size;
            NvU64 alignment;
            NvU64 offset;
            NvU64 limit;
            NvU64 rangeBegin;
            NvU64 rangeEnd;
            NvP64 address;
            NvU32 attr2;
            NvU32 ctagOffset;
            NvS32 numaNode;
        } AllocSizeRange;
        struct {
            NvU32 alignType;
            NvU32 alignAttr;
            NvU32 alignInputFlags;
            NvU64 alignSize;
            NvU32 alignHeight;
            NvU32 alignWidth;
            NvU32 alignPitch;
            NvU32 alignPad;
            NvU32 alignMask;
            NvU32 alignOutputFlags[4];
            NvU32 alignBank[4];
            NvU32 alignKind;
            NvU32 alignAdjust;
            NvU32 alignAttr2;
        } AllocHintAlignment;
        struct {
            NvU32 allocOwner;
            NvHandle allochMemory;
            NvU32 flags;
            NvU32 allocType;
            NvU32 allocAttr;
            NvU32 allocInputFlags;
            NvU64 allocSize;
            NvU32 allocHeight;
            NvU32 allocWidth;
            NvU32 allocPitch;
            NvU32 allocMask;
            NvU32 allocComprCovg;
            NvU32 allocZcullCovg;
            NvP64 bindResultFunc;
            NvP64 pHandle;
            NvHandle hResourceHandle;
            NvU32 retAttr;
            NvU32 kind;
            NvU64 osDeviceHandle;
            NvU32 allocAttr2;
            NvU32 retAttr2;
            NvU64 allocAddr;
            struct {
                NvU32 compPageShift;
                NvU32 compressedKind;
                NvU32 compTagLineMin;
                NvU32 compPageIndexLo;
                NvU32 compPageIndexHi;
                NvU32 compTagLineMultiplier;
            } comprInfo;
            NvU32 uncompressedKind;
        } HwAlloc;
        struct {
            NvHandle hResourceHandle;
            NvU32 flags;
        } HwFree;
        struct {
            NvHandle hMemory;
            NvU32 type;
            NvU32 flags;
            NvU32 attr;
            NvU32 attr2;
            NvP64 descriptor;
            NvU64 limit;
            NvU32 descriptorType;
        } AllocOsDesc;
    } data;
};
static_assert(sizeof(NVOS32_PARAMETERS) == 184);

struct NVOS33_PARAMETERS {
    NvHandle hClient;
    NvHandle hDevice;
    NvHandle hMemory;
    NvU64 offset;
    NvU64 length;
    NvP64 pLinearAddress;
    NvU32 status;
    NvU32 flags;
};
static_assert(sizeof(NVOS33_PARAMETERS) == 48);

struct NVOS34_PARAMETERS {
    NvHandle hClient;
    NvHandle hDevice;
    NvHandle hMemory;
    NvP64 pLinearAddress;
    NvU32 status;
    NvU32 flags;
};
static_assert(sizeof(NVOS34_PARAMETERS) == 32);

struct NVOS38_PARAMETERS {
    NvHandle hClient;
    NvHandle hObject;
    NvV32 AccessType;
    NvV32 DevNodeLength;
    NvP64 pDevNode;
    NvV32 ParmStrLength;
    NvP64 pParmStr;
    NvV32 BinaryDataLength;
    NvP64 pBinaryData;
    NvV32 Data;
    NvV32 Entry;
    NvV32 status;
};
static_assert(sizeof(NVOS38_PARAMETERS) == 72);

struct NVOS39_PARAMETERS {
    NvHandle hObjectParent;
    NvHandle hSubDevice;
    NvHandle hObjectNew;
    NvV32 hClass;
    NvV32 flags;
    NvU32 selector;
    NvHandle hMemory;
    NvU64 offset;
    NvU64 limit;
    NvV32 status;
};
static_assert(sizeof(NVOS39_PARAMETERS) == 56);

struct NVOS41_PARAMETERS {
    NvP64 pEvent;
    NvV32 MoreEvents;
    NvV32 status;
};
static_assert(sizeof(NVOS41_PARAMETERS) == 16);

struct NVOS46_PARAMETERS {
    NvHandle hClient;
    NvHandle hDevice;
    NvHandle hDma;
    NvHandle hMemory;
    NvU64 offset;
    NvU64 length;
    NvV32 flags;
    NvU64 dmaOffset;
    NvV32 status;
};
static_assert(sizeof(NVOS46_PARAMETERS) == 56);

struct NVOS47_PARAMETERS {
    NvHandle hClient;
    NvHandle hDevice;
    NvHandle hDma;
    NvHandle hMemory;
    NvV32 flags;
    NvU64 dmaOffset;
    NvU64 size;
    NvV32 status;
};
static_assert(sizeof(NVOS47_PARAMETERS) == 48);

struct NVOS49_PARAMETERS {
    NvHandle hClient;
    NvHandle hChannel;
    NvHandle hCtxDma;
    NvV32 status;
};
static_assert(sizeof(NVOS49_PARAMETERS) == 16);

struct NVOS54_PARAMETERS {
    NvHandle hClient;
    NvHandle hObject;
    NvV32 cmd;
    NvU32 flags;
    NvP64 params;
    NvU32 paramsSize;
    NvV32 status;
};
static_assert(sizeof(NVOS54_PARAMETERS) == 32);

struct NVOS55_PARAMETERS {
    NvHandle hClient;
    NvHandle hParent;
    NvHandle hObject;
    NvHandle hClientSrc;
    NvHandle hObjectSrc;
    NvU32 flags;
    NvU32 status;
};
static_assert(sizeof(NVOS55_PARAMETERS) == 28);

struct NVOS56_PARAMETERS {
    NvHandle hClient;
    NvHandle hDevice;
    NvHandle hMemory;
    NvP64 pOldCpuAddress;
    NvP64 pNewCpuAddress;
    NvV32 status;
};
static_assert(sizeof(NVOS56_PARAMETERS) == 40);

struct NVOS57_PARAMETERS {
    NvHandle hClient;
    NvHandle hObject;
    RS_SHARE_POLICY sharePolicy;
    NvU32 status;
};
static_assert(sizeof(NVOS57_PARAMETERS) == 24);

struct NVOS61_PARAMETERS {
    NvHandle hClient;
    NvHandle hDevice;
    NvHandle hVblank;
    NvU64 pProc;
    NvV32 LogicalHead;
    NvP64 pParm1;
    NvP64 pParm2;
    NvU32 bAdd;
    NvV32 status;
};
static_assert(sizeof(NVOS61_PARAMETERS) == 56);

struct NVOS63_PARAMETERS {
    NvHandle hClient;
    NvHandle hObject;
    NvV32 cmd;
    NvU32 paramsSize;
    NvV32 status;
};
static_assert(sizeof(NVOS63_PARAMETERS) == 20);

struct NVOS64_PARAMETERS {
    NvHandle hRoot;
    NvHandle hObjectParent;
    NvHandle hObjectNew;
    NvV32 hClass;
    NvP64 pAllocParms;
    NvP64 pRightsRequested;
    NvU32 paramsSize;
    NvU32 flags;
    NvV32 status;
};
static_assert(sizeof(NVOS64_PARAMETERS) == 48);

struct NVOS65_PARAMETERS {
    NvHandle hRoot;
    NvHandle hObjectParent;
    NvHandle hObjectNew;
    NvV32 hClass;
    NvU32 paramSize;
    NvU32 versionMagic;
    NvU32 maskSize;
    NvV32 status;
};
static_assert(sizeof(NVOS65_PARAMETERS) == 32);

struct NV_BSP_ALLOCATION_PARAMETERS {
    NvU32 size;
    NvU32 prohibitMultipleInstances;
    NvU32 engineInstance;
};
static_assert(sizeof(NV_BSP_ALLOCATION_PARAMETERS) == 12);

struct NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS {
    NvHandle hObjectError;
    NvHandle hObjectEccError;
    NvHandle hVASpace;
    NvU32 engineType;
    NvBool bIsCallingContextVgpuPlugin;
};
static_assert(sizeof(NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS) == 20);

struct NV_CONTEXT_DMA_ALLOCATION_PARAMS {
    NvHandle hSubDevice;
    NvV32 flags;
    NvHandle hMemory;
    NvU64 offset;
    NvU64 limit;
};
static_assert(sizeof(NV_CONTEXT_DMA_ALLOCATION_PARAMS) == 32);

struct NV_CTXSHARE_ALLOCATION_PARAMETERS {
    NvHandle hVASpace;
    NvU32 flags;
    NvU32 subctxId;
};
static_assert(sizeof(NV_CTXSHARE_ALLOCATION_PARAMETERS) == 12);

struct NV_GR_ALLOCATION_PARAMETERS {
    NvU32 version;
    NvU32 flags;
    NvU32 size;
    NvU32 caps;
};
static_assert(sizeof(NV_GR_ALLOCATION_PARAMETERS) == 16);

struct NV_HOPPER_USERMODE_A_PARAMS {
    NvBool bBar1Mapping;
    NvBool bPriv;
};
static_assert(sizeof(NV_HOPPER_USERMODE_A_PARAMS) == 2);

struct NV_MEMORY_ALLOCATION_PARAMS {
    NvU32 owner;
    NvU32 type;
    NvU32 flags;
    NvU32 width;
    NvU32 height;
    NvS32 pitch;
    NvU32 attr;
    NvU32 attr2;
    NvU32 format;
    NvU32 comprCovg;
    NvU32 zcullCovg;
    NvU64 rangeLo;
    NvU64 rangeHi;
    NvU64 size;
    NvU64 alignment;
    NvU64 offset;
    NvU64 limit;
    NvP64 address;
    NvU32 ctagOffset;
    NvHandle hVASpace;
    NvU32 internalflags;
    NvU32 tag;
    NvS32 numaNode;
};
static_assert(sizeof(NV_MEMORY_ALLOCATION_PARAMS) == 128);

struct NV_MSENC_ALLOCATION_PARAMETERS {
    NvU32 size;
    NvU32 prohibitMultipleInstances;
    NvU32 engineInstance;
};
static_assert(sizeof(NV_MSENC_ALLOCATION_PARAMETERS) == 12);

struct NV_OS_DESC_MEMORY_ALLOCATION_PARAMS {
    NvU32 type;
    NvU32 flags;
    NvU32 attr;
    NvU32 attr2;
    NvP64 descriptor;
    NvU64 limit;
    NvU32 descriptorType;
    NvU32 tag;
};
static_assert(sizeof(NV_OS_DESC_MEMORY_ALLOCATION_PARAMS) == 40);

struct NV_VASPACE_ALLOCATION_PARAMETERS {
    NvU32 index;
    NvV32 flags;
    NvU64 vaSize;
    NvU64 vaStartInternal;
    NvU64 vaLimitInternal;
    NvU32 bigPageSize;
    NvU64 vaBase;
};
static_assert(sizeof(NV_VASPACE_ALLOCATION_PARAMETERS) == 48);

struct NvUnixEvent {
    NvHandle hObject;
    NvV32 NotifyIndex;
    NvV32 info32;
    NvU16 info16;
    NvU8 hole0[2];
};
static_assert(sizeof(NvUnixEvent) == 16);

}  // namespace rm::abi
