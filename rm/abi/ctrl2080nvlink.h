// Wire structs of the driver's ctrl2080nvlink.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080nvlink.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_CMD_NVLINK_GET_NVLINK_CAPS_PARAMS {
    NvU32 capsTbl;
    NvU8 lowestNvlinkVersion;
    NvU8 highestNvlinkVersion;
    NvU8 lowestNciVersion;
    NvU8 highestNciVersion;
    NvU32 discoveredLinkMask;
    NvU32 enabledLinkMask;
    NvU64 discoveredLinks;
    NvU64 enabledLinks;
};
static_assert(sizeof(NV2080_CTRL_CMD_NVLINK_GET_NVLINK_CAPS_PARAMS) == 32);

struct NV2080_CTRL_NVLINK_DEVICE_INFO {
    NvU32 deviceIdFlags;
    NvU32 domain;
    NvU16 bus;
    NvU16 device;
    NvU16 function;
    NvU32 pciDeviceId;
    NvU64 deviceType;
    NvU8 deviceUUID[16];
    NvU32 fabricRecoveryStatusMask;
};
static_assert(sizeof(NV2080_CTRL_NVLINK_DEVICE_INFO) == 56);

struct NV2080_CTRL_NVLINK_LINK_STATUS_INFO {
    NvU32 capsTbl;
    NvU8 phyType;
    NvU8 subLinkWidth;
    NvU32 linkState;
    NvU8 rxSublinkStatus;
    NvU8 txSublinkStatus;
    NvBool bLaneReversal;
    NvU8 nvlinkVersion;
    NvU8 nciVersion;
    NvU8 phyVersion;
    NvU32 nvlinkLinkClockKHz;
    NvU32 nvlinkCommonClockSpeedKHz;
    NvU32 nvlinkRefClkSpeedKHz;
    NvU32 nvlinkCommonClockSpeedMhz;
    NvU32 nvlinkLineRateMbps;
    NvU32 nvlinkLinkClockMhz;
    NvU8 nvlinkRefClkType;
    NvU32 nvlinkLinkDataRateKiBps;
    NvU32 nvlinkRefClkSpeedMhz;
    NvBool connected;
    NvU8 loopProperty;
    NvU8 remoteDeviceLinkNumber;
    NvU8 localDeviceLinkNumber;
    NvU64 remoteLinkSid;
    NvU64 localLinkSid;
    NvU32 laneRxdetStatusMask;
    NvU32 nvlinkMinL1Threshold;
    NvU32 nvlinkMaxL1Threshold;
    NvU32 nvlinkL1ThresholdUnits;
    NV2080_CTRL_NVLINK_DEVICE_INFO remoteDeviceInfo;
    NV2080_CTRL_NVLINK_DEVICE_INFO localDeviceInfo;
};
static_assert(sizeof(NV2080_CTRL_NVLINK_LINK_STATUS_INFO) == 208);

struct NV2080_CTRL_CMD_NVLINK_GET_NVLINK_STATUS_PARAMS {
    NvU32 enabledLinkMask;
    NvBool bSublinkStateInst;
    NV2080_CTRL_NVLINK_LINK_STATUS_INFO linkInfo[64];
};
static_assert(sizeof(NV2080_CTRL_CMD_NVLINK_GET_NVLINK_STATUS_PARAMS) == 13320);

}  // namespace rm::abi
