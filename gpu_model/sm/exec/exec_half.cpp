// Packed half precision: two lanes of 16 bits in a register, each with one rounding.
#include "gpu_model/sm/exec/float_functions.h"
#include "gpu_model/sm/exec/int_functions.h"
#include "gpu_model/sm/exec/operations.h"

namespace gpu::sm {

using sass::Mod;
using soft::kF16;
using soft::kF32;
using soft::Round;

namespace {

constexpr u32 kNan16 = 0x7fff;
constexpr u32 kOne16 = 0x3c00;
constexpr u32 kHalfMask = 0xffff;

enum Select : u8 { Both = 0, Single = 1, Low = 2, High = 3 };

// A packed source: which half each result half takes, and its modifiers.
struct HalfSource {
    const u32* row;
    u32 shift[2];
    u32 keep = kHalfMask, flip = 0;

    u32 operator()(u32 lane, u32 half) const { return ((row[lane] >> shift[half] & kHalfMask) & keep) ^ flip; }
};

// False: a selection that nobody models, and the trap is raised.
bool half_source(Exec& x, Slot& s, const sass::Source& source, u32 place, HalfSource& out) {
    out.row = x.src(s, source, place);
    if (source.select == Single) {
        x.trap(s, TrapReason::UNMODELLED, x.lanes, 0, "a single-precision source of a packed half operation");
        return false;
    }
    out.shift[0] = source.select == High ? 16 : 0;
    out.shift[1] = source.select == Low ? 0 : 16;
    if (source.absolute) out.keep = kHalfMask >> 1;
    if (source.negate) out.flip = static_cast<u32>(kF16.sign_bit());
    return true;
}

struct HalfRules {
    bool ftz, fmz, sat;

