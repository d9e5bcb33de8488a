// Texture headers and samplers, decoded: what a texture handle stands for.
#pragma once

#include <array>
#include <string>

#include "gpu_model/sm/launch.h"

namespace gpu::sm {

// One entry of a pool.
using TextureEntry = std::array<u32, 8>;
inline constexpr u32 kTextureEntryBytes = 32;

// Names and values as in clc097tex.h.
enum class TexelType : u8 { SNORM = 1, UNORM = 2, SINT = 3, UINT = 4, FLOAT = 7 };
enum class TexelSource : u8 { IN_ZERO = 0, IN_R = 2, IN_G = 3, IN_B = 4, IN_A = 5, IN_ONE_INT = 6, IN_ONE_FLOAT = 7 };
enum class HeaderVersion : u8 { ONE_D_BUFFER = 0, PITCH = 2, BLOCKLINEAR = 3 };
enum class TextureType : u8 {
    ONE_D = 0,
    TWO_D = 1,
    THREE_D = 2,
    CUBEMAP = 3,
    ONE_D_ARRAY = 4,
    TWO_D_ARRAY = 5,
    ONE_D_BUFFER = 6,
    TWO_D_NO_MIPMAP = 7,
    CUBEMAP_ARRAY = 8,
};
enum class TextureWrap : u8 { WRAP = 0, MIRROR = 1, CLAMP_TO_EDGE = 2, BORDER = 3, MIRROR_ONCE_CLAMP_TO_EDGE = 5 };

// COMPONENTS of a header.
enum class TexelSizes : u32 {
#define TEXEL(name, components, ...) name = components,
#include "gpu_model/sm/exec/texel_formats.def"
#undef TEXEL
};

struct TexelFormat {
    std::array<u8, 4> bits{};  // of R, G, B, A; 0: none
    u32 bytes = 0;
};

// One level of detail of a texture.
struct TextureLevel {
    u32 width = 1, height = 1, depth = 1;  // texels; depth: slices, or layers of an array, or faces
    u32 block_height_log2 = 0, block_depth_log2 = 0;
    u64 offset = 0;  // bytes from the texture's address, or its layer's
};

struct Texture {
    HeaderVersion version{};
    TextureType type{};
    TexelFormat format;
    std::array<TexelType, 4> types{};
    std::array<TexelSource, 4> sources{};
    u64 va = 0;
    u32 width = 1, height = 1, depth = 1;  // texels of level 0; depth: slices, or layers of an array, or cubes
    u32 pitch = 0;                         // bytes
    u32 block_height_log2 = 0, block_depth_log2 = 0;
    u32 levels = 1;                         // that the memory holds
    u32 first_level = 0, last_level = 0;    // that instructions see
    u32 lod_min = 0;                        // 256ths of a level
    u64 layer_bytes = 0;                    // of textures whose layers hold more than one level; 0: layers are slices
    bool normalized = false;                // coordinates run from 0 to 1
    bool srgb = false;                      // R, G and B of 8-bit UNORM texels are sRGB

    bool is_cube() const { return type == TextureType::CUBEMAP || type == TextureType::CUBEMAP_ARRAY; }
    bool is_array() const { return type == TextureType::ONE_D_ARRAY || type == TextureType::TWO_D_ARRAY; }
    // Precondition: index < levels.
    TextureLevel level(u32 index) const;
    // Address of a texel of level 0, or of another one. Precondition: x, y, z lie inside.
    u64 texel_va(u32 x, u32 y, u32 z) const { return byte_va(level(0), u64{x} * format.bytes, y, z); }
    u64 texel_va(const TextureLevel& at, u32 x, u32 y, u32 z) const { return byte_va(at, u64{x} * format.bytes, y, z); }
    u64 byte_va(u64 x_bytes, u32 y, u32 z) const { return byte_va(level(0), x_bytes, y, z); }
    u64 byte_va(const TextureLevel& at, u64 x_bytes, u32 y, u32 z) const;
};

// Names and values as in clc097tex.h.
enum class DepthCompare : u8 { NEVER, LESS, EQUAL, LEQUAL, GREATER, NOTEQUAL, GEQUAL, ALWAYS };
enum class MipFilter : u8 { NONE = 1, POINT = 2, LINEAR = 3 };

struct Sampler {
    std::array<TextureWrap, 3> wrap{};
    bool linear = false;      // magnified
    bool min_linear = false;  // minified: beyond level 0
    MipFilter mip = MipFilter::NONE;
    bool anisotropic = false;  // more than one sample along the longer axis
    bool seamless = false;     // a linear filter at the edge of a cube's face reads the next face
    bool depth_compare = false;
    DepthCompare compare{};
    i32 lod_bias = 0;                 // 256ths of a level, like the bounds
    u32 lod_min = 0, lod_max = 0;
    std::array<u32, 4> border{};      // as the sampler has it
};

// What nobody models of an entry, as text with the field's name; empty: it is decoded.
std::string decode_texture(const TextureEntry& entry, Texture& out);
std::string decode_sampler(const TextureEntry& entry, Sampler& out);

// An entry's field by its place.
u32 entry_field(const TextureEntry& entry, u32 hi, u32 lo);
void set_entry_field(TextureEntry& entry, u32 hi, u32 lo, u32 value);
// Places of the fields: texhead::COMPONENTS.lo and so on.
struct EntryField {
    u32 hi, lo;
};
namespace texhead {
#define TEXHEAD(name, hi, lo) inline constexpr EntryField name{hi, lo};
#include "gpu_model/sm/exec/texture_header.def"
#undef TEXHEAD
}  // namespace texhead
namespace texsamp {
#define TEXSAMP(name, hi, lo) inline constexpr EntryField name{hi, lo};
#include "gpu_model/sm/exec/texture_header.def"
#undef TEXSAMP
}  // namespace texsamp

}  // namespace gpu::sm
