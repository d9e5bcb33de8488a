// Fields: gpu_model/sm/exec/texture_header.def.
#include "fuzz/textures.h"

#include <cstring>

#include "gpu_model/sm/exec/texture_header.h"

namespace fuzz {

namespace {

using namespace gpu::sm;

struct Texels {
    TexelSizes sizes;
    u32 channels;
    TexelType type;
};
constexpr Texels kTexelKinds[] = {
    {TexelSizes::A8B8G8R8, 4, TexelType::UNORM}, {TexelSizes::R8, 1, TexelType::SINT},
    {TexelSizes::R16, 1, TexelType::SNORM},      {TexelSizes::R16_G16_B16_A16, 4, TexelType::FLOAT},
    {TexelSizes::R32, 1, TexelType::FLOAT},      {TexelSizes::R32_G32_B32_A32, 4, TexelType::UINT},
    {TexelSizes::A8B8G8R8, 4, TexelType::SINT},  {TexelSizes::R16_G16_B16_A16, 4, TexelType::SINT},
};

struct Shape {
    HeaderVersion version;
    TextureType type;
    u32 width, height, depth;
};
constexpr Shape kShapes[] = {
    {HeaderVersion::BLOCKLINEAR, TextureType::TWO_D, 13, 7, 1},
    {HeaderVersion::ONE_D_BUFFER, TextureType::ONE_D_BUFFER, 200, 1, 1},
    {HeaderVersion::PITCH, TextureType::TWO_D_NO_MIPMAP, 13, 7, 1},
    {HeaderVersion::BLOCKLINEAR, TextureType::THREE_D, 9, 5, 3},
    {HeaderVersion::BLOCKLINEAR, TextureType::TWO_D_ARRAY, 9, 5, 3},
    {HeaderVersion::BLOCKLINEAR, TextureType::CUBEMAP, 4, 4, 1},
    {HeaderVersion::BLOCKLINEAR, TextureType::ONE_D_ARRAY, 13, 1, 3},
    {HeaderVersion::BLOCKLINEAR, TextureType::TWO_D, 16, 16, 1},  // with levels
};

void set(TextureEntry& entry, EntryField field, u32 value) {
    set_entry_field(entry, field.hi, field.lo, value);
}

TextureEntry header(u32 number, u64 va) {
    constexpr u32 pitch_bytes = 256, pitch_unit = 32, levels_shape = 7, levels = 4;
    const u32 which = number % u32{std::size(kShapes)};
    const Shape& shape = kShapes[which];
    const Texels& texels = kTexelKinds[number / u32{std::size(kShapes)}];
    TextureEntry e{};
    set(e, texhead::COMPONENTS, static_cast<u32>(texels.sizes));
    const EntryField types[] = {texhead::R_DATA_TYPE, texhead::G_DATA_TYPE, texhead::B_DATA_TYPE, texhead::A_DATA_TYPE};
    const EntryField sources[] = {texhead::X_SOURCE, texhead::Y_SOURCE, texhead::Z_SOURCE, texhead::W_SOURCE};
    for (u32 i = 0; i < std::size(types); ++i) {
        set(e, types[i], static_cast<u32>(texels.type));
        set(e, sources[i], i < texels.channels ? static_cast<u32>(TexelSource::IN_R) + i : 0);
    }
    set(e, texhead::ADDRESS_BITS31TO0, static_cast<u32>(va));
    set(e, texhead::ADDRESS_BITS48TO32, static_cast<u32>(va >> 32));
    set(e, texhead::HEADER_VERSION, static_cast<u32>(shape.version));
    set(e, texhead::TEXTURE_TYPE, static_cast<u32>(shape.type));
    if (shape.version == HeaderVersion::ONE_D_BUFFER) {
        set(e, texhead::BUFFER_WIDTH_MINUS_ONE_BITS15TO0, shape.width - 1);
        return e;
    }
    set(e, texhead::WIDTH_MINUS_ONE, shape.width - 1);
    set(e, texhead::HEIGHT_MINUS_ONE, shape.height - 1);
    set(e, texhead::DEPTH_MINUS_ONE, shape.depth - 1);
    set(e, texhead::NORMALIZED_COORDS, number / u32{std::size(kShapes)} % 2);
    set(e, texhead::S_R_G_B_CONVERSION, number % 3 == 0 && texels.type == TexelType::UNORM ? 1 : 0);
    if (shape.version == HeaderVersion::PITCH) set(e, texhead::PITCH_BITS20TO5, pitch_bytes / pitch_unit);
    if (which == levels_shape) {
        set(e, texhead::MAX_MIP_LEVEL, levels);
        set(e, texhead::RES_VIEW_MAX_MIP_LEVEL, levels);
        set(e, texhead::GOBS_PER_BLOCK_HEIGHT, 1);
    }
    return e;
}

TextureEntry sampler(u32 number) {
    constexpr u32 wraps[] = {0, 1, 2, 3, 5};  // all that are modelled
    TextureEntry e{};
    const EntryField axes[] = {texsamp::ADDRESS_U, texsamp::ADDRESS_V, texsamp::ADDRESS_P};
    for (u32 axis = 0; axis < std::size(axes); ++axis) set(e, axes[axis], wraps[(number + axis) % std::size(wraps)]);
    set(e, texsamp::MAG_FILTER, 1 + number % 2);
    set(e, texsamp::MIN_FILTER, 1 + number / 2 % 2);
    set(e, texsamp::MIP_FILTER, 1 + number / 4 % 3);
    set(e, texsamp::MAX_LOD_CLAMP, 0xFFF);
    return e;
}

// Twice each, so that any of them may be the first of as many.
struct Tables {
    u8 headers[2 * kTextures * kTextureEntry];
    u8 samplers[2 * kSamplers * kTextureEntry];
};
Tables make_tables(u64 texels_va) {
    Tables tables;
    for (u32 i = 0; i < 2 * kTextures; ++i) {
        const TextureEntry entry = header(i % kTextures, texels_va);
        std::memcpy(tables.headers + i * kTextureEntry, entry.data(), kTextureEntry);
    }
    for (u32 i = 0; i < 2 * kSamplers; ++i) {
        const TextureEntry entry = sampler(i % kSamplers);
        std::memcpy(tables.samplers + i * kTextureEntry, entry.data(), kTextureEntry);
    }
    return tables;
}

}  // namespace

void write_textures(std::span<u8> headers, std::span<u8> samplers, u32 first_texture, u32 first_sampler) {
    static const Tables tables = make_tables(kTexelsAt);
    std::memcpy(headers.data(), tables.headers + first_texture % kTextures * kTextureEntry, headers.size());
    std::memcpy(samplers.data(), tables.samplers + first_sampler % kSamplers * kTextureEntry, samplers.size());
}

}  // namespace fuzz
