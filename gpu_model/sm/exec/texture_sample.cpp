// Measured on hardware with texels whose sums are exact: positions are rounded to 1/256, a linear filter's weights are
// whole 256ths that sum to 256, sums of normalized texels are rounded to 16 bits and those of halves to a half, both
// half up. Two dimensions gave 100% of the measured results, 8-bit signed texels excepted (one unit of 1/32767 in a
// tenth of them); three dimensions gave 86% of lanes. A cube's faces are filtered one by one.
#include "gpu_model/sm/exec/texture_sample.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "gpu_model/sm/exec/float_functions.h"

namespace gpu::sm {

using soft::kF16;
using soft::kF32;
using soft::kF64;
using soft::Round;

namespace {

constexpr i64 kWeightOne = 256;
constexpr u32 kHalfBits = 16, kSingleBits = 32;

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

// Weights of the corners (x, y) of a square, index x + 2 * y, that sum to `total`.
struct Corners {
    std::array<i64, 4> weight;
};
Corners weights_2d(i64 total, i64 a, i64 b) {
    const i64 right = rounded_256th(total * a);
    const i64 right_up = rounded_256th(right * b), left_up = rounded_256th((total - right) * b);
    // Measured for the whole square: the upper row together has the weight b.
    const i64 left_up_whole = total == kWeightOne ? b - right_up : left_up;
    return {{total - right - left_up_whole, right - right_up, left_up_whole, right_up}};
}

// A position in 256ths of a texel. NaN is zero.
i64 fixed_position(u32 bits) {
    constexpr double most = 1099511627776.0;  // far outside of any texture
    const double position = static_cast<double>(std::bit_cast<float>(bits)) * static_cast<double>(kWeightOne);
    if (!(position == position)) return 0;
    return static_cast<i64>(std::floor(std::clamp(position, -most, most) + 0.5));
}
i64 whole_position(u32 bits) {
    constexpr double most = 4294967296.0;
    const double position = static_cast<double>(std::bit_cast<float>(bits));
    if (!(position == position)) return 0;
    return static_cast<i64>(std::floor(std::clamp(position, -most, most)));
}

// Where a coordinate outside of the texture reads; nothing: the border.
std::optional<i64> wrapped(i64 i, i64 size, TextureWrap wrap) {
    switch (wrap) {
        case TextureWrap::WRAP:
            return (i % size + size) % size;
        case TextureWrap::MIRROR: {
            const i64 m = (i % (2 * size) + 2 * size) % (2 * size);
            return m < size ? m : 2 * size - 1 - m;
        }
        case TextureWrap::MIRROR_ONCE_CLAMP_TO_EDGE:
            return std::min(i < 0 ? -1 - i : i, size - 1);
        case TextureWrap::BORDER:
            if (i < 0 || i >= size) return std::nullopt;
            return i;
        case TextureWrap::CLAMP_TO_EDGE:
            break;
    }
    return std::clamp<i64>(i, 0, size - 1);
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

}  // namespace

bool TextureUnit::is_filterable(const Texture& texture) {
    for (std::size_t i = 0; i < texture.types.size(); ++i) {
        const bool integer = texture.types[i] == TexelType::SINT || texture.types[i] == TexelType::UINT;
        if (texture.format.bits[i] != 0 && integer) return false;
    }
    return true;
}

std::optional<TextureUnit::Raw> TextureUnit::read(u64 x, u64 y, u64 z) {
    std::array<u8, 16> bytes{};
    const u64 va = texture_.texel_va(static_cast<u32>(x), static_cast<u32>(y), static_cast<u32>(z));
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
        if (bits != 0 && texture_.types[i] == TexelType::SNORM) raw[i] = std::max(raw[i], -snorm_max(bits));
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
                raw[i] = quantized(0.0, unorm_max(bits));
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

std::optional<TextureUnit::Raw> TextureUnit::texel(const Sampler& sampler, i64 x, i64 y, i64 z, u32 dimensions) {
    const auto i = wrapped(x, texture_.width, sampler.wrap[0]);
    const auto j = dimensions >= 2 ? wrapped(y, texture_.height, sampler.wrap[1]) : std::optional<i64>(0);
    const auto k = dimensions >= 3 ? wrapped(z, texture_.depth, sampler.wrap[2]) : std::optional<i64>(z);
    if (!i || !j || !k) return border(sampler);
    return read(static_cast<u64>(*i), static_cast<u64>(*j), static_cast<u64>(*k));
}

u32 TextureUnit::finish(u32 component, i64 raw) const {
    const u32 bits = texture_.format.bits[component];
    if (bits == 0) return 0;
    switch (texture_.types[component]) {
        case TexelType::UNORM:
            return ratio(raw, unorm_max(bits));
        case TexelType::SNORM:
            return ratio(raw, snorm_max(bits));
        case TexelType::FLOAT:
            return bits == kHalfBits ? half_to_single(static_cast<u32>(raw)) : static_cast<u32>(raw);
        case TexelType::SINT:
        case TexelType::UINT:
            break;
    }
    return static_cast<u32>(raw);
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

std::optional<TexelValue> TextureUnit::filter(const Sampler& sampler, const std::array<i64, 3>& fixed, u32 dimensions,
                                              u32 layer) {
    constexpr i64 fraction = kWeightOne - 1;
    const i64 a = fixed[0] & fraction, b = dimensions >= 2 ? fixed[1] & fraction : 0;
    const i64 c = dimensions >= 3 ? fixed[2] & fraction : 0;
    const std::array<i64, 3> first = {fixed[0] >> 8, fixed[1] >> 8, fixed[2] >> 8};
    struct Tap {
        Raw raw;
        i64 weight;
    };
    std::array<Tap, 8> taps{};
    std::size_t count = 0;
    for (u32 slice = 0; slice < 2; ++slice) {
        const i64 total = slice == 0 ? kWeightOne - c : c;
        const Corners corners = weights_2d(total, a, b);
        for (u32 corner = 0; corner < 4; ++corner) {
            if (corners.weight[corner] == 0) continue;
            const i64 z = dimensions >= 3 ? first[2] + slice : i64{layer};
            const auto raw = texel(sampler, first[0] + (corner & 1), first[1] + (corner >> 1), z, dimensions);
            if (!raw) return std::nullopt;
            taps[count++] = {*raw, corners.weight[corner]};
        }
    }
    std::array<u32, 4> components{};
    for (u32 i = 0; i < components.size(); ++i) {
        const u32 bits = texture_.format.bits[i];
        if (bits == 0) continue;
        const TexelType type = texture_.types[i];
        const bool halves = type == TexelType::FLOAT && bits == kHalfBits;
        i64 sum = 0;
        double real = 0;
        bool special = type == TexelType::FLOAT && bits == kSingleBits;
        for (std::size_t k = 0; k < count; ++k) {
            const i64 raw = taps[k].raw[i];
            if (halves && (kF16.is_nan(static_cast<u64>(raw)) || kF16.is_infinite(static_cast<u64>(raw))))
                special = true;
        }
        for (std::size_t k = 0; k < count; ++k) {
            const auto [raws, weight] = taps[k];
            const i64 raw = raws[i];
            if (special) {
                real += as_double(finish(i, raw)) * static_cast<double>(weight);
            } else if (halves) {
                sum += half_units(static_cast<u32>(raw)) * weight;
            } else {
                // Widened to 16 bits.
                const i64 narrow = type == TexelType::UNORM ? unorm_max(bits) : snorm_max(bits);
                const i64 wide = type == TexelType::UNORM ? unorm_max(kHalfBits) : snorm_max(kHalfBits);
                const double exact = static_cast<double>(raw * wide) / static_cast<double>(narrow);
                sum += static_cast<i64>(std::floor(exact + 0.5)) * weight;
            }
        }
        if (special) {
            const float result = static_cast<float>(real / static_cast<double>(kWeightOne));
            components[i] = result == result ? std::bit_cast<u32>(result) : kNan32;
        } else if (halves) {
            components[i] = round_half_sum(sum);
        } else {
            components[i] =
                ratio(rounded_256th(sum), type == TexelType::UNORM ? unorm_max(kHalfBits) : snorm_max(kHalfBits));
        }
    }
    return swizzle(components);
}

namespace {

// The position on one axis in texels, as bits of a float.
u32 in_texels(const Texture& texture, u32 coordinate, u32 size) {
    if (!texture.normalized) return coordinate;
    return std::bit_cast<u32>(std::bit_cast<float>(coordinate) * static_cast<float>(size));
}

}  // namespace

std::optional<TexelValue> TextureUnit::sample(const Sampler& sampler, const TexturePoint& point) {
    if (texture_.is_cube()) return sample_cube(sampler, point);
    const std::array<u32, 3> sizes = {texture_.width, texture_.height, texture_.depth};
    std::array<u32, 3> positions{};
    for (u32 axis = 0; axis < point.dimensions; ++axis)
        positions[axis] = in_texels(texture_, point.at[axis], sizes[axis]);
    return sample_at(sampler, positions, point.dimensions, std::min(point.layer, texture_.depth - 1));
}

std::optional<TexelValue> TextureUnit::sample_cube(const Sampler& sampler, const TexturePoint& point) {
    constexpr u32 faces = 6;
    const double x = as_double(point.at[0]), y = as_double(point.at[1]), z = as_double(point.at[2]);
    // The axis that the direction is nearest to; of equal ones z, then y.
    const double far_x = std::abs(x), far_y = std::abs(y), far_z = std::abs(z);
    u32 face = 0;
    double s = 0, t = 0;
    if (far_z >= far_x && far_z >= far_y) {
        face = z >= 0 ? 4 : 5, s = z >= 0 ? x : -x, t = -y;
    } else if (far_y >= far_x) {
        face = y >= 0 ? 2 : 3, s = x, t = y >= 0 ? z : -z;
    } else {
        face = x >= 0 ? 0 : 1, s = x >= 0 ? -z : z, t = -y;
    }
    const auto position = [](double at, u32 size) {
        return std::bit_cast<u32>(static_cast<float>((at + 1) * 0.5 * static_cast<double>(size)));
    };
    const u32 cube = std::min(point.layer, texture_.depth - 1);
    return sample_at(sampler, {position(s, texture_.width), position(t, texture_.height), 0}, 2, cube * faces + face);
}

std::optional<TexelValue> TextureUnit::sample_at(const Sampler& sampler, const std::array<u32, 3>& positions,
                                                 u32 dimensions, u32 layer) {
    std::array<i64, 3> fixed{}, whole{};
    for (u32 axis = 0; axis < dimensions; ++axis) {
        fixed[axis] = fixed_position(positions[axis]) - kWeightOne / 2;
        whole[axis] = whole_position(positions[axis]);
    }
    if (sampler.linear) return filter(sampler, fixed, dimensions, layer);
    const auto raw = texel(sampler, whole[0], whole[1], dimensions >= 3 ? whole[2] : i64{layer}, dimensions);
    if (!raw) return std::nullopt;
    std::array<u32, 4> components{};
    for (u32 i = 0; i < components.size(); ++i) components[i] = finish(i, (*raw)[i]);
    return swizzle(components);
}

std::optional<TexelValue> TextureUnit::fetch(const TexturePoint& point) {
    const std::array<u32, 3> sizes = {texture_.width, texture_.height, texture_.depth};
    // As unsigned numbers negative coordinates are outside, too.
    for (u32 axis = 0; axis < point.dimensions; ++axis) {
        if (point.at[axis] >= sizes[axis]) return swizzle({});
    }
    const u32 z = point.dimensions >= 3 ? point.at[2] : std::min(point.layer, texture_.depth - 1);
    const auto raw = read(point.at[0], point.dimensions >= 2 ? point.at[1] : 0, z);
    if (!raw) return std::nullopt;
    std::array<u32, 4> components{};
    for (u32 i = 0; i < components.size(); ++i) components[i] = finish(i, (*raw)[i]);
    return swizzle(components);
}

std::optional<TexelValue> TextureUnit::gather(const Sampler& sampler, const TexturePoint& point, u32 component) {
    const i64 x = (fixed_position(in_texels(texture_, point.at[0], texture_.width)) - kWeightOne / 2) >> 8;
    const i64 y = (fixed_position(in_texels(texture_, point.at[1], texture_.height)) - kWeightOne / 2) >> 8;
    constexpr std::array<std::array<i64, 2>, 4> corners = {{{0, 1}, {1, 1}, {1, 0}, {0, 0}}};
    TexelValue out{};
    for (std::size_t i = 0; i < out.size(); ++i) {
        const i64 layer = std::min(point.layer, texture_.depth - 1);
        const auto raw = texel(sampler, x + corners[i][0], y + corners[i][1], layer, 2);
        if (!raw) return std::nullopt;
        std::array<u32, 4> components{};
        for (u32 k = 0; k < components.size(); ++k) components[k] = finish(k, (*raw)[k]);
        out[i] = swizzle(components)[component];
    }
    return out;
}

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
            case TexelType::UNORM: {
                const double scaled =
                    (number ? std::clamp(real, 0.0, 1.0) : 0.0) * static_cast<double>(unorm_max(bits));
                packed = static_cast<u64>(std::floor(scaled + 0.5));
                break;
            }
            case TexelType::SNORM: {
                const double scaled =
                    (number ? std::clamp(real, -1.0, 1.0) : 0.0) * static_cast<double>(snorm_max(bits));
                packed = static_cast<u64>(static_cast<i64>(std::floor(scaled + 0.5)));
                break;
            }
            case TexelType::FLOAT:
                if (bits == kHalfBits)
                    packed = number ? soft::convert(kF32, kF16, value[i], Round::Nearest) : u64{0x7fff};
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
