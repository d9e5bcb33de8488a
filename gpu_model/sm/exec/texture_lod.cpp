// Measured on an H200 with textures whose levels hold their number: what a sampler's bias and bounds do, and rounding to a
// level, for every measured value; the level of gradients equals 94 to 98% of the measured ones, and the others differ by
// one or two 256ths.
#include "gpu_model/sm/exec/texture_lod.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "gpu_model/sm/exec/texture_tables.h"

namespace gpu::sm {
namespace {

constexpr double kLodMost = 1048576.0;  // far beyond every bound

// Ten significant bits. NaN is zero.
double shortened(double value) {
    if (!(value == value)) return 0;
    constexpr int bits = 10;
    int exponent = 0;
    const double mantissa = std::frexp(value, &exponent);
    return std::ldexp(std::trunc(std::ldexp(mantissa, bits)), exponent - bits);
}

// The length of a vector by a sum of its components.
double about_length(std::array<double, 3> v) {
    for (double& component : v) component = std::abs(component);
    std::sort(v.begin(), v.end());
    constexpr double middle_share = 11.0 / 32, least_share = 1.0 / 4;
    return v[2] + middle_share * v[1] + least_share * v[0];
}

}  // namespace

i64 explicit_lod(u32 bits) {
    const double lod = static_cast<double>(std::bit_cast<float>(bits)) * static_cast<double>(kLodOne);
    return lod == lod ? static_cast<i64>(std::trunc(std::clamp(lod, -kLodMost, kLodMost))) : 0;
}

// The longest axis of the ellipse that a pixel becomes is at least as long as either gradient, and as their sum or
// difference over the root of two, for which 11/16 stands.
i64 gradient_lod(const TextureGradient& gradient) {
    std::array<double, 3> dx{}, dy{}, sum{}, difference{};
    for (std::size_t i = 0; i < dx.size(); ++i) {
        dx[i] = shortened(gradient.dx[i]);
        dy[i] = shortened(gradient.dy[i]);
        if (!std::isfinite(dx[i]) || !std::isfinite(dy[i])) return static_cast<i64>(kLodMost);
        sum[i] = dx[i] + dy[i];
        difference[i] = dx[i] - dy[i];
    }
    constexpr double over_root = 11.0 / 16;
    const double longest =
        std::max({about_length(dx), about_length(dy), over_root * about_length(sum), over_root * about_length(difference)});
    if (!(longest > 0)) return static_cast<i64>(-kLodMost);
    int exponent = 0;
    const double mantissa = std::frexp(longest, &exponent);  // from 1/2 to 1
    constexpr double steps = 512;
    const auto index = static_cast<std::size_t>(mantissa * steps) - kLevelLogarithm.size();
    return (i64{exponent} - 1) * kLodOne + kLevelLogarithm[index];
}

LevelChoice choose_level(const Texture& texture, const Sampler& sampler, i64 lod) {
    const i64 least = std::max(sampler.lod_min, texture.lod_min), most = std::max<i64>(sampler.lod_max, least);
    const i64 biased = std::clamp(lod + sampler.lod_bias, least, most);
    LevelChoice choice{texture.first_level, 0, biased > 0 ? sampler.min_linear : sampler.linear};
    const i64 last = i64{texture.last_level} - texture.first_level;
    const i64 inside = std::clamp<i64>(biased, 0, last * kLodOne);
    if (sampler.mip == MipFilter::POINT) {
        choice.level += static_cast<u32>(std::min((inside + kLodOne / 2) / kLodOne, last));
    } else if (sampler.mip == MipFilter::LINEAR) {
        choice.level += static_cast<u32>(inside / kLodOne);
        choice.fraction = static_cast<u32>(inside % kLodOne);
    }
    return choice;
}

}  // namespace gpu::sm
