// The vector operations for hosts with AVX2. The target begins after the headers, so that no inline function of theirs
// is compiled for a host that another file must not assume.
#include "gpu_model/sm/exec/exec.h"
#include "gpu_model/sm/exec/float_functions.h"
#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/exec/handlers.h"
#include "gpu_model/sm/exec/int_functions.h"
#include "gpu_model/sm/exec/lane_target.h"
#include "gpu_model/sm/exec/operations.h"

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,lzcnt,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt")
#endif
#define SM_TARGET avx2
#include "gpu_model/sm/exec/lanes.inc"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
