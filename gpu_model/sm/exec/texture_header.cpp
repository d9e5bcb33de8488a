// Decoding. Whatever a header asks for that the sampling code does not do is refused by the field's name, so that no
// texel is ever wrong in silence.
#include "gpu_model/sm/exec/texture_header.h"

#include <fmt/format.h>

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
          std::pair{texhead::RES_VIEW_MIN_MIP_LEVEL, "RES_VIEW_MIN_MIP_LEVEL"},
          std::pair{texhead::RES_VIEW_MAX_MIP_LEVEL, "RES_VIEW_MAX_MIP_LEVEL"}}) {
        if (get(e, field) != 0) return refuse_field("a block-linear texture header", name, get(e, field));
    }
    t.block_height_log2 = get(e, texhead::GOBS_PER_BLOCK_HEIGHT);
    t.block_depth_log2 = get(e, texhead::GOBS_PER_BLOCK_DEPTH);
    if (t.block_height_log2 > kBlockGobsLog2Max || t.block_depth_log2 > kBlockGobsLog2Max)
        return refuse_field("a block-linear texture header", "GOBS_PER_BLOCK_HEIGHT or _DEPTH", t.block_height_log2);
    return {};
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

u64 Texture::byte_va(u64 x_bytes, u32 y, u32 z) const {
    if (version == HeaderVersion::ONE_D_BUFFER) return va + x_bytes;
    if (version == HeaderVersion::PITCH) return va + u64{y} * pitch + x_bytes;
    const BlockLinearLayout layout{block_height_log2, block_depth_log2, u64{width} * format.bytes, height};
    return va + block_linear_offset(layout, x_bytes, y, z);
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
    if (get(e, texhead::S_R_G_B_CONVERSION) != 0) return refuse_field("a texture header", "S_R_G_B_CONVERSION", 1);
    const u32 type = get(e, texhead::TEXTURE_TYPE);
    t.type = static_cast<TextureType>(type);
    if (type > static_cast<u32>(TextureType::CUBEMAP_ARRAY))
        return refuse_field("a texture header", "TEXTURE_TYPE", type);
    if (std::string wrong = decode_layout(e, t); !wrong.empty()) return wrong;
    if (t.version == HeaderVersion::ONE_D_BUFFER) return {};
    if (get(e, texhead::MULTI_SAMPLE_COUNT) != 0)
        return refuse_field("a texture header", "MULTI_SAMPLE_COUNT", get(e, texhead::MULTI_SAMPLE_COUNT));
    if (get(e, texhead::DEPTH_TEXTURE) != 0) return refuse_field("a texture header", "DEPTH_TEXTURE", 1);
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
    const u32 filter = get(e, texsamp::MAG_FILTER);
    if (filter != point && filter != linear) return refuse_field("a sampler", "MAG_FILTER", filter);
    s.linear = filter == linear;
    if (get(e, texsamp::DEPTH_COMPARE) != 0) return refuse_field("a sampler", "DEPTH_COMPARE", 1);
    s.seamless = get(e, texsamp::CUBEMAP_INTERFACE_FILTERING) != 0;
    if (get(e, texsamp::REDUCTION_FILTER) != 0)
        return refuse_field("a sampler", "REDUCTION_FILTER", get(e, texsamp::REDUCTION_FILTER));
    const EntryField border[] = {texsamp::BORDER_COLOR_R, texsamp::BORDER_COLOR_G, texsamp::BORDER_COLOR_B,
                                 texsamp::BORDER_COLOR_A};
    for (std::size_t i = 0; i < s.border.size(); ++i) s.border[i] = get(e, border[i]);
    return {};
}

}  // namespace gpu::sm
