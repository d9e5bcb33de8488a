// Texture and surface instructions. Not modelled, and refused by name: samples (.MS), bias and bounds of the level in the
// instruction, four offsets of one gather, anisotropic filters where the level comes from gradients, and gradients on cubes.
#include <algorithm>
#include <bit>
#include <cstring>

#include "gpu_model/sm/exec/access.h"
#include "gpu_model/sm/exec/atomic_functions.h"
#include "gpu_model/sm/exec/float_functions.h"
#include "gpu_model/sm/exec/operations.h"
#include "gpu_model/sm/exec/texture_operands.h"
#include "gpu_model/sm/exec/texture_sample.h"

namespace gpu::sm {

using sass::Mod;
using sass::Op;

namespace {

constexpr u32 kHeaderIndexBits = 20;  // of a handle; the rest counts samplers

void refuse_texture(Exec& x, const Slot& s, const std::string& what) {
    x.trap(s, TrapReason::UNMODELLED, x.lanes, 0, std::string(s.in.row().text) + ": " + what);
}

u32 register_word(Exec& x, u32 first, u32 word, u32 lane) {
    return first == sass::kRz ? 0 : x.reg(first + word)[lane];
}

bool is_bindless(Op op) {
    switch (op) {
        case Op::TEX_R:
        case Op::TLD_R:
        case Op::TLD4_R:
        case Op::TXD_R:
        case Op::TXQ_R:
        case Op::SULD_P_R:
        case Op::SULD_D_R:
        case Op::SUST_P_R:
        case Op::SUST_D_R:
            return true;
        default:
            return false;
    }
}
bool is_uniform_handle(Op op) {
    return op == Op::TEX_UR || op == Op::TLD_UR || op == Op::TLD4_UR || op == Op::TXD_UR || op == Op::TXQ_UR ||
           op == Op::SULD_D_UR || op == Op::SUST_P_UR || op == Op::SUST_D_UR;
}

// The handle of the forms that keep it in a constant bank. False: trapped.
bool constant_handle(Exec& x, const Slot& s, u32& handle) {
    const u32 bank = static_cast<u32>(sass::at::Bank::get(s.in.word));
    u64 offset = sass::at::BankWords::get(s.in.word) * 4;
    if (is_uniform_handle(s.in.op)) {
        // Guess: the uniform register counts bytes into the bank.
        using HandleRegister = sass::WordField<45, 40>;
        offset = x.warp->uniform[HandleRegister::get(s.in.word)];
    }
    std::array<u8, 4> bytes{};
    if (!x.grid->has_bank(bank) || offset % 4 != 0) {
        x.trap(s, TrapReason::INVALID_CONST_ADDR, x.lanes, offset);
        return false;
    }
    if (!x.grid->read_constant(bank, offset, bytes)) {
        x.trap(s, TrapReason::MMU_FAULT, x.lanes, x.grid->launch().banks[bank].va + offset);
        return false;
    }
    std::memcpy(&handle, bytes.data(), sizeof(handle));
    return true;
}

// An entry of a pool. False: trapped.
bool read_entry(Exec& x, const Slot& s, u64 pool, u32 index, u32 index_max, const char* what, TextureEntry& out) {
    if (index > index_max || pool == 0) {
        refuse_texture(x, s, std::string(what) + " beyond the end of its pool");
        return false;
    }
    std::array<u8, kTextureEntryBytes> bytes{};
    const u64 va = pool + u64{index} * kTextureEntryBytes;
    if (!x.grid->memory().read(va, bytes)) {
        x.trap(s, TrapReason::MMU_FAULT, x.lanes, va);
        return false;
    }
    std::memcpy(out.data(), bytes.data(), sizeof(out));
    return true;
}

// What a handle stands for, remembered from lane to lane of one instruction.
struct Bound {
    bool known = false;
    u32 handle = 0;
    Texture texture;
    Sampler sampler;
};
bool bind(Exec& x, const Slot& s, u32 handle, bool with_sampler, Bound& out) {
    if (out.known && out.handle == handle) return true;
    const TexturePools& pools = x.grid->launch().textures;
    TextureEntry entry;
    const u32 header = handle & ((u32{1} << kHeaderIndexBits) - 1);
    if (!read_entry(x, s, pools.headers, header, pools.header_max, "a texture header", entry)) return false;
    out = {};
    if (std::string wrong = decode_texture(entry, out.texture); !wrong.empty()) {
        refuse_texture(x, s, wrong);
        return false;
    }
    if (with_sampler) {
        if (!read_entry(x, s, pools.samplers, handle >> kHeaderIndexBits, pools.sampler_max, "a sampler", entry))
            return false;
        if (std::string wrong = decode_sampler(entry, out.sampler); !wrong.empty()) {
            refuse_texture(x, s, wrong);
            return false;
        }
        if ((out.sampler.linear || out.sampler.min_linear) && !TextureUnit::is_filterable(out.texture)) {
            refuse_texture(x, s, "a linear filter of integers");
            return false;
        }
    }
    out.known = true;
    out.handle = handle;
    return true;
}

// The components that the mask 75:72 names, packed: two in Rd, two in the second destination.
class Results {
public:
    explicit Results(const Slot& s)
        : rd_(s.in.rd),
          rd2_(static_cast<u32>(sass::at::Rc::get(s.in.word))),
          mask_(static_cast<u32>(s.in.word.bits(75, 72))) {}
    void keep(u32 lane, const TexelValue& value) { values_[lane] = value; }
    // Registers change when every lane has its texel: a coordinate may lie in the destination.
    void write(Exec& x, u32 lanes) const {
        u32 place = 0;
        for (u32 component = 0; component < 4; ++component) {
            if ((mask_ >> component & 1) == 0) continue;
            const u32 first = place < 2 ? rd_ : rd2_;
            if (first != sass::kRz) {
                u32* d = x.reg(first + place % 2);
                for_lanes(lanes, [&](u32 lane) { d[lane] = values_[lane][component]; });
            }
            ++place;
        }
    }

private:
    u32 rd_, rd2_, mask_;
    std::array<TexelValue, kLanes> values_{};
};

// The operand list of one lane.
struct LaneOperands {
    std::array<u32, 12> word{};  // of TXD: a handle, three coordinates, a word of offsets, six gradients
};
LaneOperands lane_operands(Exec& x, const Slot& s, const TextureOperands& shape, u32 lane) {
    LaneOperands list;
    const u32 rb = static_cast<u32>(sass::at::Rb::get(s.in.word));
    u32 at = 0;
    for (u32 k = 0; k < shape.in_ra; ++k) list.word[at++] = register_word(x, s.in.ra, k, lane);
    for (u32 k = 0; k < shape.in_rb && at < list.word.size(); ++k) list.word[at++] = register_word(x, rb, k, lane);
    return list;
}

// A signed field of an offset word.
i32 offset_at(u32 word, unsigned lo, unsigned bits) {
    const unsigned unused = 32 - bits;
    return static_cast<i32>(word << (unused - lo)) >> unused;
}
void set_offsets(TexturePoint& point, u32 word, unsigned apart, unsigned bits) {
    for (unsigned axis = 0; axis < point.dimensions; ++axis) point.offset[axis] = offset_at(word, axis * apart, bits);
}

// Of TEX, TLD and TLD4.
TexturePoint point_of(const LaneOperands& list, const TextureOperands& shape, bool gathers) {
    TexturePoint point;
    point.dimensions = shape.coordinates;
    if (shape.array != 0) point.layer = list.word[0] & 0xffff;
    for (u32 k = 0; k < shape.coordinates; ++k) point.at[k] = list.word[shape.array + k];
    const u32 after = u32{shape.array} + shape.coordinates + shape.handle + shape.level;
    constexpr unsigned nibble = 4, gather_apart = 8, gather_bits = 6;
    if (shape.offset != 0 && gathers) set_offsets(point, list.word[after], gather_apart, gather_bits);
    if (shape.offset != 0 && !gathers) set_offsets(point, list.word[after], nibble, nibble);
    if (shape.reference != 0) point.reference = list.word[after + shape.offset];
    return point;
}

bool is_cube(const Slot& s) {
    const auto dim = static_cast<TextureDim>(s.in.word.bits(63, 61));
    return dim == TextureDim::CUBE || dim == TextureDim::ARRAY_CUBE || dim == TextureDim::INVALID6;
}

// Cubes are sampled by TEX and TLD4, and only by their forms for cubes. True: refused.
bool refuses_cube(Exec& x, const Slot& s, const Bound& bound) {
    const bool queries = s.in.op == Op::TXQ || s.in.op == Op::TXQ_UR || s.in.op == Op::TXQ_R;
    const bool samples = s.in.op == Op::TEX || s.in.op == Op::TEX_UR || s.in.op == Op::TEX_R || s.in.op == Op::TLD4 ||
                         s.in.op == Op::TLD4_UR || s.in.op == Op::TLD4_R;
    const bool cube = bound.texture.is_cube();
    const bool square = bound.texture.width == bound.texture.height;
    if (queries || (cube == is_cube(s) && (!cube || (samples && square)))) return false;
    refuse_texture(x, s, samples && cube && !square ? "a cube map whose faces are not square" : "a cube map in this form");
    return true;
}

// Runs `read` for each lane with its texture bound. read(unit, bound, list, lane) answers the lane's value; nothing when the
// memory faulted or it has trapped.
template <typename Read>
void each_texel(Exec& x, Slot& s, bool with_sampler, u32 handle_at, const TextureOperands& shape, Read read) {
    Bound bound;
    u32 handle = 0;
    if (!is_bindless(s.in.op) && !constant_handle(x, s, handle)) return;
    Results results(s);
    for (u32 rest = x.lanes; rest != 0; rest &= rest - 1) {
        const u32 lane = static_cast<u32>(std::countr_zero(rest));
        const LaneOperands list = lane_operands(x, s, shape, lane);
        if (is_bindless(s.in.op)) handle = list.word[handle_at];
        if (!bind(x, s, handle, with_sampler, bound) || refuses_cube(x, s, bound)) return;
        TextureUnit unit(x.grid->memory(), bound.texture);
        const std::optional<TexelValue> value = read(unit, bound, list, lane);
        if (!value) {
            // Keeps an earlier trap.
            x.trap(s, TrapReason::MMU_FAULT, lane_bit(lane), unit.fault_va());
            return;
        }
        results.keep(lane, *value);
    }
    results.write(x, x.lanes);
}

// What is the same in TEX, TLD, TLD4 and TXD. True: refused.
bool refuses_common(Exec& x, Slot& s) {
    if (static_cast<TextureDim>(s.in.word.bits(63, 61)) != TextureDim::INVALID6) return false;
    x.trap(s, TrapReason::ILLEGAL_INSTR_PARAM, x.lanes);
    return true;
}

enum TexLodMode : u32 { LodAuto = 0, LodZero = 1, LodExplicit = 3 };

// Coordinates' gradients in texels of the first level.
void set_gradient(const Texture& texture, u32 axis, double dx, double dy, TextureGradient& out) {
    const TextureLevel first = texture.level(texture.first_level);
    const u32 sizes[] = {first.width, first.height, first.depth};
    const double scale = texture.normalized ? static_cast<double>(sizes[axis]) : 1.0;
    out.dx[axis] = dx * scale;
    out.dy[axis] = dy * scale;
}

// Whether a level from gradients would matter and cannot be had. True: refused.
bool refuses_gradient(Exec& x, const Slot& s, const Bound& bound) {
    const bool anisotropic = bound.sampler.anisotropic, cube = bound.texture.is_cube();
    if (!anisotropic && !(cube && bound.texture.levels > 1)) return false;
    refuse_texture(x, s, anisotropic ? "an anisotropic filter" : "gradients on a cube map");
    return true;
}

double as_real(u32 bits) {
    return static_cast<double>(std::bit_cast<float>(bits));
}

}  // namespace

void op_tex(Exec& x, Slot& s) {
    if (refuses_common(x, s)) return;
    const u32 lod = s.in.mod<Mod::TexLod>();
    if (lod != LodAuto && lod != LodZero && lod != LodExplicit) {
        refuse_texture(x, s, "a level of detail with bias or clamp");
        return;
    }
    const TextureOperands shape = texture_operands(s.in);
    const u32 handle_at = shape.array + u32{shape.coordinates};
    each_texel(x, s, true, handle_at, shape, [&](TextureUnit& unit, const Bound& bound, const LaneOperands& list, u32 lane) {
        i64 level = 0;
        if (lod == LodExplicit) level = explicit_lod(list.word[handle_at + shape.handle]);
        // Neighbours of a quad: the second lane lies in x, the third in y. Coordinates of lanes that do not take part are
        // what their registers hold.
        if (lod == LodAuto && bound.texture.levels > 1) {
            if (refuses_gradient(x, s, bound)) return std::optional<TexelValue>();
            const u32 quad = lane & ~u32{3};
            const LaneOperands here = lane_operands(x, s, shape, quad), right = lane_operands(x, s, shape, quad + 1);
            const LaneOperands below = lane_operands(x, s, shape, quad + 2);
            TextureGradient gradient;
            for (u32 k = 0; k < shape.coordinates; ++k) {
                const u32 at = shape.array + k;
                set_gradient(bound.texture, k, as_real(right.word[at]) - as_real(here.word[at]),
                             as_real(below.word[at]) - as_real(here.word[at]), gradient);
            }
            level = gradient_lod(gradient);
        }
        return unit.sample(bound.sampler, point_of(list, shape, false), level);
    });
}

void op_txd(Exec& x, Slot& s) {
    if (refuses_common(x, s)) return;
    const TextureOperands shape = texture_operands(s.in);
    each_texel(x, s, true, 0, shape, [&](TextureUnit& unit, const Bound& bound, const LaneOperands& list, u32) {
        if (refuses_gradient(x, s, bound)) return std::optional<TexelValue>();
        TexturePoint point;
        point.dimensions = shape.coordinates;
        for (u32 k = 0; k < shape.coordinates; ++k) point.at[k] = list.word[u32{shape.handle} + k];
        const u32 after = u32{shape.handle} + shape.coordinates, gradients = after + shape.last;
        constexpr unsigned nibble = 4, layer_bits = 16;
        if (shape.last != 0) {
            point.layer = list.word[after] & 0xffff;
            if (s.in.mod<Mod::TexOffset>() != 0) set_offsets(point, list.word[after] >> layer_bits, nibble, nibble);
        }
        TextureGradient gradient;
        for (u32 k = 0; k < shape.coordinates; ++k)
            set_gradient(bound.texture, k, as_real(list.word[gradients + 2 * k]), as_real(list.word[gradients + 2 * k + 1]),
                         gradient);
        return unit.sample(bound.sampler, point, gradient_lod(gradient));
    });
}

void op_tld(Exec& x, Slot& s) {
    if (refuses_common(x, s)) return;
    const u32 lod = s.in.mod<Mod::TexLod>();
    if ((lod != LodZero && lod != LodExplicit) || s.in.mod<Mod::TexMultisample>() != 0) {
        refuse_texture(x, s, "samples, or a level of detail that is not explicit");
        return;
    }
    const TextureOperands shape = texture_operands(s.in);
    const u32 handle_at = shape.array + u32{shape.coordinates};
    const bool clamped = s.in.mod<Mod::TexClamp>() != 0;
    each_texel(x, s, false, handle_at, shape, [&](TextureUnit& unit, const Bound&, const LaneOperands& list, u32) {
        const i64 level = lod == LodExplicit ? static_cast<i32>(list.word[handle_at + shape.handle]) : 0;
        return unit.fetch(point_of(list, shape, false), level, clamped);
    });
}

void op_tld4(Exec& x, Slot& s) {
    if (refuses_common(x, s)) return;
    const TextureOperands shape = texture_operands(s.in);
    constexpr u32 two_dimensions = 2, four_offsets = 2;
    if (s.in.mod<Mod::GatherOffset>() >= four_offsets || (shape.coordinates != two_dimensions && !is_cube(s))) {
        refuse_texture(x, s, "four offsets, or one dimension or three");
        return;
    }
    const u32 handle_at = shape.array + u32{shape.coordinates}, part = s.in.mod<Mod::GatherPart>();
    each_texel(x, s, true, handle_at, shape, [&](TextureUnit& unit, const Bound& bound, const LaneOperands& list, u32) {
        return unit.gather(bound.sampler, point_of(list, shape, true), part);
    });
}

void op_txq(Exec& x, Slot& s) {
    using Query = sass::WordField<63, 62>;
    if (Query::get(s.in.word) != 0) {
        refuse_texture(x, s, "a query other than the dimensions");
        return;
    }
    const TextureOperands shape = texture_operands(s.in);
    each_texel(x, s, false, 0, shape, [&](TextureUnit&, const Bound& bound, const LaneOperands& list, u32) {
        const Texture& t = bound.texture;
        const u32 levels = t.last_level - t.first_level + 1, level = list.word[shape.handle];
        // Beyond the last level there is nothing.
        if (level >= levels) return std::optional<TexelValue>(TexelValue{0, 0, 0, levels});
        const TextureLevel at = t.level(t.first_level + level);
        // An extent that the type does not have reads as zero; the layers come after the extents.
        const bool line_array = t.type == TextureType::ONE_D_ARRAY;
        const bool has_height = t.is_cube() || t.type == TextureType::TWO_D || t.type == TextureType::TWO_D_ARRAY ||
                                t.type == TextureType::THREE_D || t.type == TextureType::TWO_D_NO_MIPMAP;
        const bool has_depth = t.type == TextureType::THREE_D || t.type == TextureType::TWO_D_ARRAY;
        const u32 cubes = t.type == TextureType::CUBEMAP_ARRAY ? t.depth : 0;
        return std::optional<TexelValue>(
            TexelValue{at.width, line_array ? t.depth : has_height ? at.height : 0, has_depth ? at.depth : cubes, levels});
    });
}

namespace {

// Where a surface instruction accesses in one lane.
struct SurfacePlace {
    bool inside = false;
    u64 va = 0;
};

// The class's clamp modes: what an access outside of the surface does.
enum SurfaceClamp : u32 { Ignore = 0, Near = 1, Trap = 2 };

// access_bytes: of byte-addressed instructions; 0: x counts texels. False: trapped.
bool surface_place(Exec& x, const Slot& s, const Texture& t, u32 lane, u32 access_bytes, SurfacePlace& out) {
    const auto dim = static_cast<SurfaceDim>(s.in.word.bits(63, 61));
    const u32 words = surface_words(s.in);
    std::array<i64, 3> at{};
    for (u32 k = 0; k < words; ++k) at[k] = static_cast<i32>(register_word(x, s.in.ra, k, lane));
    i64 layer = 0;
    if (dim == SurfaceDim::ONE_D_ARRAY) layer = at[1], at[1] = 0;
    if (dim == SurfaceDim::TWO_D_ARRAY || dim == SurfaceDim::THREE_D) layer = at[2];
    const u32 unit = access_bytes == 0 ? t.format.bytes : 1, reach = access_bytes == 0 ? t.format.bytes : access_bytes;
    const i64 row = i64{t.width} * t.format.bytes;
    i64 first = at[0] * unit, y = at[1];
    out.inside = first >= 0 && first + reach <= row && y >= 0 && y < t.height && layer >= 0 && layer < t.depth;
    const u32 clamp = s.in.mod<Mod::SurfClamp>();
    if (!out.inside && clamp == Trap) {
        x.trap(s, TrapReason::OOR_ADDR, lane_bit(lane), static_cast<u64>(first));
        return false;
    }
    if (!out.inside && clamp == Near && row >= reach) {
        first = std::clamp<i64>(first, 0, row - reach);
        first -= first % reach;
        y = std::clamp<i64>(y, 0, i64{t.height} - 1);
        layer = std::clamp<i64>(layer, 0, i64{t.depth} - 1);
        out.inside = true;
    }
    if (!out.inside) return true;
    if (first % reach != 0) {
        x.trap(s, TrapReason::MISALIGNED_ADDR, lane_bit(lane), static_cast<u64>(first));
        return false;
    }
    out.va = t.byte_va(static_cast<u64>(first), static_cast<u32>(y), static_cast<u32>(layer));
    return true;
}

// Runs `access` for each lane that reaches the surface; `outside` for the others. False from either: trapped.
template <typename Access, typename Outside>
void each_surface(Exec& x, Slot& s, u32 access_bytes, Access access, Outside outside) {
    if (surface_words(s.in) == 0) {
        x.trap(s, TrapReason::ILLEGAL_INSTR_PARAM, x.lanes);
        return;
    }
    Bound bound;
    u32 handle = 0;
    if (!is_bindless(s.in.op) && !constant_handle(x, s, handle)) return;
    for (u32 rest = x.lanes; rest != 0; rest &= rest - 1) {
        const u32 lane = static_cast<u32>(std::countr_zero(rest));
        if (is_bindless(s.in.op)) handle = register_word(x, static_cast<u32>(sass::at::Rc::get(s.in.word)), 0, lane);
        SurfacePlace place;
        if (!bind(x, s, handle, false, bound) || !surface_place(x, s, bound.texture, lane, access_bytes, place)) return;
        if (!place.inside) {
            outside(lane);
        } else if (!access(lane, place.va, bound.texture)) {
            x.trap(s, TrapReason::MMU_FAULT, lane_bit(lane), place.va);
            return;
        }
        x.completed |= lane_bit(lane);
    }
}

u32 surface_bytes(const Slot& s) {
    constexpr u32 bytes[] = {1, 1, 2, 2, 4, 8, 16, 16};
    return bytes[s.in.mod<Mod::Size>() & 7];
}

}  // namespace

void op_suld(Exec& x, Slot& s) {
    if (s.in.op == Op::SULD_P_R || s.in.mod<Mod::SurfByte>() == 0) {
        refuse_texture(x, s, "a formatted load");
        return;
    }
    constexpr u32 signed8 = 1, signed16 = 3;
    const u32 bytes = surface_bytes(s), size = s.in.mod<Mod::Size>();
    const auto put = [&](u32 lane, const std::array<u32, 4>& words) {
        if (s.in.rd == sass::kRz) return;
        for (u32 k = 0; k < (bytes + 3) / 4; ++k) x.reg(s.in.rd + k)[lane] = words[k];
    };
    each_surface(
        x, s, bytes,
        [&](u32 lane, u64 va, const Texture&) {
            std::array<u8, 16> raw{};
            if (!x.grid->memory().read(va, std::span(raw).first(bytes))) return false;
            std::array<u32, 4> words{};
            std::memcpy(words.data(), raw.data(), sizeof(words));
            if (size == signed8) words[0] = static_cast<u32>(i32{static_cast<i8>(words[0])});
            if (size == signed16) words[0] = static_cast<u32>(i32{static_cast<i16>(words[0])});
            put(lane, words);
            return true;
        },
        [&](u32 lane) { put(lane, {}); });
}

void op_sust(Exec& x, Slot& s) {
    const bool formatted = s.in.op == Op::SUST_P || s.in.op == Op::SUST_P_UR || s.in.op == Op::SUST_P_R;
    if (!formatted && s.in.mod<Mod::SurfByte>() == 0) {
        refuse_texture(x, s, "a store without .BA");
        return;
    }
    const u32 source = static_cast<u32>(sass::at::Rb::get(s.in.word));
    // Components that the mask leaves out are stored as zero.
    const u32 mask = s.in.mod<Mod::SurfMask>();
    constexpr u32 red = 1, red_green = 3, all = 0xf;
    if (formatted && mask != red && mask != red_green && mask != all) {
        refuse_texture(x, s, "other components than the first, the first two or all");
        return;
    }
    const u32 count = formatted ? static_cast<u32>(std::popcount(mask)) : (surface_bytes(s) + 3) / 4;
    each_surface(
        x, s, formatted ? 0 : surface_bytes(s),
        [&](u32 lane, u64 va, const Texture& texture) {
            TexelValue value{};
            for (u32 k = 0; k < count; ++k) value[k] = register_word(x, source, k, lane);
            std::array<u8, 16> raw{};
            std::memcpy(raw.data(), value.data(), sizeof(raw));
            if (formatted) raw = pack_texel(texture, value);
            const u32 bytes = formatted ? texture.format.bytes : surface_bytes(s);
            if (!x.grid->memory().write(va, std::span(raw).first(bytes))) return false;
            x.grid->stored(va, bytes);
            return true;
        },
        [](u32) {});
}

void op_sured(Exec& x, Slot& s) {
    // Without .BA the coordinate counts texels of 32 bits, and a type of this value leaves the sign to the surface.
    constexpr u32 word_bytes = 4, type_u32 = 0, type_s32 = 1, type_of_surface = 6;
    const u32 operation = s.in.mod<Mod::RedOp>(), coded = s.in.mod<Mod::AtomType>();
    const bool bytes_addressed = s.in.mod<Mod::SurfByte>() != 0;
    const bool from_surface = !bytes_addressed && (coded == type_u32 || coded == type_of_surface);
    if (!from_surface && (!bytes_addressed || coded == type_of_surface || !atomic_exists(operation, coded))) {
        refuse_texture(x, s, "a reduction that compiled code does not use");
        return;
    }
    const u32 bytes = from_surface ? word_bytes : atomic_bytes(coded);
    const u32 source = static_cast<u32>(sass::at::Rb::get(s.in.word));
    each_surface(
        x, s, bytes_addressed ? bytes : 0,
        [&](u32 lane, u64 va, const Texture& texture) {
            if (from_surface && texture.format.bytes != word_bytes) {
                refuse_texture(x, s, "a reduction of texels that are not words");
                return false;
            }
            const u32 type = !from_surface ? coded : texture.types[0] == TexelType::SINT ? type_s32 : type_u32;
            std::array<u8, 8> raw{};
            const std::span<u8> place = std::span(raw).first(bytes);
            if (!x.grid->memory().may_modify(va, bytes) || !x.grid->memory().read(va, place)) return false;
            u64 old = 0;
            std::memcpy(&old, raw.data(), sizeof(old));
            const u64 high = bytes > word_bytes ? u64{register_word(x, source, 1, lane)} << 32 : 0;
            const u64 result = atomic_result(operation, type, old, register_word(x, source, 0, lane) | high);
            std::memcpy(raw.data(), &result, sizeof(result));
            if (!x.grid->memory().write(va, place)) return false;
            x.grid->stored(va, bytes);
            return true;
        },
        [](u32) {});
}

}  // namespace gpu::sm
