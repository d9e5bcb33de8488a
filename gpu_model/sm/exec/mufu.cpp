// Piecewise quadratics through measured results of an H200. Of all inputs in the measured ranges so many are equal bit for
// bit (tools/gen_mufu_tables.py prints them), and the others differ by so much:
//   RCP 99%, RSQ 98%, SQRT 99%, EX2 98%, RCP64H and RSQ64H 99%: 1 unit in the last place
//   LG2 88 to 99%: 1 unit, but near 1, where the result is within 2^-22
//   SIN, COS 89%: 1 unit, but near 0, where the result is within 2^-24; the reduction of the angle is exact
//   TANH 3 to 87%, better the larger the argument: within 2^-18
// Special values follow the PTX manual.
#include "gpu_model/sm/exec/mufu.h"

#include <algorithm>
#include <array>
#include <bit>

#include "gpu_model/sm/exec/float_functions.h"

namespace gpu::sm {
namespace {

enum Table : u8 { RCP, RSQ_EVEN, RSQ_ODD, SQRT_EVEN, SQRT_ODD, RCP64H, RSQ64H_EVEN, RSQ64H_ODD, EX2, LG2, SIN, TANH };

struct Segment {
    Table table;
    i64 c0, c1, c2;
};
constexpr Segment kSegments[] = {
#define MUFU_SEGMENT(table, c0, c1, c2) {table, c0, c1, c2},
#include "gpu_model/sm/exec/mufu_segments.def"
#undef MUFU_SEGMENT
};

// Where each table begins.
constexpr auto kFirst = [] {
    std::array<std::size_t, TANH + 1> first{};
    for (std::size_t i = std::size(kSegments); i-- > 0;) first[kSegments[i].table] = i;
    return first;
}();

constexpr unsigned kMantissaFraction = 30;  // fraction bits of coefficients whose result is a mantissa
constexpr unsigned kFixedFraction = 12;     // and of those whose result is a fixed-point number
constexpr unsigned kFixed = 40;             // which counts 2^-40

template <Table T>
i64 interpolate(u64 segment, u64 x, unsigned x_bits, unsigned fraction) {
    const Segment& s = kSegments[kFirst[T] + segment];
    const i64 step = static_cast<i64>(x), square = static_cast<i64>(x * x >> x_bits);
    return (s.c0 + s.c1 * step + s.c2 * square) >> fraction;
}

// The fraction of a float (or of a double's high word) through a table of 2^segment_bits segments.
template <Table T>
i64 of_fraction(u32 fraction, unsigned total_bits, unsigned segment_bits, unsigned coefficient_fraction) {
    const unsigned x_bits = total_bits - segment_bits;
    return interpolate<T>(fraction >> x_bits, fraction & ((u32{1} << x_bits) - 1), x_bits, coefficient_fraction);
}

constexpr u32 kFractionBits = 23;
constexpr u32 kFractionMask = (u32{1} << kFractionBits) - 1;
constexpr i32 kBias = 127;
constexpr u32 kMinusInfinity = kSign32 | kInfinity32;

i32 exponent_of(u32 bits) {
    return static_cast<i32>(bits >> kFractionBits & 0xff) - kBias;
}

// Table results are bits of a float near one; `exponent` more powers of two. Overflow is infinite, underflow zero.
u32 scaled(i64 bits, i32 exponent, u32 sign) {
    const i64 result = bits + (i64{exponent} << kFractionBits);
    if (result >= i64{kInfinity32}) return sign | kInfinity32;
    if (result < i64{1} << kFractionBits) return sign;
    return sign | static_cast<u32>(result);
}

// A fixed-point number as a float, truncated.
u32 from_fixed(i64 value) {
    if (value == 0) return 0;
    const bool negative = value < 0;
    const u64 magnitude = static_cast<u64>(negative ? -value : value);
    return static_cast<u32>(soft::pack(soft::kF32, negative, magnitude, -static_cast<i32>(kFixed), soft::Round::Zero));
}

u32 reciprocal(u32 bits) {
    const u32 sign = bits & kSign32, magnitude = bits & ~kSign32;
    if (magnitude == 0) return sign | kInfinity32;
    if (magnitude == kInfinity32) return sign;
    const u32 fraction = magnitude & kFractionMask;
    // Powers of two are exact.
    const i64 result = fraction == 0 ? i64{kOne32} : of_fraction<RCP>(fraction, kFractionBits, 7, kMantissaFraction);
    return scaled(result, -exponent_of(magnitude), sign);
}

u32 reciprocal_root(u32 bits) {
    if ((bits & ~kSign32) == 0) return bits | kInfinity32;
    if ((bits & kSign32) != 0) return kNan32;
    if (bits == kInfinity32) return 0;
    const i32 exponent = exponent_of(bits);
    const u32 fraction = bits & kFractionMask;
    if ((exponent & 1) != 0)
        return scaled(of_fraction<RSQ_ODD>(fraction, kFractionBits, 6, kMantissaFraction), -((exponent - 1) / 2), 0);
    const i64 even = fraction == 0 ? i64{kOne32} : of_fraction<RSQ_EVEN>(fraction, kFractionBits, 6, kMantissaFraction);
    return scaled(even, -(exponent / 2), 0);
}

u32 root(u32 bits) {
    if ((bits & ~kSign32) == 0) return bits;
    if ((bits & kSign32) != 0) return kNan32;
    if (bits == kInfinity32) return bits;
    const i32 exponent = exponent_of(bits);
    const u32 fraction = bits & kFractionMask;
    if ((exponent & 1) != 0)
        return scaled(of_fraction<SQRT_ODD>(fraction, kFractionBits, 6, kMantissaFraction), (exponent - 1) / 2, 0);
    const i64 even =
        fraction == 0 ? i64{kOne32} : of_fraction<SQRT_EVEN>(fraction, kFractionBits, 6, kMantissaFraction);
    return scaled(even, exponent / 2, 0);
}

u32 logarithm(u32 bits) {
    if ((bits & ~kSign32) == 0) return kMinusInfinity;
    if ((bits & kSign32) != 0) return kNan32;
    if (bits == kInfinity32) return bits;
    const u32 fraction = bits & kFractionMask;
    const i64 part = fraction == 0 ? 0 : of_fraction<LG2>(fraction, kFractionBits, 6, kFixedFraction);
    return from_fixed((i64{exponent_of(bits)} << kFixed) + std::max(part, i64{0}));
}

u32 power_of_two(u32 bits) {
    constexpr i32 exponent_limit = 8;  // beyond 2^8 every result is zero or infinite
    const bool negative = (bits & kSign32) != 0;
    const i32 exponent = exponent_of(bits);
    if ((bits & ~kSign32) == 0) return kOne32;
    if (exponent >= exponent_limit) return negative ? 0 : kInfinity32;
    // Fixed point with 23 fraction bits; a negative one is the complement of its magnitude, as the measurements show.
    const i64 significand = i64{(bits & kFractionMask) | (u32{1} << kFractionBits)};
    const i64 magnitude = exponent >= 0 ? significand << exponent : significand >> std::min(-exponent, 40);
    const bool is_whole = (magnitude & kFractionMask) == 0;
    const i64 fixed = !negative ? magnitude : is_whole ? -magnitude : ~magnitude;
    const i32 whole = static_cast<i32>(fixed >> kFractionBits);
    const u32 fraction = static_cast<u32>(fixed) & kFractionMask;
    // The table was measured from 1 to 2, so its results are twice the power of the fraction.
    const i64 result = fraction == 0 ? i64{kOne32} + (i64{1} << kFractionBits)
                                     : of_fraction<EX2>(fraction, kFractionBits, 6, kMantissaFraction);
    return scaled(result, whole - 1, 0);
}

// Turns are counted in 2^-25: measured sines are a function of that many bits exactly.
constexpr i32 kTurnBits = 25;
constexpr u32 kQuarterTurn = u32{1} << (kTurnBits - 2);

// Sine of a count of 2^-25 turns. The second quarter is the first read backwards, by complement.
i64 sine(u32 turns) {
    const bool negative = (turns & 2 * kQuarterTurn) != 0;
    u32 t = turns & (2 * kQuarterTurn - 1);
    if (t >= kQuarterTurn) t = 2 * kQuarterTurn - 1 - t;
    constexpr unsigned x_bits = 17;
    i64 value = interpolate<SIN>(t >> x_bits, t & ((u32{1} << x_bits) - 1), x_bits, kFixedFraction);
    // The last seven of a quarter were measured to be one.
    constexpr u32 ones = 7;
    value = t >= kQuarterTurn - ones ? i64{1} << kFixed : std::clamp(value, i64{0}, i64{1} << kFixed);
    return negative ? -value : value;
}

u32 wave(u32 bits, bool cosine) {
    const u32 sign = bits & kSign32, magnitude = bits & ~kSign32;
    if (magnitude == kInfinity32) return kNan32;
    const u64 significand = (magnitude & kFractionMask) | (u32{1} << kFractionBits);
    const i32 shift = exponent_of(magnitude) + kTurnBits - static_cast<i32>(kFractionBits);
    u32 turns = 0;
    if (magnitude != 0 && shift < kTurnBits && shift > -static_cast<i32>(kFractionBits) - 1)
        turns = static_cast<u32>(shift >= 0 ? significand << shift : significand >> -shift);
    // Guess: the sign does not reach the table, so that sines are odd and cosines even; positive angles were measured.
    const u32 result = from_fixed(sine(cosine ? turns + kQuarterTurn : turns));
    return cosine ? result : result ^ sign;
}

u32 hyperbolic_tangent(u32 bits) {
    constexpr i32 least = -10, most = 2;  // powers of two that have segments
    const u32 sign = bits & kSign32, magnitude = bits & ~kSign32;
    const i32 exponent = exponent_of(magnitude);
    if (magnitude == 0) return sign;
    if (exponent > most) return sign | kOne32;
    // Below the first segment the function is its argument, denormals too.
    if (exponent < least) return bits;
    const u32 fraction = magnitude & kFractionMask;
    constexpr unsigned segment_bits = 4, x_bits = kFractionBits - segment_bits;
    const u64 segment = static_cast<u64>(exponent - least) << segment_bits | fraction >> x_bits;
    const i64 value = interpolate<TANH>(segment, fraction & ((u32{1} << x_bits) - 1), x_bits, kFixedFraction);
    return sign | from_fixed(std::min(value, i64{1} << kFixed));
}

// The seeds for double precision: bits are a double's high word.
constexpr u32 kFractionBits64 = 20;
constexpr u32 kFractionMask64 = (u32{1} << kFractionBits64) - 1;
constexpr u32 kInfinity64 = 0x7ff0'0000;
constexpr u32 kOne64 = 0x3ff0'0000;
constexpr i32 kBias64 = 1023;

u32 scaled64(i64 bits, i32 exponent, u32 sign) {
    const i64 result = bits + (i64{exponent} << kFractionBits64);
    if (result >= i64{kInfinity64}) return sign | kInfinity64;
    if (result < i64{1} << kFractionBits64) return sign;
    return sign | static_cast<u32>(result);
}

u32 seed64(u32 bits, bool is_root) {
    const u32 sign = bits & kSign32, magnitude = bits & ~kSign32;
    if (magnitude > kInfinity64) return kNan32;
    if ((magnitude & kInfinity64) == 0) return sign | kInfinity64;  // zero, and denormals as zero
    if (is_root && sign != 0) return kNan32;
    if (magnitude == kInfinity64) return is_root ? 0 : sign;
    const i32 exponent = static_cast<i32>(magnitude >> kFractionBits64) - kBias64;
    const u32 fraction = magnitude & kFractionMask64;
    if (!is_root) {
        const i64 r =
            fraction == 0 ? i64{kOne64} : of_fraction<RCP64H>(fraction, kFractionBits64, 7, kMantissaFraction);
        return scaled64(r, -exponent, sign);
    }
    if ((exponent & 1) != 0)
        return scaled64(of_fraction<RSQ64H_ODD>(fraction, kFractionBits64, 6, kMantissaFraction), -((exponent - 1) / 2),
                        0);
    const i64 even =
        fraction == 0 ? i64{kOne64} : of_fraction<RSQ64H_EVEN>(fraction, kFractionBits64, 6, kMantissaFraction);
    return scaled64(even, -(exponent / 2), 0);
}

}  // namespace

u32 mufu(MufuFunction function, u32 bits) {
    if (function == MufuFunction::Rcp64h || function == MufuFunction::Rsq64h)
        return seed64(bits, function == MufuFunction::Rsq64h);
    if (is_nan32(bits)) return kNan32;
    if (function != MufuFunction::Tanh) bits = flush32(bits);
    switch (function) {
        case MufuFunction::Cos:
            return wave(bits, true);
        case MufuFunction::Sin:
            return wave(bits, false);
        case MufuFunction::Ex2:
            return power_of_two(bits);
        case MufuFunction::Lg2:
            return logarithm(bits);
        case MufuFunction::Rcp:
            return reciprocal(bits);
        case MufuFunction::Rsq:
            return reciprocal_root(bits);
        case MufuFunction::Sqrt:
            return root(bits);
        case MufuFunction::Tanh:
            return hyperbolic_tangent(bits);
        case MufuFunction::Rcp64h:
        case MufuFunction::Rsq64h:
            break;
    }
    return kNan32;
}

}  // namespace gpu::sm
