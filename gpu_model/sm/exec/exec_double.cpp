// Double precision: round to nearest by the host's exact operations, the other modes in integers. A NaN result is
// an operand made quiet: the last NaN of a sum or product, of DFMA the second factor before the addend before the first factor.
// An invalid operation gives the default NaN.
#include <cmath>

#include "gpu_model/sm/exec/int_functions.h"
#include "gpu_model/sm/exec/operations.h"
#include "gpu_model/sm/exec/soft_float.h"

namespace gpu::sm {

using sass::Mod;
using soft::kF64;

namespace {

constexpr u64 kInvalid64 = 0xfff8'0000'0000'0000;

// A 64-bit source with its modifiers.
struct WideSource {
    const u32* lo;
    const u32* hi;
    u64 keep = ~u64{0}, flip = 0;

    // A NaN keeps its sign.
    u64 operator()(u32 lane) const {
        const u64 bits = u64{hi[lane]} << 32 | lo[lane];
        return kF64.is_nan(bits) ? bits : (bits & keep) ^ flip;
    }
};

WideSource wide_source(Exec& x, Slot& s, const sass::Source& source, u32 place) {
    WideSource wide{};
    if (source.kind == sass::SourceKind::Immediate) {
        // An immediate is the high word; the low one is zero.
        wide.lo = x.reg(sass::kRz);
        wide.hi = s.row.lane;
    } else {
        wide.lo = x.src(s, source, place);
        wide.hi = x.src_high(s, source, place, 0);
    }
    if (source.absolute) wide.keep = ~kF64.sign_bit();
    if (source.negate) wide.flip = kF64.sign_bit();
    return wide;
}

u64 quiet(u64 nan) {
    return nan | kF64.quiet_bit();
}

template <typename F>
void each_double(Exec& x, u32 rd, F f) {
    u32* lo = x.dst(rd);
    u32* hi = x.dst_pair(rd);
    for_lanes(x.lanes, [&](u32 lane) {
        const u64 r = f(lane);
        lo[lane] = static_cast<u32>(r);
        hi[lane] = static_cast<u32>(r >> 32);
    });
}

double as_double(u64 bits) {
    return std::bit_cast<double>(bits);
}
u64 result_bits(double value) {
    return std::isnan(value) ? kInvalid64 : std::bit_cast<u64>(value);
}

}  // namespace

void op_dadd(Exec& x, Slot& s) {
    const WideSource a = wide_source(x, s, s.in.a, 0), b = wide_source(x, s, s.in.c, 2);
    const auto round = static_cast<soft::Round>(s.in.mod<Mod::Round>());
    each_double(x, s.in.rd, [&](u32 lane) {
        const u64 p = a(lane), q = b(lane);
        if (kF64.is_nan(q)) return quiet(q);
        if (kF64.is_nan(p)) return quiet(p);
        if (round != soft::Round::Nearest) return soft::add(kF64, p, q, round, kInvalid64);
        return result_bits(as_double(p) + as_double(q));
    });
}

void op_dmul(Exec& x, Slot& s) {
    const WideSource a = wide_source(x, s, s.in.a, 0), b = wide_source(x, s, s.in.b, 1);
    const auto round = static_cast<soft::Round>(s.in.mod<Mod::Round>());
    each_double(x, s.in.rd, [&](u32 lane) {
        const u64 p = a(lane), q = b(lane);
        if (kF64.is_nan(q)) return quiet(q);
        if (kF64.is_nan(p)) return quiet(p);
        if (round != soft::Round::Nearest) return soft::multiply(kF64, p, q, round, kInvalid64);
        return result_bits(as_double(p) * as_double(q));
    });
}

void op_dfma(Exec& x, Slot& s) {
    const WideSource a = wide_source(x, s, s.in.a, 0), b = wide_source(x, s, s.in.b, 1);
    const WideSource c = wide_source(x, s, s.in.c, 2);
    const auto round = static_cast<soft::Round>(s.in.mod<Mod::Round>());
    each_double(x, s.in.rd, [&](u32 lane) {
        const u64 p = a(lane), q = b(lane), r = c(lane);
        if (kF64.is_nan(q)) return quiet(q);
        if (kF64.is_nan(r)) return quiet(r);
        if (kF64.is_nan(p)) return quiet(p);
        if (round != soft::Round::Nearest) return soft::multiply_add(kF64, p, q, r, round, kInvalid64);
        return result_bits(std::fma(as_double(p), as_double(q), as_double(r)));
    });
}

void op_dsetp(Exec& x, Slot& s) {
    enum Compare : u32 { Min = 0, Max = 15 };
    const WideSource a = wide_source(x, s, s.in.a, 0), b = wide_source(x, s, s.in.b, 1);
    const u32 cmp = s.in.mod<Mod::CmpDouble>();
    u32 first = 0, second = 0;
    for_lanes(x.lanes, [&](u32 lane) {
        const double p = as_double(a(lane)), q = as_double(b(lane));
        const bool p_nan = std::isnan(p), q_nan = std::isnan(q);
        bool result;
        if (cmp == Min || cmp == Max) {
            // Whether to choose the first operand; the second answer says that there is no number to choose.
            result = (cmp == Min ? p < q : p > q) || (q_nan && !p_nan);
            second |= p_nan && q_nan ? lane_bit(lane) : 0;
        } else {
            result = ((cmp & 1) != 0 && p < q) || ((cmp & 2) != 0 && p == q) || ((cmp & 4) != 0 && p > q) ||
                     ((cmp & 8) != 0 && (p_nan || q_nan));
            second |= result ? 0 : lane_bit(lane);
        }
        first |= result ? lane_bit(lane) : 0;
    });
    const u32 op = s.in.mod<Mod::BoolOp>(), p = x.pred(s.pp);
    const bool chooses = cmp == Min || cmp == Max;
    x.set_preds(s, combine(op, first, p), chooses ? second : combine(op, second, p));
}

}  // namespace gpu::sm
