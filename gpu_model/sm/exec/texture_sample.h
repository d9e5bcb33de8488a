// Reading texels and filtering them. Weights have eight bits, as hardware was measured to use: see texture_sample.cpp.
#pragma once

#include <optional>

#include "gpu_model/sm/exec/texture_lod.h"

namespace gpu::sm {

// The four components that an instruction asks for, after the header's sources.
using TexelValue = std::array<u32, 4>;

// Coordinates as the instruction gives them: x, y, z as bits of floats, or as integers.
struct TexturePoint {
    std::array<u32, 3> at{};
    u32 layer = 0;        // of an array; of an array of cubes the cube
    u32 dimensions = 1;   // how many of `at` count
    std::array<i32, 3> offset{};     // texels
    std::optional<u32> reference{};  // of a depth comparison, bits of a float
};

// All functions answer nothing when the memory faults, and then `fault_va` says where.
class TextureUnit {
public:
    TextureUnit(SmMemory& memory, const Texture& texture) : memory_(memory), texture_(texture) {}

    // lod: before the sampler's bias and bounds.
    std::optional<TexelValue> sample(const Sampler& sampler, const TexturePoint& point, i64 lod);
    // One texel by integers; outside of the texture, or of its levels, every component is zero. clamped: coordinates go to
    // the nearest texel of the level instead.
    std::optional<TexelValue> fetch(const TexturePoint& point, i64 level, bool clamped);
    // One component of the four texels that a linear filter would weigh, counter-clockwise from the lower left.
    std::optional<TexelValue> gather(const Sampler& sampler, const TexturePoint& point, u32 component);
    u64 fault_va() const { return fault_va_; }

    // Whether a linear filter can weigh this texture's texels.
    static bool is_filterable(const Texture& texture);

private:
    // Components as integers: signed ones with their sign, floats as their bits.
    using Raw = std::array<i64, 4>;
    struct Tap {
        Raw raw;
        i64 weight;  // 256ths
    };
    // Taps of a sample: two levels of up to eight texels.
    struct Taps {
        std::array<Tap, 16> tap;
        std::size_t count = 0;
        std::size_t second = 16;  // the first tap of the next level
    };
    // Where a sample lies on a level: positions in 256ths of a texel, and the slice, layer or face.
    struct Spot {
        TextureLevel level;
        std::array<i64, 3> fixed{}, whole{};
        u32 dimensions = 1;
        u32 layer = 0;
        bool on_cube = false;
    };

    std::optional<Raw> read(const TextureLevel& level, u64 x, u64 y, u64 z);
    // A texel, or the border where the sampler says so.
    std::optional<Raw> texel(const Sampler& sampler, const Spot& spot, i64 x, i64 y, i64 z);
    // A texel of a cube's face or beyond one of its edges.
    std::optional<Raw> cube_texel(const Spot& spot, i64 x, i64 y);
    Raw border(const Sampler& sampler) const;
    bool is_srgb(u32 component) const;
    u32 finish(u32 component, i64 raw) const;
    // The weighted sum of one component; zero of one that the format does not have.
    u32 combine(const Taps& taps, u32 component) const;
    u32 compared(const Taps& taps, DepthCompare compare, u32 reference) const;
    TexelValue swizzle(const std::array<u32, 4>& components) const;

    Spot spot_of(const Sampler& sampler, const TexturePoint& point, u32 level, bool linear) const;
    // False: faulted.
    bool add_taps(const Sampler& sampler, const Spot& spot, bool linear, i64 total, Taps& taps);
    bool add_corner(const Spot& spot, const std::array<i64, 4>& weights, Taps& taps);

    SmMemory& memory_;
    const Texture& texture_;
    u64 fault_va_ = 0;
};

// A formatted store's value in the texture's own bits. Precondition: the header decoded.
std::array<u8, 16> pack_texel(const Texture& texture, const TexelValue& value);

}  // namespace gpu::sm
