// The vector operations for hosts with AVX2. The target begins after the headers, so that no inline function of theirs
// is compiled for a host that another file must not assume.
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
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,lzcnt,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt")
#endif
#define SM_TARGET avx2
namespace gpu::sm::SM_TARGET {
namespace {

constexpr u32 kVectorLanes = 8;

inline __m256i vector_at(const u32* words) {
    __m256i vector;
    __builtin_memcpy(&vector, words, sizeof(vector));
    return vector;
}
// Bit 31 of each lane's word.
inline u32 sign_bits(const u32* words) {
    u32 bits = 0;
    for (u32 i = 0; i < kLanes; i += kVectorLanes)
        bits |= static_cast<u32>(_mm256_movemask_ps(_mm256_castsi256_ps(vector_at(words + i)))) << i;
    return bits;
}
inline bool any_bits(const u32* words) {
    __m256i all = vector_at(words);
    for (u32 i = kVectorLanes; i < kLanes; i += kVectorLanes) all = _mm256_or_si256(all, vector_at(words + i));
    return _mm256_testz_si256(all, all) == 0;
}

}  // namespace
}  // namespace gpu::sm::SM_TARGET
#include "gpu_model/sm/exec/lanes.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
