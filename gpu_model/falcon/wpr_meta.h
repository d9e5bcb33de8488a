// GspFwWprMeta and GspFwSRMeta as Booter reads them. The rows are wpr_meta.def and sr_meta.def.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, gsp_fw_wpr_meta.h, gsp_fw_sr_meta.h.
#pragma once

#include <span>

#include "gpu_model/signed_image.h"

namespace gpu {

inline constexpr u32 kWprMetaBytes = 256;
inline constexpr u64 kWprMetaMagic = 0xDC3AAE21371A60B3;
inline constexpr u64 kWprMetaRevision = 1;
inline constexpr u64 kWprMetaVerified = 0xA0A0A0A0A0A0A0A0;
inline constexpr u32 kWprMetaVerifiedOffset = 248;

inline constexpr u32 kSrMetaBytes = 256;
inline constexpr u64 kSrMetaMagic = 0x8A3BB9E6C6C39D93;
inline constexpr u64 kSrMetaRevision = 2;

struct WprMeta {
#define WPR_META(field, offset, bytes) u64 field = 0;
#include "gpu_model/falcon/wpr_meta.def"
#undef WPR_META
};

struct SrMeta {
#define SR_META(field, offset, bytes) u64 field = 0;
#include "gpu_model/falcon/sr_meta.def"
#undef SR_META
};

// Precondition: `bytes` holds the whole struct.
inline WprMeta load_wpr_meta(std::span<const u8> bytes) {
    WprMeta meta;
#define WPR_META(field, offset, size) meta.field = signed_image::load_le64(bytes, offset);
#include "gpu_model/falcon/wpr_meta.def"
#undef WPR_META
    return meta;
}

inline SrMeta load_sr_meta(std::span<const u8> bytes) {
    SrMeta meta;
#define SR_META(field, offset, size) \
    meta.field = size == sizeof(u64) ? signed_image::load_le64(bytes, offset) : signed_image::load_le32(bytes, offset);
#include "gpu_model/falcon/sr_meta.def"
#undef SR_META
    return meta;
}

}  // namespace gpu