    u32 input(u32 bits) const { return ftz || fmz ? static_cast<u32>(kF16.flush(bits)) : bits; }
    u32 output(u64 bits) const {
        if (kF16.is_nan(bits)) return sat ? 0 : kNan16;
        if (ftz || fmz) bits = kF16.flush(bits);
        if (sat) {
            if ((bits & kF16.sign_bit()) != 0) return 0;
            if (bits > kOne16) return kOne16;
        }
        return static_cast<u32>(bits);
    }
};

template <typename F>
void each_half(Exec& x, u32 rd, F f) {
    u32* d = x.dst(rd);
    for_lanes(x.lanes, [&](u32 lane) { d[lane] = f(lane, u32{0}) | f(lane, u32{1}) << 16; });
}

// The forms with .F32: one result in single precision from the halves that the low half of the usual result takes, as
// HADD2.F32 widens a half. value: of a lane, as single-precision bits.
template <typename F>
void each_single(Exec& x, u32 rd, const HalfRules& rules, F value) {
    u32* d = x.dst(rd);
    for_lanes(x.lanes, [&](u32 lane) { d[lane] = rules.sat ? saturate32(value(lane)) : value(lane); });
}
u32 widened(u32 half) {
    return kF16.is_nan(half) ? kNan32 : static_cast<u32>(soft::convert(kF16, kF32, half, Round::Nearest));
}

u32 half_multiply_add(u32 a, u32 b, u32 c, const HalfRules& rules) {
    a = rules.input(a), b = rules.input(b), c = rules.input(c);
    if (rules.fmz && (kF16.is_zero(a) || kF16.is_zero(b))) a = 0, b = 0;
    if (kF16.is_nan(a) || kF16.is_nan(b) || kF16.is_nan(c)) return rules.output(kNan16);
    return rules.output(soft::multiply_add(kF16, a, b, c, Round::Nearest, kNan16));
}

}  // namespace

void op_hadd2(Exec& x, Slot& s) {
    HalfSource a, b;
    if (!half_source(x, s, s.in.a, 0, a) || !half_source(x, s, s.in.b, 1, b)) return;
    const HalfRules rules{s.in.mod<Mod::Ftz>() != 0, false, s.in.mod<Mod::Sat>() != 0};
    const auto sum = [&](u32 p, u32 q) -> u64 {
        if (kF16.is_nan(p) || kF16.is_nan(q)) return kNan16;
        return soft::add(kF16, p, q, Round::Nearest, kNan16);
    };
    if (s.in.mod<Mod::HalfF32>() != 0) {
        each_single(x, s.in.rd, rules, [&](u32 lane) {
            const u32 p = widened(rules.input(a(lane, 0))), q = widened(rules.input(b(lane, 0)));
            if (is_nan32(p) || is_nan32(q)) return kNan32;
            return static_cast<u32>(soft::add(kF32, p, q, Round::Nearest, kNan32));
        });
        return;
    }
    each_half(x, s.in.rd, [&](u32 lane, u32 half) {
        return rules.output(sum(rules.input(a(lane, half)), rules.input(b(lane, half))));
    });
}

void op_hmul2(Exec& x, Slot& s) {
    HalfSource a, b;
    if (!half_source(x, s, s.in.a, 0, a) || !half_source(x, s, s.in.b, 1, b)) return;
    const HalfRules rules{s.in.mod<Mod::Ftz>() != 0, s.in.mod<Mod::Fmz>() != 0, s.in.mod<Mod::Sat>() != 0};
    if (s.in.mod<Mod::HalfF32>() != 0) {
        // Guess: as HADD2.F32, which alone the compiler emits. A product of two halves is exact.
        each_single(x, s.in.rd, rules, [&](u32 lane) {
            const u32 p = widened(rules.input(a(lane, 0))), q = widened(rules.input(b(lane, 0)));
            if (rules.fmz && (kF32.is_zero(p) || kF32.is_zero(q))) return u32{0};
            if (is_nan32(p) || is_nan32(q)) return kNan32;
            return static_cast<u32>(soft::multiply(kF32, p, q, Round::Nearest, kNan32));
        });
        return;
    }
    each_half(x, s.in.rd, [&](u32 lane, u32 half) {
        const u32 p = rules.input(a(lane, half)), q = rules.input(b(lane, half));
        if (rules.fmz && (kF16.is_zero(p) || kF16.is_zero(q))) return u32{0};
        if (kF16.is_nan(p) || kF16.is_nan(q)) return rules.output(kNan16);
        return rules.output(soft::multiply(kF16, p, q, Round::Nearest, kNan16));
    });
}

void op_hfma2(Exec& x, Slot& s) {
    HalfSource a, b, c;
    if (!half_source(x, s, s.in.a, 0, a) || !half_source(x, s, s.in.b, 1, b) || !half_source(x, s, s.in.c, 2, c))
        return;
    const HalfRules rules{s.in.mod<Mod::Ftz>() != 0, s.in.mod<Mod::Fmz>() != 0, s.in.mod<Mod::Sat>() != 0};
    if (s.in.mod<Mod::HalfF32>() != 0) {
        // Guess: as HADD2.F32.
        each_single(x, s.in.rd, rules, [&](u32 lane) {
            u32 p = widened(rules.input(a(lane, 0))), q = widened(rules.input(b(lane, 0)));
            const u32 r = widened(rules.input(c(lane, 0)));
            if (rules.fmz && (kF32.is_zero(p) || kF32.is_zero(q))) p = q = 0;
            if (is_nan32(p) || is_nan32(q) || is_nan32(r)) return kNan32;
            return static_cast<u32>(soft::multiply_add(kF32, p, q, r, Round::Nearest, kNan32));
        });
        return;
    }
    each_half(x, s.in.rd, [&](u32 lane, u32 half) {
        return half_multiply_add(a(lane, half), b(lane, half), c(lane, half), rules);
    });
}

namespace {

// Lane masks of the comparison of the low and of the high halves.
struct HalfCompare {
    u32 result[2]{};
};
HalfCompare compare_halves(Exec& x, Slot& s) {
    HalfCompare out;
    HalfSource a, b;
    if (!half_source(x, s, s.in.a, 0, a) || !half_source(x, s, s.in.b, 1, b)) return out;
    const HalfRules rules{s.in.mod<Mod::Ftz>() != 0, false, false};
    const u32 cmp = s.in.mod<Mod::CmpFloat>();
    for_lanes(x.lanes, [&](u32 lane) {
        for (u32 half = 0; half < 2; ++half) {
            const u32 p = rules.input(a(lane, half)), q = rules.input(b(lane, half));
            bool result = false;
            if (kF16.is_nan(p) || kF16.is_nan(q)) {
                result = (cmp & 8) != 0;
            } else {
                // As integers with the negative numbers mirrored; both zeroes are 0.
                const auto key = [](u32 bits) {
                    const i32 magnitude = static_cast<i32>(bits & (kHalfMask >> 1));
                    return (bits & kF16.sign_bit()) != 0 ? -magnitude : magnitude;
                };
                result = ((cmp & 1) != 0 && key(p) < key(q)) || ((cmp & 2) != 0 && key(p) == key(q)) ||
                         ((cmp & 4) != 0 && key(p) > key(q));
            }
            out.result[half] |= result ? lane_bit(lane) : 0;
        }
    });
    return out;
}

}  // namespace

void op_hset2(Exec& x, Slot& s) {
    const HalfCompare compared = compare_halves(x, s);
    if (x.event == Event::Trap) return;
    const u32 op = s.in.mod<Mod::BoolOpHalf>(), p = x.pred(s.pp);
    const u32 yes = s.in.mod<Mod::BoolFloat>() != 0 ? kOne16 : kHalfMask;
    each_half(x, s.in.rd, [&](u32 lane, u32 half) {
        return (combine(op, compared.result[half], p) >> lane & 1) != 0 ? yes : u32{0};
    });
}

void op_hsetp2(Exec& x, Slot& s) {
    const HalfCompare compared = compare_halves(x, s);
    if (x.event == Event::Trap) return;
    const u32 op = s.in.mod<Mod::BoolOpHalf>(), p = x.pred(s.pp);
    const u32 low = compared.result[0], high = compared.result[1];
    if (s.in.mod<Mod::HalfAnd>() != 0) {
        x.set_preds(s, combine(op, low & high, p), combine(op, ~(low & high), p));
    } else {
        x.set_preds(s, combine(op, low, p), combine(op, high, p));
    }
}

}  // namespace gpu::sm
