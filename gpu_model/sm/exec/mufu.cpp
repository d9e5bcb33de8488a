// The multifunction interpolator of an H200, whose every measured result these tables reproduce (tools/gen_mufu_tables.py): RCP,
// RSQ, SQRT, EX2, LG2, SIN, COS and TANH for all fractions of an argument, RCP64H and RSQ64H likewise. A segment's quadratic takes
// the argument's lowest 17 bits; its square leaves out the products of bits whose weight is below 2^19, as in Oberman and Siu, "A
// High-Performance Area-Efficient Multifunction Interpolator" (2005). That Turing's tables hold the same numbers is not known.
// Special values follow the PTX manual, and equal the H200's, too.
#include "gpu_model/sm/exec/mufu.h"

#include <algorithm>
#include <array>
#include <bit>

#include "gpu_model/sm/exec/float_functions.h"

namespace gpu::sm {
namespace {

enum Table : u8 { RCP, RSQ, SQRT, EX2, LG2, SIN, TANH };

struct Segment {
    Table table;
    i64 c0;
    i32 c1, c2;
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

constexpr unsigned kArgumentBits = 17;
constexpr u32 kArgumentMask = (u32{1} << kArgumentBits) - 1;
constexpr unsigned kSquareCut = 19;  // lowest weight of the products that the square keeps

// The square of 17 bits without its light products: of bits i < j those with i + j + 1 < 19, of a bit with itself those
// with 2 * i < 19.
constexpr i64 kept_square(u32 x) {
    constexpr unsigned light_bits = (kSquareCut + 1) / 2;
    u64 left_out = 0;
    for (unsigned i = 0; i < light_bits; ++i) {
        const u64 bit = x >> i & 1;
        // Partners above i and below 18 - i.
        const u32 reach = kSquareCut - 1 - i;
        const u64 partners = reach > i + 1 ? (x & ((u32{1} << reach) - 1)) >> (i + 1) : 0;
        left_out += bit * ((partners << (2 * i + 2)) + (u64{1} << 2 * i));
    }
    return static_cast<i64>(u64{x} * x - left_out);
}

// In units of 2^-17 of the table's results.
i64 interpolate(Table table, u64 segment, u32 x) {
    const Segment& s = kSegments[kFirst[table] + segment];
    return s.c0 + i64{s.c1} * x + (s.c2 * kept_square(x) >> (kArgumentBits + 1));
}

constexpr u32 kFractionBits = 23;
constexpr u32 kFractionMask = (u32{1} << kFractionBits) - 1;
constexpr i32 kBias = 127;
constexpr u32 kMinusInfinity = kSign32 | kInfinity32;

i32 exponent_of(u32 bits) {
    return static_cast<i32>(bits >> kFractionBits & 0xff) - kBias;
}

// A result of the tables RCP to EX2, the bits of a float near one. `fraction` counts 2^-23; the table has 2^segment_bits segments,
// beginning with `first`.
i64 mantissa(Table table, u32 fraction, unsigned segment_bits, u32 first = 0) {
    const unsigned rest = kFractionBits - segment_bits;
    // Fewer than 17 bits lie at the top of the argument.
    const u32 x = fraction << (kArgumentBits - rest) & kArgumentMask;
    return interpolate(table, first + (fraction >> rest), x) >> kArgumentBits;
}
constexpr unsigned kRcpSegmentBits = 7, kSegmentBits = 6;
constexpr u32 kOddExponent = u32{1} << kSegmentBits;  // the second half of RSQ and SQRT

// Table results are bits of a float near one; `exponent` more powers of two. Overflow is infinite, underflow zero.
u32 scaled(i64 bits, i32 exponent, u32 sign) {
    const i64 result = bits + (i64{exponent} << kFractionBits);
    if (result >= i64{kInfinity32}) return sign | kInfinity32;
    if (result < i64{1} << kFractionBits) return sign;
    return sign | static_cast<u32>(result);
}

// A count of 2^-unit as a float, truncated. Precondition: value >= 0.
u32 from_fixed(i64 value, unsigned unit) {
    if (value == 0) return 0;
    return static_cast<u32>(
        soft::pack(soft::kF32, false, static_cast<u64>(value), -static_cast<i32>(unit), soft::Round::Zero));
}

u32 reciprocal(u32 bits) {
    const u32 sign = bits & kSign32, magnitude = bits & ~kSign32;
    if (magnitude == 0) return sign | kInfinity32;
    if (magnitude == kInfinity32) return sign;
    const u32 fraction = magnitude & kFractionMask;
    // Powers of two are exact.
    const i64 result = fraction == 0 ? i64{kOne32} : mantissa(RCP, fraction, kRcpSegmentBits);
    return scaled(result, -exponent_of(magnitude), sign);
}

u32 reciprocal_root(u32 bits) {
    if ((bits & ~kSign32) == 0) return bits | kInfinity32;
    if ((bits & kSign32) != 0) return kNan32;
    if (bits == kInfinity32) return 0;
    const i32 exponent = exponent_of(bits);
    const u32 fraction = bits & kFractionMask;
    if ((exponent & 1) != 0)
        return scaled(mantissa(RSQ, fraction, kSegmentBits, kOddExponent), -((exponent - 1) / 2), 0);
    const i64 even = fraction == 0 ? i64{kOne32} : mantissa(RSQ, fraction, kSegmentBits);
    return scaled(even, -(exponent / 2), 0);
}

u32 root(u32 bits) {
    if ((bits & ~kSign32) == 0) return bits;
    if ((bits & kSign32) != 0) return kNan32;
    if (bits == kInfinity32) return bits;
    const i32 exponent = exponent_of(bits);
    const u32 fraction = bits & kFractionMask;
    if ((exponent & 1) != 0)
        return scaled(mantissa(SQRT, fraction, kSegmentBits, kOddExponent), (exponent - 1) / 2, 0);
    const i64 even = fraction == 0 ? i64{kOne32} : mantissa(SQRT, fraction, kSegmentBits);
    return scaled(even, exponent / 2, 0);
}

u32 logarithm(u32 bits) {
    if ((bits & ~kSign32) == 0) return kMinusInfinity;
    if ((bits & kSign32) != 0) return kNan32;
    if (bits == kInfinity32) return bits;
    const u32 fraction = bits & kFractionMask;
    if (bits == kOne32) return 0;
    constexpr unsigned unit = 22 + kArgumentBits;
    // The sum has three bits less than the table's products. A negative one becomes its magnitude by complement, whole numbers
    // too: of 1/4 the result is not -2, but the next number.
    constexpr i64 left_out = 7;
    const i64 sum = (i64{exponent_of(bits)} << unit) + interpolate(LG2, fraction >> kArgumentBits, fraction & kArgumentMask);
    return sum >= 0 ? from_fixed(sum & ~left_out, unit) : kSign32 | from_fixed(~(sum | left_out), unit);
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
                                     : mantissa(EX2, fraction, kSegmentBits);
    return scaled(result, whole - 1, 0);
}

// Turns are counted in 2^-25: measured sines are a function of that many bits exactly.
constexpr i32 kTurnBits = 25;
constexpr u32 kQuarterTurn = u32{1} << (kTurnBits - 2);

constexpr unsigned kSineUnit = 24 + kArgumentBits;

// Sine of a count of 2^-25 turns. The second quarter is the first read backwards, by complement; the third and fourth are the
// first two with a sign, zero too.
u32 sine(u32 turns) {
    u32 t = turns & (2 * kQuarterTurn - 1);
    if (t >= kQuarterTurn) t = 2 * kQuarterTurn - 1 - t;
    const u32 magnitude = from_fixed(interpolate(SIN, t >> kArgumentBits, t & kArgumentMask), kSineUnit);
    return (turns & 2 * kQuarterTurn) != 0 ? kSign32 | magnitude : magnitude;
}

u32 wave(u32 bits, bool cosine) {
    const u32 sign = bits & kSign32, magnitude = bits & ~kSign32;
    if (magnitude == kInfinity32) return kNan32;
    const u64 significand = (magnitude & kFractionMask) | (u32{1} << kFractionBits);
    const i32 shift = exponent_of(magnitude) + kTurnBits - static_cast<i32>(kFractionBits);
    u32 turns = 0;
    if (magnitude != 0 && shift < kTurnBits && shift > -static_cast<i32>(kFractionBits) - 1)
        turns = static_cast<u32>(shift >= 0 ? significand << shift : significand >> -shift);
    // The sign does not reach the table: sines are odd and cosines even.
    const u32 result = sine(cosine ? turns + kQuarterTurn : turns);
    return cosine ? result : result ^ sign;
}

u32 hyperbolic_tangent(u32 bits) {
    constexpr i32 least = -8, most = 2;  // powers of two that have segments
    // How many bits of a fraction count in each, and the first of its segments.
    constexpr u8 counted[] = {17, 17, 17, 18, 18, 19, 19, 19, 20, 21, 20};
    constexpr u8 first[] = {0, 1, 2, 3, 5, 7, 11, 15, 19, 27, 43};
    constexpr unsigned unit = 31 + kArgumentBits;
    const u32 sign = bits & kSign32, magnitude = bits & ~kSign32;
    const i32 exponent = exponent_of(magnitude);
    if (magnitude == 0) return sign;
    if (exponent > most) return sign | kOne32;
    // Below the first segment the function is its argument, denormals too.
    if (exponent < least) return bits;
    const u32 row = static_cast<u32>(exponent - least);
    const u32 fraction = (magnitude & kFractionMask) >> (kFractionBits - counted[row]);
    return sign | from_fixed(interpolate(TANH, first[row] + (fraction >> kArgumentBits), fraction & kArgumentMask), unit);
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
    // The single-precision tables, three bits of whose results are left out.
    constexpr unsigned more = kFractionBits - kFractionBits64;
    const u32 fraction = (magnitude & kFractionMask64) << more;
    const auto narrowed = [](i64 single) { return ((single - i64{kOne32}) >> more) + i64{kOne64}; };
    if (!is_root) {
        const i64 result = fraction == 0 ? i64{kOne64} : narrowed(mantissa(RCP, fraction, kRcpSegmentBits));
        return scaled64(result, -exponent, sign);
    }
    if ((exponent & 1) != 0)
        return scaled64(narrowed(mantissa(RSQ, fraction, kSegmentBits, kOddExponent)), -((exponent - 1) / 2), 0);
    return scaled64(fraction == 0 ? i64{kOne64} : narrowed(mantissa(RSQ, fraction, kSegmentBits)), -(exponent / 2), 0);
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
