// Decoding. Whatever a header asks for that the sampling code does not do is refused by the field's name, so that no
// texel is ever wrong in silence.
#include "gpu_model/sm/exec/texture_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "gpu_model/mem/block_linear.h"

namespace gpu::sm {
namespace {

struct FormatRow {
    u32 value;
    std::array<u8, 4> bits;
};
constexpr FormatRow kTexelFormats[] = {
#define TEXEL(name, value, r, g, b, a) {value, {r, g, b, a}},
#include "gpu_model/sm/exec/texel_formats.def"
#undef TEXEL
};

u32 get(const TextureEntry& entry, EntryField field) {
    return entry_field(entry, field.hi, field.lo);
}

std::string refuse_field(const char* entry, const char* field, u32 value) {
    return fmt::format("{} with {} {:#x}", entry, field, value);
}

u64 round_up_to(u64 value, u64 unit) {
    return (value + unit - 1) / unit * unit;
}
u64 block_bytes(u32 height_log2, u32 depth_log2) {
    return u64{kGobBytes} << (height_log2 + depth_log2);
}
// Bytes of a level: whole blocks.
u64 level_bytes(const TextureLevel& level, u32 texel_bytes, u32 slices) {
    const u64 across = round_up_to(u64{level.width} * texel_bytes, kGobWidth) / kGobWidth;
    const u64 lines = u64{kGobLines} << level.block_height_log2;
    const u64 down = round_up_to(level.height, lines) / lines;
    const u64 deep = round_up_to(slices, u64{1} << level.block_depth_log2) >> level.block_depth_log2;
    return across * down * deep * block_bytes(level.block_height_log2, level.block_depth_log2);
}

// Levels of detail follow one another; a layer's come together, and layers begin at whole blocks of level 0.
std::string decode_levels(const TextureEntry& e, Texture& t) {
    t.levels = get(e, texhead::MAX_MIP_LEVEL) + 1;
    t.first_level = get(e, texhead::RES_VIEW_MIN_MIP_LEVEL);
    t.last_level = get(e, texhead::RES_VIEW_MAX_MIP_LEVEL);
    t.lod_min = get(e, texhead::MIN_LOD_CLAMP);
    if (t.first_level > t.last_level || t.last_level >= t.levels)
        return refuse_field("a block-linear texture header", "RES_VIEW_MAX_MIP_LEVEL", t.last_level);
    if (t.levels == 1 || !(t.is_cube() || t.is_array())) return {};
    const TextureLevel last = t.level(t.levels - 1);
    t.layer_bytes = round_up_to(last.offset + level_bytes(last, t.format.bytes, 1),
                                block_bytes(t.block_height_log2, t.block_depth_log2));
    return {};
}

std::string decode_layout(const TextureEntry& e, Texture& t) {
    constexpr u32 whole_pitch = 32, bits_of_half = 16;
    t.va = get(e, texhead::ADDRESS_BITS31TO0) | u64{get(e, texhead::ADDRESS_BITS48TO32)} << 32;
    const u32 version = get(e, texhead::HEADER_VERSION);
    t.version = static_cast<HeaderVersion>(version);
    if (t.version == HeaderVersion::ONE_D_BUFFER) {
        const u64 width = u64{get(e, texhead::BUFFER_WIDTH_MINUS_ONE_BITS31TO16) << bits_of_half |
                              get(e, texhead::BUFFER_WIDTH_MINUS_ONE_BITS15TO0)} +
                          1;
        constexpr u64 width_max = u64{1} << 31;
        if (width > width_max) return refuse_field("a texture header", "WIDTH_MINUS_ONE", static_cast<u32>(width - 1));
        t.width = static_cast<u32>(width);
        return {};
    }
    t.width = get(e, texhead::WIDTH_MINUS_ONE) + 1;
    t.height = (get(e, texhead::HEIGHT_MINUS_ONE) | get(e, texhead::HEIGHT_MINUS_ONE_BIT16) << bits_of_half) + 1;
    constexpr u32 depth_bits = 14;
    t.depth = (get(e, texhead::DEPTH_MINUS_ONE) | get(e, texhead::DEPTH_MINUS_ONE_BIT14) << depth_bits) + 1;
    t.normalized = get(e, texhead::NORMALIZED_COORDS) != 0;
    if (t.version == HeaderVersion::PITCH) {
        t.va &= ~u64{whole_pitch - 1};
        t.pitch = get(e, texhead::PITCH_BITS20TO5) * whole_pitch;
        if (t.depth != 1) return refuse_field("a pitch texture header", "DEPTH_MINUS_ONE", t.depth - 1);
        return {};
    }
    if (t.version != HeaderVersion::BLOCKLINEAR) return refuse_field("a texture header", "HEADER_VERSION", version);
    t.va &= ~u64{kGobBytes - 1};
    for (const auto& [field, name] :
         {std::pair{texhead::GOBS_PER_BLOCK_WIDTH, "GOBS_PER_BLOCK_WIDTH"},
          std::pair{texhead::TILE_WIDTH_IN_GOBS, "TILE_WIDTH_IN_GOBS"}, std::pair{texhead::GOB3D, "GOB3D"},
          std::pair{texhead::USE_HEADER_OPT_CONTROL, "USE_HEADER_OPT_CONTROL"}}) {
        if (get(e, field) != 0) return refuse_field("a block-linear texture header", name, get(e, field));
    }
    t.block_height_log2 = get(e, texhead::GOBS_PER_BLOCK_HEIGHT);
    t.block_depth_log2 = get(e, texhead::GOBS_PER_BLOCK_DEPTH);
    if (t.block_height_log2 > kBlockGobsLog2Max || t.block_depth_log2 > kBlockGobsLog2Max)
        return refuse_field("a block-linear texture header", "GOBS_PER_BLOCK_HEIGHT or _DEPTH", t.block_height_log2);
    return decode_levels(e, t);
}

}  // namespace

u32 entry_field(const TextureEntry& entry, u32 hi, u32 lo) {
    const u32 count = hi - lo + 1;
    const u32 mask = count == 32 ? ~u32{0} : (u32{1} << count) - 1;
    return entry[lo / 32] >> (lo % 32) & mask;
}

void set_entry_field(TextureEntry& entry, u32 hi, u32 lo, u32 value) {
    const u32 count = hi - lo + 1;
    const u32 mask = count == 32 ? ~u32{0} : (u32{1} << count) - 1;
    entry[lo / 32] = (entry[lo / 32] & ~(mask << (lo % 32))) | (value & mask) << (lo % 32);
}

TextureLevel Texture::level(u32 index) const {
    constexpr u32 faces = 6;
    const bool flat = type == TextureType::THREE_D;
    TextureLevel at{width, height, is_cube() ? depth * faces : depth, block_height_log2, block_depth_log2, 0};
    // Blocks of smaller levels have no more GOBs than the level fills.
    const auto fitting = [](u32 log2, u32 extent, u32 unit) {
        const u64 units = (u64{extent} + unit - 1) / unit;
        return std::min(log2, static_cast<u32>(std::bit_width(units - 1)));
    };
    for (u32 i = 0; i < index; ++i) {
        at.offset += level_bytes(at, format.bytes, flat ? at.depth : 1);
        at.width = std::max(at.width / 2, 1u);
        at.height = std::max(at.height / 2, 1u);
        if (flat) at.depth = std::max(at.depth / 2, 1u);
        at.block_height_log2 = fitting(block_height_log2, at.height, kGobLines);
        at.block_depth_log2 = fitting(block_depth_log2, flat ? at.depth : 1, 1);
    }
    return at;
}

u64 Texture::byte_va(const TextureLevel& at, u64 x_bytes, u32 y, u32 z) const {
    if (version == HeaderVersion::ONE_D_BUFFER) return va + x_bytes;
    if (version == HeaderVersion::PITCH) return va + u64{y} * pitch + x_bytes;
    const BlockLinearLayout layout{at.block_height_log2, at.block_depth_log2, u64{at.width} * format.bytes, at.height};
    if (layer_bytes != 0) return va + u64{z} * layer_bytes + at.offset + block_linear_offset(layout, x_bytes, y, 0);
    return va + at.offset + block_linear_offset(layout, x_bytes, y, z);
}

std::string decode_texture(const TextureEntry& e, Texture& t) {
    const u32 components = get(e, texhead::COMPONENTS);
    const FormatRow* row = nullptr;
    for (const FormatRow& candidate : kTexelFormats) {
        if (candidate.value == components) row = &candidate;
    }
    if (row == nullptr) return refuse_field("a texture header", "COMPONENTS", components);
    u32 bits = 0;
    for (u8 component : row->bits) bits += component;
    t.format = {row->bits, bits / 8};
    const EntryField types[] = {texhead::R_DATA_TYPE, texhead::G_DATA_TYPE, texhead::B_DATA_TYPE, texhead::A_DATA_TYPE};
    const EntryField sources[] = {texhead::X_SOURCE, texhead::Y_SOURCE, texhead::Z_SOURCE, texhead::W_SOURCE};
    for (std::size_t i = 0; i < t.types.size(); ++i) {
        const u32 type = get(e, types[i]);
        t.types[i] = static_cast<TexelType>(type);
        const u32 width = t.format.bits[i];
        constexpr u32 half = 16, single = 32;
        const bool known = t.types[i] == TexelType::SINT || t.types[i] == TexelType::UINT ||
                           ((t.types[i] == TexelType::SNORM || t.types[i] == TexelType::UNORM) && width <= half) ||
                           (t.types[i] == TexelType::FLOAT && (width == half || width == single));
        if (width != 0 && !known) return refuse_field("a texture header", "DATA_TYPE", type);
        t.sources[i] = static_cast<TexelSource>(get(e, sources[i]));
    }
    t.srgb = get(e, texhead::S_R_G_B_CONVERSION) != 0;
    for (std::size_t i = 0; t.srgb && i < t.types.size(); ++i) {
        constexpr u32 byte_bits = 8;
        if (t.format.bits[i] != 0 && (t.format.bits[i] != byte_bits || t.types[i] != TexelType::UNORM))
            return refuse_field("a texture header of other than UNORM bytes", "S_R_G_B_CONVERSION", 1);
    }
    const u32 type = get(e, texhead::TEXTURE_TYPE);
    t.type = static_cast<TextureType>(type);
    if (type > static_cast<u32>(TextureType::CUBEMAP_ARRAY))
        return refuse_field("a texture header", "TEXTURE_TYPE", type);
    if (std::string wrong = decode_layout(e, t); !wrong.empty()) return wrong;
    if (t.version == HeaderVersion::ONE_D_BUFFER) return {};
    if (get(e, texhead::MULTI_SAMPLE_COUNT) != 0)
        return refuse_field("a texture header", "MULTI_SAMPLE_COUNT", get(e, texhead::MULTI_SAMPLE_COUNT));
    return {};
}

std::string decode_sampler(const TextureEntry& e, Sampler& s) {
    const EntryField wraps[] = {texsamp::ADDRESS_U, texsamp::ADDRESS_V, texsamp::ADDRESS_P};
    for (std::size_t axis = 0; axis < s.wrap.size(); ++axis) {
        const u32 wrap = get(e, wraps[axis]);
        s.wrap[axis] = static_cast<TextureWrap>(wrap);
        constexpr u32 clamp_ogl = 4, last = 5;
        if (wrap == clamp_ogl || wrap > last) return refuse_field("a sampler", "ADDRESS", wrap);
    }
    constexpr u32 point = 1, linear = 2;
    const u32 filter = get(e, texsamp::MAG_FILTER), min_filter = get(e, texsamp::MIN_FILTER);
    if (filter != point && filter != linear) return refuse_field("a sampler", "MAG_FILTER", filter);
    // Guess: what drivers leave at zero reads as point.
    constexpr u32 anisotropic = 3;
    s.linear = filter == linear;
    s.min_linear = min_filter == linear || min_filter == anisotropic;
    s.anisotropic = min_filter == anisotropic && get(e, texsamp::MAX_ANISOTROPY) != 0;
    s.mip = static_cast<MipFilter>(std::max(get(e, texsamp::MIP_FILTER), static_cast<u32>(MipFilter::NONE)));
    s.depth_compare = get(e, texsamp::DEPTH_COMPARE) != 0;
    s.compare = static_cast<DepthCompare>(get(e, texsamp::DEPTH_COMPARE_FUNC));
    constexpr unsigned bias_unused = 32 - (texsamp::MIP_LOD_BIAS.hi - texsamp::MIP_LOD_BIAS.lo + 1);
    s.lod_bias = static_cast<i32>(get(e, texsamp::MIP_LOD_BIAS) << bias_unused) >> bias_unused;
    s.lod_min = get(e, texsamp::MIN_LOD_CLAMP);
    s.lod_max = get(e, texsamp::MAX_LOD_CLAMP);
    s.seamless = get(e, texsamp::CUBEMAP_INTERFACE_FILTERING) != 0;
    if (get(e, texsamp::REDUCTION_FILTER) != 0)
        return refuse_field("a sampler", "REDUCTION_FILTER", get(e, texsamp::REDUCTION_FILTER));
    const EntryField border[] = {texsamp::BORDER_COLOR_R, texsamp::BORDER_COLOR_G, texsamp::BORDER_COLOR_B,
                                 texsamp::BORDER_COLOR_A};
    for (std::size_t i = 0; i < s.border.size(); ++i) s.border[i] = get(e, border[i]);
    return {};
}

}  // namespace gpu::sm
