// The faces' axes are those of the graphics interfaces; measured results agree.
#include "gpu_model/sm/exec/texture_cube.h"

#include <cmath>

namespace gpu::sm {

using sim::i64;
using sim::u32;

namespace {

// Of a face: the axis it stands on, and those along which s and t grow, each with a sign.
struct FaceAxes {
    u32 axis;
    i64 sign;
    u32 s_axis;
    i64 s_sign;
    u32 t_axis;
    i64 t_sign;
};
constexpr u32 kX = 0, kY = 1, kZ = 2;
constexpr FaceAxes kFaces[kCubeFaces] = {
    {kX, 1, kZ, -1, kY, -1}, {kX, -1, kZ, 1, kY, -1}, {kY, 1, kX, 1, kZ, 1},
    {kY, -1, kX, 1, kZ, -1}, {kZ, 1, kX, 1, kY, -1},  {kZ, -1, kX, -1, kY, -1},
};

}  // namespace

CubePlace cube_place(const std::array<double, 3>& direction) {
    const double far_x = std::abs(direction[kX]), far_y = std::abs(direction[kY]), far_z = std::abs(direction[kZ]);
    const u32 axis = far_z >= far_x && far_z >= far_y ? kZ : far_y >= far_x ? kY : kX;
    const u32 face = axis * 2 + (direction[axis] >= 0 ? 0 : 1);
    const FaceAxes& f = kFaces[face];
    return {face, static_cast<double>(f.s_sign) * direction[f.s_axis], static_cast<double>(f.t_sign) * direction[f.t_axis]};
}

CubeTexel across_edge(const CubeTexel& outside, i64 size) {
    // Texel centres in units of half a texel, from the middle of the cube, whose faces are `size` away.
    const FaceAxes& from = kFaces[outside.face];
    std::array<i64, 3> point{};
    point[from.axis] = from.sign * size;
    point[from.s_axis] = from.s_sign * (2 * outside.x + 1 - size);
    point[from.t_axis] = from.t_sign * (2 * outside.y + 1 - size);
    // Beyond an edge the surface of the cube turns: the excess goes along the old face's axis.
    const u32 over = outside.x < 0 || outside.x >= size ? from.s_axis : from.t_axis;
    point[from.axis] = from.sign * (size - 1);
    const u32 face = over * 2 + (point[over] >= 0 ? 0 : 1);
    const FaceAxes& to = kFaces[face];
    return {face, (to.s_sign * point[to.s_axis] + size - 1) / 2, (to.t_sign * point[to.t_axis] + size - 1) / 2};
}

}  // namespace gpu::sm
