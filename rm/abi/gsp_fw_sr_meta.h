// Wire structs of the driver's gsp_fw_sr_meta.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/nvidia/arch/nvalloc/common/inc/gsp/gsp_fw_sr_meta.h, read as the tag has it.
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

inline constexpr NvU64 GSP_FW_SR_META_MAGIC = 0x8A3BB9E6C6C39D93;
inline constexpr NvU64 GSP_FW_SR_META_REVISION = 2;

struct GspFwSRMeta {
    NvU64 magic;
    NvU64 revision;
    NvU64 sysmemAddrOfSuspendResumeData;
    NvU64 sizeOfSuspendResumeData;
    NvU32 internal[32];
    NvU32 flags;
    NvU32 subrevision;
    NvU32 padding[22];
};
static_assert(sizeof(GspFwSRMeta) == 256);

}  // namespace rm::abi
