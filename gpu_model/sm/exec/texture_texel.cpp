// Texels: what their bits mean, sums of them by weights, and what a store makes of values.
// Measured on an H200 with every byte and every weight: sums of normalized texels are rounded to 16 bits and those of halves
// to a half, both half up; sRGB bytes are halves of a table.
#include <algorithm>
#include <bit>
#include <cmath>

#include "gpu_model/sm/exec/float_functions.h"
#include "gpu_model/sm/exec/texture_sample.h"
#include "gpu_model/sm/exec/texture_tables.h"

namespace gpu::sm {

using soft::kF16;
using soft::kF32;
using soft::kF64;
using soft::Round;

namespace {

constexpr i64 kWeightOne = 256;
constexpr u32 kHalfBits = 16, kSingleBits = 32;

constexpr float kSrgbOne = 16384.0F;
constexpr i64 kHalfUnitsInSrgb = i64{1} << 10;  // halves count 2^-24, the table 2^-14

i64 rounded_256th(i64 value) {
    return (value + kWeightOne / 2) >> 8;
}

i64 unorm_max(u32 bits) {
    return (i64{1} << bits) - 1;
}
i64 snorm_max(u32 bits) {
    return (i64{1} << (bits - 1)) - 1;
}
u32 ratio(i64 value, i64 max) {
    return std::bit_cast<u32>(static_cast<float>(static_cast<double>(value) / static_cast<double>(max)));
}

// A sum of halves times 256ths, rounded to a half: the magnitude's half goes up. `sum` counts 2^-32.
u32 round_half_sum(i64 sum) {
    constexpr u32 significant = 11, least_shift = 8;
    const bool negative = sum < 0;
    const u64 magnitude = static_cast<u64>(negative ? -sum : sum);
    const u32 width = static_cast<u32>(std::bit_width(magnitude));
    const u32 shift = std::max(width > significant ? width - significant : 0, least_shift);
    const u64 rounded = (magnitude + (u64{1} << (shift - 1))) >> shift << shift;
    constexpr double unit = 1.0 / 4294967296.0;
    const double value = static_cast<double>(rounded) * unit;
    return std::bit_cast<u32>(static_cast<float>(negative ? -value : value));
}

// A finite half in units of 2^-24.
i64 half_units(u32 half) {
    const soft::Finite f = soft::unpack(kF16, half);
    constexpr i32 unit_exponent = -24;
    const i64 magnitude = static_cast<i64>(f.significand << (f.exponent - unit_exponent));
    return f.negative ? -magnitude : magnitude;
}

double as_double(u32 bits) {
    return static_cast<double>(std::bit_cast<float>(bits));
}
u32 half_to_single(u32 half) {
    return kF16.is_nan(half) ? kNan32 : static_cast<u32>(soft::convert(kF16, kF32, half, Round::Nearest));
}

// The sRGB byte of a number: the highest whose lower end it reaches. The curve's power of 2.4 is compared as fifth and
// twelfth powers, whose products are the same on every host.
i64 srgb_byte(double value) {
    constexpr double linear_end = 0.04045, linear_slope = 12.92, shift = 0.055;
    const auto fifth = [](double x) { return x * x * x * x * x; };
    for (i64 byte = unorm_max(8); byte > 0; --byte) {
        const double low = (static_cast<double>(byte) - 0.5) / static_cast<double>(unorm_max(8));
        const double t = (low + shift) / (1 + shift);
        const bool reached = low <= linear_end ? value >= low / linear_slope : fifth(value) >= fifth(t) * fifth(t) * t * t;
        if (reached) return byte;
    }
    return 0;
}

}  // namespace

bool TextureUnit::is_filterable(const Texture& texture) {
    for (std::size_t i = 0; i < texture.types.size(); ++i) {
        const bool integer = texture.types[i] == TexelType::SINT || texture.types[i] == TexelType::UINT;
        if (texture.format.bits[i] != 0 && integer) return false;
    }
    return true;
}

std::optional<TextureUnit::Raw> TextureUnit::read(const TextureLevel& level, u64 x, u64 y, u64 z) {
    std::array<u8, 16> bytes{};
    const u64 va = texture_.texel_va(level, static_cast<u32>(x), static_cast<u32>(y), static_cast<u32>(z));
    if (!memory_.read(va, std::span(bytes).first(texture_.format.bytes))) {
        fault_va_ = va;
        return std::nullopt;
    }
    Raw raw{};
    u32 at = 0;
    for (std::size_t i = 0; i < raw.size(); ++i) {
        const u32 bits = texture_.format.bits[i];
        u64 value = 0;
        for (u32 k = 0; k < bits; ++k) value |= u64{(u32{bytes[(at + k) / 8]} >> ((at + k) % 8)) & 1} << k;
        at += bits;
        const bool is_signed = texture_.types[i] == TexelType::SINT || texture_.types[i] == TexelType::SNORM;
        raw[i] = static_cast<i64>(value);
        if (bits != 0 && is_signed && (value >> (bits - 1)) != 0) raw[i] -= i64{1} << bits;
    }
    return raw;
}

TextureUnit::Raw TextureUnit::border(const Sampler& sampler) const {
    Raw raw{};
    for (std::size_t i = 0; i < raw.size(); ++i) {
        const u32 bits = texture_.format.bits[i];
        if (bits == 0) continue;
        const double value = as_double(sampler.border[i]);
        const auto quantized = [&](double least, i64 max) {
            const double inside = value == value ? std::clamp(value, least, 1.0) : 0.0;
            return static_cast<i64>(std::ceil(inside * static_cast<double>(max) - 0.5));
        };
        switch (texture_.types[i]) {
            case TexelType::UNORM:
                raw[i] = is_srgb(static_cast<u32>(i)) ? srgb_byte(value) : quantized(0.0, unorm_max(bits));
                break;
            case TexelType::SNORM:
                raw[i] = quantized(-1.0, snorm_max(bits));
                break;
            case TexelType::FLOAT:
                raw[i] = i64{sampler.border[i]};
                if (bits == kHalfBits)
                    raw[i] = static_cast<i64>(is_nan32(sampler.border[i])
                                                  ? u64{0x7fff}
                                                  : soft::convert(kF32, kF16, sampler.border[i], Round::Nearest));
                break;
            case TexelType::SINT:
            case TexelType::UINT:
                raw[i] = i64{sampler.border[i]};
                break;
        }
    }
    return raw;
}

u32 TextureUnit::finish(u32 component, i64 raw) const {
    const u32 bits = texture_.format.bits[component];
    if (bits == 0) return 0;
    switch (texture_.types[component]) {
        case TexelType::UNORM:
            if (is_srgb(component)) return std::bit_cast<u32>(static_cast<float>(kSrgbLinear[static_cast<u8>(raw)]) / kSrgbOne);
            return ratio(raw, unorm_max(bits));
        case TexelType::SNORM:
            return ratio(std::max(raw, -snorm_max(bits)), snorm_max(bits));
        case TexelType::FLOAT:
            return bits == kHalfBits ? half_to_single(static_cast<u32>(raw)) : static_cast<u32>(raw);
        case TexelType::SINT:
        case TexelType::UINT:
            break;
    }
    return static_cast<u32>(raw);
}

bool TextureUnit::is_srgb(u32 component) const {
    constexpr u32 alpha = 3;
    return texture_.srgb && component != alpha;
}

namespace {

// A sum of signed bytes times 256ths, widened to 16 bits as hardware was measured to do it; the lowest byte is one more than
// the range allows.
i64 widened_signed_bytes(i64 sum) {
    const i64 wide = sum + ((sum + 64 + 16 * (sum >> 12)) >> 7);
    return std::clamp(wide, -snorm_max(kHalfBits), snorm_max(kHalfBits));
}

}  // namespace

u32 TextureUnit::combine(const Taps& taps, u32 component) const {
    const u32 bits = texture_.format.bits[component];
    if (bits == 0) return 0;
    const TexelType type = texture_.types[component];
    const bool srgb = is_srgb(component), halves = srgb || (type == TexelType::FLOAT && bits == kHalfBits);
    constexpr u32 byte_bits = 8;
    bool special = type == TexelType::FLOAT && bits == kSingleBits;
    for (std::size_t k = 0; k < taps.count && halves && !srgb; ++k) {
        const u64 raw = static_cast<u64>(taps.tap[k].raw[component]);
        special = special || kF16.is_nan(raw) || kF16.is_infinite(raw);
    }
    // sRGB texels lose the bits that have no place beside the largest of their level.
    std::array<int, 2> srgb_width{};
    for (std::size_t k = 0; k < taps.count && srgb; ++k) {
        const u8 byte = static_cast<u8>(taps.tap[k].raw[component]);
        const int width = static_cast<int>(std::bit_width(u64{kSrgbLinear[byte]})) + (srgb_has_leading_zero(byte) ? 1 : 0);
        int& widest = srgb_width[k >= taps.second ? 1 : 0];
        widest = std::max(widest, width);
    }
    const auto srgb_value = [&](std::size_t k, i64 raw) {
        constexpr int significant = 8;
        const int lost = std::max(srgb_width[k >= taps.second ? 1 : 0] - significant, 0);
        return i64{kSrgbLinear[static_cast<u8>(raw)]} >> lost << lost;
    };
    i64 sum = 0;
    double real = 0;
    for (std::size_t k = 0; k < taps.count; ++k) {
        const i64 raw = taps.tap[k].raw[component], weight = taps.tap[k].weight;
        if (special) {
            real += as_double(finish(component, raw)) * static_cast<double>(weight);
        } else if (srgb) {
            sum += srgb_value(k, raw) * kHalfUnitsInSrgb * weight;
        } else if (halves) {
            sum += half_units(static_cast<u32>(raw)) * weight;
        } else if (type == TexelType::SNORM && bits == byte_bits) {
            sum += raw * weight;
        } else {
            // Widened to 16 bits.
            const i64 narrow = type == TexelType::UNORM ? unorm_max(bits) : snorm_max(bits);
            const i64 wide = type == TexelType::UNORM ? unorm_max(kHalfBits) : snorm_max(kHalfBits);
            const double exact = static_cast<double>(std::max(raw, -narrow) * wide) / static_cast<double>(narrow);
            sum += static_cast<i64>(std::floor(exact + 0.5)) * weight;
        }
    }
    if (special) {
        const float result = static_cast<float>(real / static_cast<double>(kWeightOne));
        return result == result ? std::bit_cast<u32>(result) : kNan32;
    }
    if (halves) return round_half_sum(sum);
    if (type == TexelType::SNORM && bits == byte_bits) return ratio(widened_signed_bytes(sum), snorm_max(kHalfBits));
    return ratio(rounded_256th(sum), type == TexelType::UNORM ? unorm_max(kHalfBits) : snorm_max(kHalfBits));
}

// A comparison's result is the weight of the texels that pass.
u32 TextureUnit::compared(const Taps& taps, DepthCompare compare, u32 reference) const {
    const double wanted = as_double(reference);
    i64 passing = 0;
    for (std::size_t k = 0; k < taps.count; ++k) {
        const double depth = as_double(finish(0, taps.tap[k].raw[0]));
        bool passes = false;
        switch (compare) {
            case DepthCompare::NEVER:
                break;
            case DepthCompare::LESS:
                passes = wanted < depth;
                break;
            case DepthCompare::EQUAL:
                passes = wanted == depth;
                break;
            case DepthCompare::LEQUAL:
                passes = wanted <= depth;
                break;
            case DepthCompare::GREATER:
                passes = wanted > depth;
                break;
            case DepthCompare::NOTEQUAL:
                passes = wanted != depth;
                break;
            case DepthCompare::GEQUAL:
                passes = wanted >= depth;
                break;
            case DepthCompare::ALWAYS:
                passes = true;
                break;
        }
        passing += passes ? taps.tap[k].weight : 0;
    }
    return std::bit_cast<u32>(static_cast<float>(passing) / static_cast<float>(kWeightOne));
}

TexelValue TextureUnit::swizzle(const std::array<u32, 4>& components) const {
    TexelValue out{};
    for (std::size_t i = 0; i < out.size(); ++i) {
        switch (texture_.sources[i]) {
            case TexelSource::IN_R:
            case TexelSource::IN_G:
            case TexelSource::IN_B:
            case TexelSource::IN_A:
                out[i] = components[static_cast<std::size_t>(texture_.sources[i]) -
                                    static_cast<std::size_t>(TexelSource::IN_R)];
                break;
            case TexelSource::IN_ONE_INT:
                out[i] = 1;
                break;
            case TexelSource::IN_ONE_FLOAT:
                out[i] = kOne32;
                break;
            case TexelSource::IN_ZERO:
                break;
        }
    }
    return out;
}

namespace {

// A number from -1 to 1 as a count of 1 / (2^bits - 1): four more bits of it count, and halves go towards zero.
i64 normalized_bits(double number, u32 bits) {
    const u32 counted = bits + 4;
    const i64 one = i64{1} << counted, magnitude = static_cast<i64>(std::abs(number) * static_cast<double>(one));
    const i64 result = (magnitude * unorm_max(bits) + one / 2 - 1) >> counted;
    return number < 0 ? -result : result;
}

// The first bits of a NaN. Guess: one that has none of them becomes quiet.
u64 half_nan(u32 bits) {
    constexpr u32 sign_shift = 16, fraction_shift = 13, fraction = 0x3ff, quiet = 0x200;
    const u32 kept = bits >> fraction_shift & fraction;
    return (bits & kSign32) >> sign_shift | kF16.infinity() | (kept != 0 ? kept : quiet);
}

}  // namespace

std::array<u8, 16> pack_texel(const Texture& texture, const TexelValue& value) {
    std::array<u8, 16> bytes{};
    u32 at = 0;
    for (std::size_t i = 0; i < value.size(); ++i) {
        const u32 bits = texture.format.bits[i];
        if (bits == 0) continue;
        const double real = as_double(value[i]);
        const bool number = real == real;
        u64 packed = value[i];
        switch (texture.types[i]) {
            case TexelType::UNORM:
                packed = static_cast<u64>(normalized_bits(number ? std::clamp(real, 0.0, 1.0) : 0.0, bits));
                break;
            case TexelType::SNORM:
                packed = static_cast<u64>(normalized_bits(number ? std::clamp(real, -1.0, 1.0) : 0.0, bits - 1));
                break;
            case TexelType::FLOAT:
                if (bits == kHalfBits)
                    packed = number ? soft::convert(kF32, kF16, value[i], Round::Zero) : half_nan(value[i]);
                break;
            case TexelType::UINT:
                if (bits < kSingleBits) packed = std::min<u64>(packed, static_cast<u64>(unorm_max(bits)));
                break;
            case TexelType::SINT: {
                if (bits >= kSingleBits) break;
                const i64 most = snorm_max(bits);
                packed = static_cast<u64>(std::clamp<i64>(static_cast<i32>(value[i]), -most - 1, most));
                break;
            }
        }
        for (u32 k = 0; k < bits; ++k) {
            const u32 bit = static_cast<u32>(packed >> k & 1);
            bytes[(at + k) / 8] = static_cast<u8>(bytes[(at + k) / 8] | bit << ((at + k) % 8));
        }
        at += bits;
    }
    return bytes;
}

}  // namespace gpu::sm
