// Wire structs of the driver's cl2080_notification.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/class/cl2080_notification.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_COOLER_DIAG_ZONE_NOTIFICATION_REC {
    NvU32 currentZone;
};
static_assert(sizeof(NV2080_COOLER_DIAG_ZONE_NOTIFICATION_REC) == 4);

struct NV2080_NOTIFIERS_USE_GC6_REDUCED_THRESHOLD_UPDATE {
    NvU8 workloadType;
};
static_assert(sizeof(NV2080_NOTIFIERS_USE_GC6_REDUCED_THRESHOLD_UPDATE) == 1);

struct NV2080_PLATFORM_POWER_MODE_CHANGE_STATUS {
    NvU8 platformPowerModeIndex;
    NvU8 platformPowerModeMask;
    NvU8 eventReason;
};
static_assert(sizeof(NV2080_PLATFORM_POWER_MODE_CHANGE_STATUS) == 3);

struct NV2080_THERM_DIAG_ZONE_NOTIFICATION_REC {
    NvU32 currentZone;
};
static_assert(sizeof(NV2080_THERM_DIAG_ZONE_NOTIFICATION_REC) == 4);

struct Nv2080ACPIEvent {
    NvU32 event;
};
static_assert(sizeof(Nv2080ACPIEvent) == 4);

struct Nv2080AudioHdcpRequest {
    NvU32 displayId;
    NvU32 requestedState;
};
static_assert(sizeof(Nv2080AudioHdcpRequest) == 8);

struct Nv2080ClocksChangeNotification {
    struct {
        NvU32 nanoseconds[2];
    } timeStamp;
};
static_assert(sizeof(Nv2080ClocksChangeNotification) == 8);

struct Nv2080DpIrqNotification {
    NvU32 displayId;
};
static_assert(sizeof(Nv2080DpIrqNotification) == 4);

struct Nv2080DstateHdaCodecNotification {
    NvU32 dstateHdaCodec;
};
static_assert(sizeof(Nv2080DstateHdaCodecNotification) == 4);

struct Nv2080DstateXusbPpcNotification {
    NvU32 dstateXusb;
    NvU32 dstatePpc;
};
static_assert(sizeof(Nv2080DstateXusbPpcNotification) == 8);

struct Nv2080EccDbeNotification {
    NvU64 physAddress;
};
static_assert(sizeof(Nv2080EccDbeNotification) == 8);

struct Nv2080GC5GpuReadyParams {
    NvU32 event;
    NvU32 sciIntr0;
    NvU32 sciIntr1;
};
static_assert(sizeof(Nv2080GC5GpuReadyParams) == 12);

struct Nv2080HdcpStatusChangeNotification {
    NvU32 displayId;
    NvU32 hdcpStatusChangeNotif;
};
static_assert(sizeof(Nv2080HdcpStatusChangeNotification) == 8);

struct Nv2080HdmiFrlRequestNotification {
    NvU32 displayId;
};
static_assert(sizeof(Nv2080HdmiFrlRequestNotification) == 4);

struct Nv2080HotplugNotification {
    NvU32 plugDisplayMask;
    NvU32 unplugDisplayMask;
};
static_assert(sizeof(Nv2080HotplugNotification) == 8);

struct Nv2080LpwrDifrPrefetchNotification {
    NvU32 l2CacheSize;
};
static_assert(sizeof(Nv2080LpwrDifrPrefetchNotification) == 4);

struct Nv2080NvlinkLnkChangeNotification {
    NvU32 GpuId;
    NvU32 linkId;
};
static_assert(sizeof(Nv2080NvlinkLnkChangeNotification) == 8);

struct Nv2080PStateChangeNotification {
    struct {
        NvU32 nanoseconds[2];
    } timeStamp;
    NvU32 NewPstate;
};
static_assert(sizeof(Nv2080PStateChangeNotification) == 12);

struct Nv2080PowerEventNotification {
    NvBool bSwitchToAC;
    NvBool bGPUCapabilityChanged;
    NvU8 hole0[2];
    NvU32 displayMaskAffected;
};
static_assert(sizeof(Nv2080PowerEventNotification) == 8);

struct Nv2080PrivRegAccessFaultNotification {
    NvU32 errAddr;
};
static_assert(sizeof(Nv2080PrivRegAccessFaultNotification) == 4);

struct Nv2080QosIntrNotification {
    NvU32 engineType;
};
static_assert(sizeof(Nv2080QosIntrNotification) == 4);

struct Nv2080VrrSetTimeoutNotification {
    NvU32 head;
};
static_assert(sizeof(Nv2080VrrSetTimeoutNotification) == 4);

struct Nv2080WorkloadModulationChangeNotification {
    struct {
        NvU32 nanoseconds[2];
    } timeStamp;
    NvBool WorkloadModulationEnabled;
};
static_assert(sizeof(Nv2080WorkloadModulationChangeNotification) == 12);

struct Nv2080XusbPpcConnectStateNotification {
    NvBool bConnected;
};
static_assert(sizeof(Nv2080XusbPpcConnectStateNotification) == 1);

struct _cl2080_tag0 {
    NvV32 Reserved00[1984];
};
static_assert(sizeof(_cl2080_tag0) == 7936);

}  // namespace rm::abi
