// Single precision with rules, over the integer arithmetic.
#include "gpu_model/sm/exec/float_functions.h"

namespace gpu::sm {
namespace {

using soft::kF32;

u32 input(u32 bits, const FloatRules& rules) {
    return rules.ftz || rules.fmz ? flush32(bits) : bits;
}
u32 output(u64 bits, const FloatRules& rules) {
    u32 result = static_cast<u32>(bits);
    if (is_nan32(result)) result = kNan32;
    if (rules.ftz || rules.fmz) result = flush32(result);
    return rules.sat ? saturate32(result) : result;
}

}  // namespace

u32 fadd32(u32 a, u32 b, const FloatRules& rules) {
    a = input(a, rules), b = input(b, rules);
    if (is_nan32(a) || is_nan32(b)) return output(kNan32, rules);
    return output(soft::add(kF32, a, b, rules.round, kNan32), rules);
}

u32 fmul32(u32 a, u32 b, const FloatRules& rules) {
    a = input(a, rules), b = input(b, rules);
    if (rules.fmz && (kF32.is_zero(a) || kF32.is_zero(b))) return 0;
    if (is_nan32(a) || is_nan32(b)) return output(kNan32, rules);
    return output(soft::multiply(kF32, a, b, rules.round, kNan32, rules.scale), rules);
}

u32 ffma32(u32 a, u32 b, u32 c, const FloatRules& rules) {
    a = input(a, rules), b = input(b, rules), c = input(c, rules);
    if (rules.fmz && (kF32.is_zero(a) || kF32.is_zero(b))) a = 0, b = 0;
    if (is_nan32(a) || is_nan32(b) || is_nan32(c)) return output(kNan32, rules);
    return output(soft::multiply_add(kF32, a, b, c, rules.round, kNan32), rules);
}

}  // namespace gpu::sm
