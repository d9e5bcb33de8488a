// Floating-point literals are printed with enough digits to be exact (20 significant), never through the host's locale.
#include "gpu_model/sm/isa/text_parts.h"

#include <fmt/format.h>

#include <bit>

namespace gpu::sass {
namespace {

// One binary format: widths of the exponent and fraction fields.
struct Format {
    unsigned exponent_bits;
    unsigned fraction_bits;
};
constexpr Format kHalf{5, 10};
constexpr Format kSingle{8, 23};
constexpr Format kDouble{11, 52};

// Every half, single and double value is a double.
double to_double(u64 bits, Format format) {
    const u64 fraction_mask = (u64{1} << format.fraction_bits) - 1;
    const u64 exponent_mask = (u64{1} << format.exponent_bits) - 1;
    const u64 fraction = bits & fraction_mask;
    const u64 exponent = bits >> format.fraction_bits & exponent_mask;
    const u64 sign = bits >> (format.fraction_bits + format.exponent_bits) & 1;
    const int bias = (1 << (format.exponent_bits - 1)) - 1;
    const int least = 1 - bias - static_cast<int>(format.fraction_bits);  // weight of the fraction's last bit, denormal
    const u64 significand = exponent == 0 ? fraction : fraction | u64{1} << format.fraction_bits;
    const int scale = exponent == 0 ? least : least + static_cast<int>(exponent) - 1;
    double value = static_cast<double>(significand);
    for (int i = 0; i < scale; ++i) value *= 2;
    for (int i = 0; i > scale; --i) value /= 2;
    return sign != 0 ? -value : value;
}

std::string literal(u64 bits, Format format) {
    const u64 fraction_mask = (u64{1} << format.fraction_bits) - 1;
    const u64 exponent_mask = (u64{1} << format.exponent_bits) - 1;
    const bool negative = (bits >> (format.fraction_bits + format.exponent_bits) & 1) != 0;
    if ((bits >> format.fraction_bits & exponent_mask) == exponent_mask) {
        const u64 fraction = bits & fraction_mask;
        const char* sign = negative ? "-" : "+";
        if (fraction == 0) return fmt::format("{}INF ", sign);
        const bool quiet = (fraction >> (format.fraction_bits - 1)) != 0;
        return fmt::format("{}{}NAN ", sign, quiet ? "Q" : "S");
    }
    const double value =
        format.fraction_bits == kDouble.fraction_bits ? std::bit_cast<double>(bits) : to_double(bits, format);
    // Guess: the switch to scientific notation lies where a 32-bit integer ends; the corpus shows 12583039 plain and
    // 2^31 scientific.
    constexpr double kPlainEnd = 2147483648.0;
    if (value >= kPlainEnd || value <= -kPlainEnd) return fmt::format("{:.20e}", value);
    return fmt::format("{:.20g}", value);
}

}  // namespace

std::string hex(u64 value) {
    return fmt::format("{:#x}", value);
}

std::string signed_hex(i64 value) {
    if (value < 0) return fmt::format("-{:#x}", ~static_cast<u64>(value) + 1);
    return hex(static_cast<u64>(value));
}

std::string register_text(u8 index, bool uniform) {
    if (index == (uniform ? kUrz : kRz)) return uniform ? "URZ" : "RZ";
    return fmt::format("{}{}", uniform ? "UR" : "R", index);
}

std::string predicate_text(Predicate predicate) {
    std::string text = predicate.negate ? "!" : "";
    text += predicate.uniform ? "UP" : "P";
    if (predicate.index == kPt) return text + "T";
    return text + std::to_string(predicate.index);
}

std::string f32_text(u32 bits) {
    return literal(bits, kSingle);
}
std::string f64_text(u32 high_word) {
    return literal(u64{high_word} << 32, kDouble);
}
std::string f16_text(u32 bits) {
    return literal(bits & 0xffff, kHalf);
}

}  // namespace gpu::sass
