// Single-precision operations on one lane as bit patterns, in every rounding mode and with the instructions' flushes.
// NaN results are the canonical 0x7fffffff, as hardware gives.
#pragma once

#include <bit>

#include "gpu_model/sm/exec/soft_float.h"

namespace gpu::sm {

inline constexpr u32 kNan32 = 0x7fff'ffff;
inline constexpr u32 kOne32 = 0x3f80'0000;
inline constexpr u32 kSign32 = 0x8000'0000;
inline constexpr u32 kInfinity32 = 0x7f80'0000;

inline u32 flush32(u32 bits) {
    return (bits & kInfinity32) == 0 ? bits & kSign32 : bits;
}
inline bool is_nan32(u32 bits) {
    return (bits & ~kSign32) > kInfinity32;
}
// To [0, 1]; NaN and -0 become +0.
inline u32 saturate32(u32 bits) {
    const float value = std::bit_cast<float>(bits);
    return value > 0.0F ? (value < 1.0F ? bits : kOne32) : 0;
}

struct FloatRules {
    soft::Round round = soft::Round::Nearest;
    bool ftz = false;
    bool fmz = false;  // zero times anything is zero; flushes too
    bool sat = false;
    i32 scale = 0;  // the product times 2^scale
};

u32 fadd32(u32 a, u32 b, const FloatRules& rules);
u32 fmul32(u32 a, u32 b, const FloatRules& rules);
u32 ffma32(u32 a, u32 b, u32 c, const FloatRules& rules);

}  // namespace gpu::sm
