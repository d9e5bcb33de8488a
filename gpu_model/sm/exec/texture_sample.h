// Reading texels and filtering them. Weights have eight bits, as hardware was measured to use: see weights_2d.
#pragma once

#include <optional>

#include "gpu_model/sm/exec/texture_header.h"

namespace gpu::sm {

// The four components that an instruction asks for, after the header's sources.
using TexelValue = std::array<u32, 4>;

// Coordinates as the instruction gives them: x, y, z as bits of floats, or as integers.
struct TexturePoint {
    std::array<u32, 3> at{};
    u32 layer = 0;       // of an array; of an array of cubes the cube
    u32 dimensions = 1;  // how many of `at` count
};

// All functions answer nothing when the memory faults, and then `fault_va` says where.
class TextureUnit {
public:
    TextureUnit(SmMemory& memory, const Texture& texture) : memory_(memory), texture_(texture) {}

    std::optional<TexelValue> sample(const Sampler& sampler, const TexturePoint& point);
    // One texel by integers; outside of the texture every component is zero.
    std::optional<TexelValue> fetch(const TexturePoint& point);
    // One component of the four texels that a linear filter would weigh, counter-clockwise from the lower left.
    std::optional<TexelValue> gather(const Sampler& sampler, const TexturePoint& point, u32 component);
    u64 fault_va() const { return fault_va_; }

    // Whether a linear filter can weigh this texture's texels.
    static bool is_filterable(const Texture& texture);

private:
    // Components as integers: signed ones with their sign, floats as their bits.
    using Raw = std::array<i64, 4>;

    std::optional<Raw> read(u64 x, u64 y, u64 z);
    // A texel, or the border where the sampler says so.
    std::optional<Raw> texel(const Sampler& sampler, i64 x, i64 y, i64 z, u32 dimensions);
    Raw border(const Sampler& sampler) const;
    u32 finish(u32 component, i64 raw) const;
    TexelValue swizzle(const std::array<u32, 4>& components) const;
    // A direction becomes a place on one of the six faces, which are layers of the texture.
    std::optional<TexelValue> sample_cube(const Sampler& sampler, const TexturePoint& point);
    // Positions in texels, and the layer.
    std::optional<TexelValue> sample_at(const Sampler& sampler, const std::array<u32, 3>& positions, u32 dimensions,
                                        u32 layer);
    std::optional<TexelValue> filter(const Sampler& sampler, const std::array<i64, 3>& fixed, u32 dimensions,
                                     u32 layer);

    SmMemory& memory_;
    const Texture& texture_;
    u64 fault_va_ = 0;
};

// A formatted store's value in the texture's own bits. Precondition: the header decoded.
std::array<u8, 16> pack_texel(const Texture& texture, const TexelValue& value);

}  // namespace gpu::sm
