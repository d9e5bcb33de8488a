// Levels of detail: from what an instruction says, or from how far apart neighbouring pixels are, to the levels that a
// filter reads. They count 256ths of a level.
#pragma once

#include <array>

#include "gpu_model/sm/exec/texture_header.h"

namespace gpu::sm {

inline constexpr i64 kLodOne = 256;

// A level of detail as an instruction gives it: a float, rounded towards zero. NaN is zero.
i64 explicit_lod(u32 bits);

// How far the coordinates, in texels of the first level, move to the next pixel in each direction of the screen.
struct TextureGradient {
    std::array<double, 3> dx{}, dy{};
};
// The result for no movement at all is lower than every level.
i64 gradient_lod(const TextureGradient& gradient);

struct LevelChoice {
    u32 level = 0;        // of the texture's memory
    u32 fraction = 0;     // weight of the next level in 256ths
    bool linear = false;  // the filter within a level
};
LevelChoice choose_level(const Texture& texture, const Sampler& sampler, i64 lod);

}  // namespace gpu::sm
