// The vector operations for hosts with AVX512. The target begins after the headers, so that no inline function of
// theirs is compiled for a host that another file must not assume.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "gpu_model/sm/exec/exec.h"
#include "gpu_model/sm/exec/float_functions.h"
#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/exec/handlers.h"
#include "gpu_model/sm/exec/int_functions.h"
#include "gpu_model/sm/exec/lane_target.h"
#include "gpu_model/sm/exec/operations.h"
#include "gpu_model/sm/exec/special_registers.h"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(                                                                                   \
    __attribute__((                                                                                             \
        target("avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vpopcntdq,avx2,fma,bmi,bmi2,lzcnt,popcnt"))), \
    apply_to = function)
#else
#pragma GCC target( \
    "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx512vpopcntdq,avx2,fma,bmi,bmi2,lzcnt,popcnt,prefer-vector-width=512")
#endif
#define SM_TARGET avx512
namespace gpu::sm::SM_TARGET {
namespace {

constexpr u32 kVectorLanes = 16;

inline __m512i vector_at(const u32* words) {
    __m512i vector;
    __builtin_memcpy(&vector, words, sizeof(vector));
    return vector;
}
// Bit 31 of each lane's word.
inline u32 sign_bits(const u32* words) {
    return u32{_mm512_movepi32_mask(vector_at(words))} |
           u32{_mm512_movepi32_mask(vector_at(words + kVectorLanes))} << kVectorLanes;
}
inline bool any_bits(const u32* words) {
    const __m512i all = _mm512_or_si512(vector_at(words), vector_at(words + kVectorLanes));
    return _mm512_test_epi32_mask(all, all) != 0;
}

}  // namespace
}  // namespace gpu::sm::SM_TARGET
#include "gpu_model/sm/exec/lanes.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
