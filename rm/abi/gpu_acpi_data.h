// Wire structs of the driver's gpu_acpi_data.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/nvidia/inc/kernel/gpu/gpu_acpi_data.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct DOD_METHOD_DATA {
    NV_STATUS status;
    NvU32 acpiIdListLen;
    NvU32 acpiIdList[16];
};
static_assert(sizeof(DOD_METHOD_DATA) == 72);

struct JT_METHOD_DATA {
    NV_STATUS status;
    NvU32 jtCaps;
    NvU16 jtRevId;
    NvBool bSBIOSCaps;
    NvU8 hole0[1];
};
static_assert(sizeof(JT_METHOD_DATA) == 12);

struct MUX_METHOD_DATA_ELEMENT {
    NvU32 acpiId;
    NvU32 mode;
    NV_STATUS status;
};
static_assert(sizeof(MUX_METHOD_DATA_ELEMENT) == 12);

struct MUX_METHOD_DATA {
    NvU32 tableLen;
    MUX_METHOD_DATA_ELEMENT acpiIdMuxModeTable[16];
    MUX_METHOD_DATA_ELEMENT acpiIdMuxPartTable[16];
    MUX_METHOD_DATA_ELEMENT acpiIdMuxStateTable[16];
};
static_assert(sizeof(MUX_METHOD_DATA) == 580);

struct CAPS_METHOD_DATA {
    NV_STATUS status;
    NvU32 optimusCaps;
};
static_assert(sizeof(CAPS_METHOD_DATA) == 8);

struct ACPI_METHOD_DATA {
    NvBool bValid;
    DOD_METHOD_DATA dodMethodData;
    JT_METHOD_DATA jtMethodData;
    MUX_METHOD_DATA muxMethodData;
    CAPS_METHOD_DATA capsMethodData;
};
static_assert(sizeof(ACPI_METHOD_DATA) == 676);

}  // namespace rm::abi
