// Integer reductions by plain arithmetic; FADD is one IEEE single addition with a canonical NaN, the same on every
// host.
#include "gpu_model/mem/reduction.h"

#include <bit>
#include <cmath>

namespace gpu {

namespace {

// Min, max and the bitwise operations, which both widths share.
template <typename Word, typename Signed>
bool reduce_common(Reduction op, bool is_signed, Word memory, Word operand, Word& out) {
    bool less = is_signed ? static_cast<Signed>(memory) < static_cast<Signed>(operand) : memory < operand;
    switch (op) {
        case Reduction::Imin:
            out = less ? memory : operand;
            return true;
        case Reduction::Imax:
            out = less ? operand : memory;
            return true;
        case Reduction::Ixor:
            out = memory ^ operand;
            return true;
        case Reduction::Iand:
            out = memory & operand;
            return true;
        case Reduction::Ior:
            out = memory | operand;
            return true;
        case Reduction::Iadd:
            out = memory + operand;
            return true;
        default:
            return false;
    }
}

u32 add_float(u32 a, u32 b) {
    constexpr u32 kCanonicalNan = 0x7FFFFFFF;
    float sum = std::bit_cast<float>(a) + std::bit_cast<float>(b);
    return std::isnan(sum) ? kCanonicalNan : std::bit_cast<u32>(sum);
}

}  // namespace

bool reduce_u32(Reduction op, bool is_signed, u32 memory, u32 operand, u32& out) {
    switch (op) {
        case Reduction::Inc:
            out = memory >= operand ? 0 : memory + 1;
            return !is_signed;
        case Reduction::Dec:
            out = memory == 0 || memory > operand ? operand : memory - 1;
            return !is_signed;
        case Reduction::Fadd:
            out = add_float(memory, operand);
            return true;
        default:
            return reduce_common<u32, i32>(op, is_signed, memory, operand, out);
    }
}

bool reduce_u64(Reduction op, bool is_signed, u64 memory, u64 operand, u64& out) {
    if (op == Reduction::Iadd && is_signed) return false;
    return reduce_common<u64, i64>(op, is_signed, memory, operand, out);
}

}  // namespace gpu
