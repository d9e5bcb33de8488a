// Positions and weights. Measured on an H200 with textures of one texel that is not zero: positions are rounded to 1/256, a
// filter's weights are whole 256ths that sum to 256 over all texels, slices and levels that it reads, and how they are rounded
// was found for every measured weight in one, two and three dimensions, between levels, and at the edges and corners of cubes.
#include "gpu_model/sm/exec/texture_sample.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "gpu_model/sm/exec/texture_cube.h"

namespace gpu::sm {
namespace {

constexpr i64 kFilterOne = 256;

i64 half_up(i64 value) {
    return (value + kFilterOne / 2) >> 8;
}
i64 half_down(i64 value) {
    return (value + kFilterOne / 2 - 1) >> 8;
}

// Weights of the corners (x, y) of a square, index x + 2 * y, that sum to `total`.
std::array<i64, 4> weights_2d(i64 total, i64 a, i64 b) {
    const i64 right = half_up(total * a), left = total - right;
    const i64 right_up = half_up(right * b), left_up = half_down(left * b);
    return {left - left_up, right - right_up, left_up, right_up};
}

// A position in 256ths of a texel. NaN is zero.
i64 fixed_position(u32 bits) {
    constexpr double most = 1099511627776.0;  // far outside of any texture
    const double position = static_cast<double>(std::bit_cast<float>(bits)) * static_cast<double>(kFilterOne);
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

// The position on one axis in texels, as bits of a float.
u32 in_texels(const Texture& texture, u32 coordinate, u32 size) {
    if (!texture.normalized) return coordinate;
    return std::bit_cast<u32>(std::bit_cast<float>(coordinate) * static_cast<float>(size));
}

}  // namespace

std::optional<TextureUnit::Raw> TextureUnit::texel(const Sampler& sampler, const Spot& spot, i64 x, i64 y, i64 z) {
    const auto i = wrapped(x, spot.level.width, sampler.wrap[0]);
    const auto j = spot.dimensions >= 2 ? wrapped(y, spot.level.height, sampler.wrap[1]) : std::optional<i64>(0);
    const auto k = spot.dimensions >= 3 ? wrapped(z, spot.level.depth, sampler.wrap[2]) : std::optional<i64>(z);
    if (!i || !j || !k) return border(sampler);
    return read(spot.level, static_cast<u64>(*i), static_cast<u64>(*j), static_cast<u64>(*k));
}

std::optional<TextureUnit::Raw> TextureUnit::cube_texel(const Spot& spot, i64 x, i64 y) {
    const i64 size = spot.level.width;
    const u32 first = spot.layer / kCubeFaces * kCubeFaces;
    CubeTexel at{spot.layer - first, x, y};
    if (x < 0 || x >= size || y < 0 || y >= size) at = across_edge(at, size);
    return read(spot.level, static_cast<u64>(at.x), static_cast<u64>(at.y), first + at.face);
}

TextureUnit::Spot TextureUnit::spot_of(const Sampler& sampler, const TexturePoint& point, u32 level, bool linear) const {
    Spot spot;
    spot.level = texture_.level(level);
    spot.dimensions = point.dimensions;
    spot.layer = std::min(point.layer, texture_.depth - 1);
    std::array<u32, 3> sizes = {spot.level.width, spot.level.height, spot.level.depth};
    std::array<u32, 3> positions{};
    if (texture_.is_cube()) {
        spot.dimensions = 2;
        spot.on_cube = sampler.seamless;
        const auto real = [&](u32 axis) { return static_cast<double>(std::bit_cast<float>(point.at[axis])); };
        const CubePlace place = cube_place({real(0), real(1), real(2)});
        const double size = static_cast<double>(spot.level.width);
        positions[0] = std::bit_cast<u32>(static_cast<float>((place.s + 1) * 0.5 * size));
        positions[1] = std::bit_cast<u32>(static_cast<float>((place.t + 1) * 0.5 * size));
        spot.layer = spot.layer * kCubeFaces + place.face;
    } else {
        for (u32 axis = 0; axis < point.dimensions; ++axis) positions[axis] = in_texels(texture_, point.at[axis], sizes[axis]);
    }
    for (u32 axis = 0; axis < spot.dimensions; ++axis) {
        const i64 offset = point.offset[axis], last = i64{sizes[axis]} - 1;
        spot.fixed[axis] = fixed_position(positions[axis]) - kFilterOne / 2 + offset * kFilterOne;
        spot.whole[axis] = whole_position(positions[axis]) + offset;
        // At the edge the fraction is clamped, too.
        if (linear && !spot.on_cube && sampler.wrap[axis] == TextureWrap::CLAMP_TO_EDGE)
            spot.fixed[axis] = std::clamp<i64>(spot.fixed[axis], 0, last * kFilterOne);
        // A seamless face ends at its edges, half a texel beyond the last one's centre.
        if (spot.on_cube) {
            spot.fixed[axis] = std::clamp<i64>(spot.fixed[axis], -kFilterOne / 2, last * kFilterOne + kFilterOne / 2);
            spot.whole[axis] = std::clamp<i64>(spot.whole[axis], 0, last);
        }
    }
    return spot;
}

// At a cube's corner three texels meet: the weight of the one that is missing goes to the others, to each neighbour the
// rounded third.
bool TextureUnit::add_corner(const Spot& spot, const std::array<i64, 4>& weights, Taps& taps) {
    const i64 size = spot.level.width, x = spot.fixed[0] >> 8, y = spot.fixed[1] >> 8;
    const auto outside = [&](u32 corner) {
        const i64 i = x + (corner & 1), j = y + (corner >> 1);
        return (i < 0 || i >= size) && (j < 0 || j >= size);
    };
    u32 missing = 0;
    while (missing < 3 && !outside(missing)) ++missing;
    const i64 share = (2 * weights[missing] + 3) / 6;
    for (u32 corner = 0; corner < 4; ++corner) {
        if (corner == missing) continue;
        const bool opposite = (corner ^ missing) == 3;
        const i64 weight = weights[corner] + (opposite ? weights[missing] - 2 * share : share);
        if (weight == 0) continue;
        const auto raw = cube_texel(spot, x + (corner & 1), y + (corner >> 1));
        if (!raw) return false;
        taps.tap[taps.count++] = {*raw, weight};
    }
    return true;
}

bool TextureUnit::add_taps(const Sampler& sampler, const Spot& spot, bool linear, i64 total, Taps& taps) {
    if (!linear) {
        const i64 z = spot.dimensions >= 3 ? spot.whole[2] : i64{spot.layer};
        const auto raw = texel(sampler, spot, spot.whole[0], spot.whole[1], z);
        if (!raw) return false;
        taps.tap[taps.count++] = {*raw, total};
        return true;
    }
    constexpr i64 fraction = kFilterOne - 1;
    const i64 a = spot.fixed[0] & fraction, b = spot.dimensions >= 2 ? spot.fixed[1] & fraction : 0;
    const i64 c = spot.dimensions >= 3 ? spot.fixed[2] & fraction : 0;
    const std::array<i64, 3> first = {spot.fixed[0] >> 8, spot.fixed[1] >> 8, spot.fixed[2] >> 8};
    const i64 size = spot.level.width;
    if (spot.on_cube && (first[0] < 0 || first[0] >= size - 1) && (first[1] < 0 || first[1] >= size - 1))
        return add_corner(spot, weights_2d(total, a, b), taps);
    const i64 farther = half_up(total * c);
    for (u32 slice = 0; slice < 2; ++slice) {
        const std::array<i64, 4> weights = weights_2d(slice == 0 ? total - farther : farther, a, b);
        for (u32 corner = 0; corner < 4; ++corner) {
            if (weights[corner] == 0) continue;
            const i64 x = first[0] + (corner & 1), y = first[1] + (corner >> 1);
            const i64 z = spot.dimensions >= 3 ? first[2] + slice : i64{spot.layer};
            const auto raw = spot.on_cube ? cube_texel(spot, x, y) : texel(sampler, spot, x, y, z);
            if (!raw) return false;
            taps.tap[taps.count++] = {*raw, weights[corner]};
        }
    }
    return true;
}

std::optional<TexelValue> TextureUnit::sample(const Sampler& sampler, const TexturePoint& point, i64 lod) {
    const LevelChoice choice = choose_level(texture_, sampler, lod);
    Taps taps;
    const i64 next = choice.fraction;
    if (!add_taps(sampler, spot_of(sampler, point, choice.level, choice.linear), choice.linear, kFilterOne - next, taps))
        return std::nullopt;
    taps.second = taps.count;
    if (next != 0 &&
        !add_taps(sampler, spot_of(sampler, point, choice.level + 1, choice.linear), choice.linear, next, taps))
        return std::nullopt;
    std::array<u32, 4> components{};
    if (point.reference && sampler.depth_compare) {
        components[0] = compared(taps, sampler.compare, *point.reference);
        return swizzle(components);
    }
    const bool one_texel = !choice.linear && next == 0;
    for (u32 i = 0; i < components.size(); ++i)
        components[i] = one_texel ? finish(i, taps.tap[0].raw[i]) : combine(taps, i);
    return swizzle(components);
}

std::optional<TexelValue> TextureUnit::fetch(const TexturePoint& point, i64 level, bool clamped) {
    const i64 last = i64{texture_.last_level} - texture_.first_level;
    if (level < 0 || level > last) return swizzle({});
    const TextureLevel at = texture_.level(texture_.first_level + static_cast<u32>(level));
    const std::array<u32, 3> sizes = {at.width, at.height, at.depth};
    std::array<u64, 3> place{};
    for (u32 axis = 0; axis < point.dimensions; ++axis) {
        const i64 wanted = i64{static_cast<i32>(point.at[axis])} + point.offset[axis], end = i64{sizes[axis]} - 1;
        if (!clamped && (wanted < 0 || wanted > end)) return swizzle({});
        place[axis] = static_cast<u64>(std::clamp<i64>(wanted, 0, end));
    }
    if (point.dimensions < 3) place[2] = std::min(point.layer, texture_.depth - 1);
    const auto raw = read(at, place[0], place[1], place[2]);
    if (!raw) return std::nullopt;
    std::array<u32, 4> components{};
    for (u32 i = 0; i < components.size(); ++i) components[i] = finish(i, (*raw)[i]);
    return swizzle(components);
}

std::optional<TexelValue> TextureUnit::gather(const Sampler& sampler, const TexturePoint& point, u32 component) {
    const Spot spot = spot_of(sampler, point, texture_.first_level, false);
    const i64 x = spot.fixed[0] >> 8, y = spot.fixed[1] >> 8;
    constexpr std::array<std::array<i64, 2>, 4> corners = {{{0, 1}, {1, 1}, {1, 0}, {0, 0}}};
    const i64 size = spot.level.width;
    TexelValue out{};
    for (std::size_t i = 0; i < out.size(); ++i) {
        const i64 at_x = x + corners[i][0], at_y = y + corners[i][1];
        Taps taps;
        if (spot.on_cube && (at_x < 0 || at_x >= size) && (at_y < 0 || at_y >= size)) {
            // Beyond a corner the three texels that meet there stand for a fourth.
            std::array<i64, 4> weights{};
            weights[static_cast<std::size_t>(corners[i][0] + 2 * corners[i][1])] = kFilterOne;
            if (!add_corner(spot, weights, taps)) return std::nullopt;
        } else {
            const auto raw = spot.on_cube ? cube_texel(spot, at_x, at_y) : texel(sampler, spot, at_x, at_y, spot.layer);
            if (!raw) return std::nullopt;
            taps.tap[taps.count++] = {*raw, kFilterOne};
        }
        std::array<u32, 4> components{};
        if (point.reference && sampler.depth_compare) {
            components[0] = compared(taps, sampler.compare, *point.reference);
        } else {
            for (u32 k = 0; k < components.size(); ++k)
                components[k] = taps.count == 1 ? finish(k, taps.tap[0].raw[k]) : combine(taps, k);
        }
        out[i] = swizzle(components)[component];
    }
    return out;
}

}  // namespace gpu::sm
