// Cube maps: which face a direction means, and which texel lies beyond a face's edge.
#pragma once

#include <array>

#include "sim/types.h"

namespace gpu::sm {

inline constexpr sim::u32 kCubeFaces = 6;

// A place on a face, from -1 to 1 on both axes.
struct CubePlace {
    sim::u32 face = 0;
    double s = 0, t = 0;
};
// The axis that the direction is nearest to; of equal ones z, then y.
CubePlace cube_place(const std::array<double, 3>& direction);

struct CubeTexel {
    sim::u32 face = 0;
    sim::i64 x = 0, y = 0;
};
// The texel in whose place (x, y), one beyond one edge of the face, lies. Precondition: only one of x and y is outside.
CubeTexel across_edge(const CubeTexel& outside, sim::i64 size);

}  // namespace gpu::sm
