// Integer IEEE arithmetic. Sums keep 126 significant bits and fold everything lower into the lowest of them, which is
// enough for one correct rounding to any format here.
#include "gpu_model/sm/exec/soft_float.h"

#include <algorithm>
#include <bit>

namespace gpu::sm::soft {
namespace {

constexpr i32 kTop = 125;  // place of the highest bit of a normalised summand: leaves room for a carry

i32 top_bit(u128 value) {
    const u64 high = static_cast<u64>(value >> 64);
    if (high != 0) return 127 - std::countl_zero(high);
    return 63 - std::countl_zero(static_cast<u64>(value));
}

// Shift right that keeps "something was there" in the lowest bit.
u128 shift_right_jam(u128 value, i32 shift) {
    if (shift <= 0) return value;
    if (shift > 127) return value != 0 ? 1 : 0;
    const u128 lost = value & ((u128{1} << shift) - 1);
    return value >> shift | (lost != 0 ? 1 : 0);
}

u64 signed_zero(Format format, bool negative) {
    return negative ? format.sign_bit() : 0;
}

bool rounds_up(Round round, bool negative, bool odd, u128 rest, u128 half) {
    switch (round) {
        case Round::Nearest:
            return rest > half || (rest == half && odd);
        case Round::Down:
            return negative && rest != 0;
        case Round::Up:
            return !negative && rest != 0;
        case Round::Zero:
            return false;
    }
    return false;
}

// Integer nearest to significand * 2^exponent in the rounding's sense. Precondition: exponent < 0.
u64 round_fraction(u64 significand, i32 exponent, bool negative, Round round) {
    const i32 shift = -exponent;
    if (shift > 64) return rounds_up(round, negative, false, significand != 0 ? 1 : 0, 2) ? 1 : 0;
    const u128 wide = significand;
    const u64 whole = static_cast<u64>(wide >> shift);
    const u128 rest = wide & ((u128{1} << shift) - 1);
    return whole + (rounds_up(round, negative, (whole & 1) != 0, rest, u128{1} << (shift - 1)) ? 1 : 0);
}

struct Product {
    bool negative;
    u128 significand;
    i32 exponent;
};

u64 sum(Format format, Product p, Finite c, Round round) {
    if (p.significand == 0 && c.significand == 0) {
        if (p.negative == c.negative) return signed_zero(format, p.negative);
        return signed_zero(format, round == Round::Down);
    }
    if (p.significand == 0) return pack(format, c.negative, c.significand, c.exponent, round);
    if (c.significand == 0) return pack(format, p.negative, p.significand, p.exponent, round);
    u128 x = p.significand, y = c.significand;
    const i32 shift_x = kTop - top_bit(x), shift_y = kTop - top_bit(y);
    x <<= shift_x, y <<= shift_y;
    i32 exponent_x = p.exponent - shift_x;
    const i32 exponent_y = c.exponent - shift_y;
    if (exponent_x >= exponent_y) {
        y = shift_right_jam(y, exponent_x - exponent_y);
    } else {
        x = shift_right_jam(x, exponent_y - exponent_x);
        exponent_x = exponent_y;
    }
    if (p.negative == c.negative) return pack(format, p.negative, x + y, exponent_x, round);
    if (x == y) return signed_zero(format, round == Round::Down);
    return x > y ? pack(format, p.negative, x - y, exponent_x, round)
                 : pack(format, c.negative, y - x, exponent_x, round);
}

}  // namespace

Finite unpack(Format format, u64 bits) {
    const u64 fraction = bits & format.fraction_mask();
    const i32 field = static_cast<i32>((bits & format.infinity()) >> format.fraction_bits);
    const i32 lowest = 1 - format.bias() - static_cast<i32>(format.fraction_bits);
    const bool negative = (bits & format.sign_bit()) != 0;
    if (field == 0) return {negative, lowest, fraction};
    return {negative, lowest + field - 1, fraction | u64{1} << format.fraction_bits};
}

u64 pack(Format format, bool negative, u128 significand, i32 exponent, Round round) {
    const u64 sign = signed_zero(format, negative);
    if (significand == 0) return sign;
    const i32 least = 1 - format.bias();
    const i32 top = std::max(exponent + top_bit(significand), least);
    const i32 shift = top - static_cast<i32>(format.fraction_bits) - exponent;
    u128 whole = 0, rest = 0, half = 1;
    if (shift <= 0) {
        whole = significand << -shift;
    } else if (shift > 126) {
        rest = 1, half = 2;
    } else {
        whole = significand >> shift;
        rest = significand & ((u128{1} << shift) - 1);
        half = u128{1} << (shift - 1);
    }
    u64 result = static_cast<u64>(whole);
    if (rounds_up(round, negative, (result & 1) != 0, rest, half)) ++result;
    // Wide, because an exponent far beyond the format must not wrap into it. A carry moves up into the exponent.
    const u128 biased = (static_cast<u128>(static_cast<u64>(top - least)) << format.fraction_bits) + result;
    if (biased >= format.infinity()) {
        const bool to_infinity =
            round == Round::Nearest || (round == Round::Up && !negative) || (round == Round::Down && negative);
        return sign | (to_infinity ? format.infinity() : format.infinity() - 1);
    }
    return sign | static_cast<u64>(biased);
}

u64 multiply_add(Format format, u64 a, u64 b, u64 c, Round round, u64 invalid, i32 scale) {
    const bool negative = ((a ^ b) & format.sign_bit()) != 0;
    const bool a_infinite = format.is_infinite(a), b_infinite = format.is_infinite(b);
    if (a_infinite || b_infinite) {
        if (format.is_zero(a) || format.is_zero(b)) return invalid;
        const bool c_opposite = format.is_infinite(c) && ((c & format.sign_bit()) != 0) != negative;
        return c_opposite ? invalid : signed_zero(format, negative) | format.infinity();
    }
    if (format.is_infinite(c)) return c;
    const Finite x = unpack(format, a), y = unpack(format, b);
    const Product product{negative, u128{x.significand} * y.significand, x.exponent + y.exponent + scale};
    return sum(format, product, unpack(format, c), round);
}

u64 multiply(Format format, u64 a, u64 b, Round round, u64 invalid, i32 scale) {
    // A zero of the product's sign changes nothing, not even the sign of a zero product.
    return multiply_add(format, a, b, (a ^ b) & format.sign_bit(), round, invalid, scale);
}

u64 add(Format format, u64 a, u64 b, Round round, u64 invalid) {
    if (format.is_infinite(a)) {
        const bool opposite = format.is_infinite(b) && a != b;
        return opposite ? invalid : a;
    }
    if (format.is_infinite(b)) return b;
    const Finite x = unpack(format, a);
    return sum(format, {x.negative, x.significand, x.exponent}, unpack(format, b), round);
}

u64 convert(Format from, Format to, u64 bits, Round round) {
    const bool negative = (bits & from.sign_bit()) != 0;
    if (from.is_infinite(bits)) return signed_zero(to, negative) | to.infinity();
    const Finite value = unpack(from, bits);
    return pack(to, negative, value.significand, value.exponent, round);
}

u64 round_to_integral(Format format, u64 bits, Round round) {
    if (format.is_nan(bits) || format.is_infinite(bits)) return bits;
    const Finite value = unpack(format, bits);
    if (value.exponent >= 0) return bits;
    const u64 whole = round_fraction(value.significand, value.exponent, value.negative, round);
    return pack(format, value.negative, whole, 0, Round::Zero);
}

u64 from_integer(Format to, u64 magnitude, bool negative, Round round) {
    return pack(to, negative, magnitude, 0, round);
}

u64 to_integer(Format from, u64 bits, u32 width, bool is_signed, Round round) {
    const u64 all = width == 64 ? ~u64{0} : (u64{1} << width) - 1;
    const u64 most = is_signed ? all >> 1 : all;
    const bool negative = (bits & from.sign_bit()) != 0;
    const u64 least_magnitude = is_signed ? most + 1 : 0;
    const u64 limit = negative ? least_magnitude : most;
    u64 magnitude = limit;
    if (!from.is_infinite(bits)) {
        const Finite value = unpack(from, bits);
        if (value.exponent < 0) {
            magnitude = round_fraction(value.significand, value.exponent, negative, round);
        } else if (value.significand == 0) {
            magnitude = 0;
        } else if (value.exponent < 64) {
            const u128 wide = u128{value.significand} << value.exponent;
            magnitude = wide > limit ? limit : static_cast<u64>(wide);
        }
    }
    magnitude = std::min(magnitude, limit);
    return (negative ? u64{0} - magnitude : magnitude) & all;
}

}  // namespace gpu::sm::soft
