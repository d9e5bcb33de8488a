// IEEE 754 arithmetic in integers, for the rounding modes, formats and conversions that the host's default arithmetic
// does not give. Results are exact in every mode; NaN payloads are the caller's affair.
#pragma once

#include "gpu_model/sm/launch.h"

namespace gpu::sm::soft {

// Numbered as the instructions' rounding field.
enum class Round : u8 { Nearest = 0, Down = 1, Up = 2, Zero = 3 };

struct Format {
    u32 exponent_bits;
    u32 fraction_bits;

    constexpr u32 width() const { return 1 + exponent_bits + fraction_bits; }
    constexpr i32 bias() const { return (1 << (exponent_bits - 1)) - 1; }
    constexpr u64 sign_bit() const { return u64{1} << (width() - 1); }
    constexpr u64 fraction_mask() const { return (u64{1} << fraction_bits) - 1; }
    constexpr u64 infinity() const { return ((u64{1} << exponent_bits) - 1) << fraction_bits; }
    constexpr u64 quiet_bit() const { return u64{1} << (fraction_bits - 1); }
    constexpr bool is_nan(u64 bits) const { return (bits & ~sign_bit()) > infinity(); }
    constexpr bool is_infinite(u64 bits) const { return (bits & ~sign_bit()) == infinity(); }
    constexpr bool is_zero(u64 bits) const { return (bits & ~sign_bit()) == 0; }
    constexpr bool is_denormal(u64 bits) const { return (bits & infinity()) == 0 && !is_zero(bits); }
    // Denormals become zero of the same sign.
    constexpr u64 flush(u64 bits) const { return (bits & infinity()) == 0 ? bits & sign_bit() : bits; }
};
inline constexpr Format kF16{5, 10};
inline constexpr Format kF32{8, 23};
inline constexpr Format kF64{11, 52};

__extension__ using u128 = unsigned __int128;

// A finite value: (-1)^negative * significand * 2^exponent.
struct Finite {
    bool negative = false;
    i32 exponent = 0;
    u64 significand = 0;
};
// Precondition: not infinite, not NaN.
Finite unpack(Format format, u64 bits);
// Rounds (-1)^negative * significand * 2^exponent; a set lowest bit may stand for everything below it.
u64 pack(Format format, bool negative, u128 significand, i32 exponent, Round round);

// a * b + c with one rounding; scale: the product times 2^scale. Precondition: no operand is NaN. An invalid operation
// answers `invalid`.
u64 multiply_add(Format format, u64 a, u64 b, u64 c, Round round, u64 invalid, i32 scale = 0);
u64 multiply(Format format, u64 a, u64 b, Round round, u64 invalid, i32 scale = 0);
u64 add(Format format, u64 a, u64 b, Round round, u64 invalid);

// Between formats. Infinities stay; precondition: not NaN.
u64 convert(Format from, Format to, u64 bits, Round round);
// To an integral value of the same format; the sign of zero stays. NaN and infinities pass.
u64 round_to_integral(Format format, u64 bits, Round round);
u64 from_integer(Format to, u64 magnitude, bool negative, Round round);
// Saturating. Precondition: not NaN. bits: width of the integer, 8 to 64.
u64 to_integer(Format from, u64 value, u32 bits, bool is_signed, Round round);

}  // namespace gpu::sm::soft
