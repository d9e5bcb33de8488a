// How texture and surface instructions spread their operands over registers, as compiled code shows it. The operands
// form one list: array layer, coordinates, then the handle when it is in a register (.B), then the level of detail, the
// offsets (.AOFFI) and the reference of a depth comparison (.DC). With .SCR the first half of the list is in Ra and the other
// in Rb; without it the coordinates are in Ra and the rest in Rb. TXD and TXQ keep their handle before the coordinates; TXD
// has layer (15:0) and offsets (31:16) in one word after them, and its gradients in Rb: for each coordinate dx, then dy.
#pragma once

#include "gpu_model/sm/isa/decode.h"

namespace gpu::sm {

// Values of the dimension field 63:61.
enum class TextureDim : u8 { ONE_D, TWO_D, THREE_D, CUBE, ARRAY_1D, ARRAY_2D, INVALID6, ARRAY_CUBE };
enum class SurfaceDim : u8 { ONE_D, ONE_D_BUFFER, ONE_D_ARRAY, TWO_D, TWO_D_ARRAY, THREE_D };

struct TextureOperands {
    u8 array = 0;        // words before the coordinates
    u8 coordinates = 1;  // words
    u8 handle = 0;       // 1: in the list
    u8 level = 0;        // 1: a level of detail in the list
    u8 offset = 0;       // 1: offsets in the list
    u8 reference = 0;    // 1: a reference in the list
    u8 last = 0;         // of TXD: 1: a word of layer and offsets
    u8 in_ra = 0, in_rb = 0;
};

inline TextureOperands texture_operands(const sass::Instruction& in) {
    using sass::Mod;
    using sass::Op;
    constexpr u32 lod_explicit = 3;
    TextureOperands t;
    const auto dim = static_cast<TextureDim>(in.word.bits(63, 61));
    t.array = dim == TextureDim::ARRAY_1D || dim == TextureDim::ARRAY_2D || dim == TextureDim::ARRAY_CUBE ? 1 : 0;
    t.coordinates = dim == TextureDim::ONE_D || dim == TextureDim::ARRAY_1D   ? u8{1}
                    : dim == TextureDim::TWO_D || dim == TextureDim::ARRAY_2D ? u8{2}
                                                                              : u8{3};
    const auto total = [&] {
        return static_cast<u8>(t.array + t.coordinates + t.handle + t.level + t.offset + t.reference + t.last);
    };
    switch (in.op) {
        case Op::TXQ:
        case Op::TXQ_UR:
        case Op::TXQ_R:
            t = {.coordinates = 0, .handle = u8{in.op == Op::TXQ_R}, .level = 1};
            t.in_ra = total();
            return t;
        case Op::TXD:
        case Op::TXD_UR:
        case Op::TXD_R:
            t.handle = in.op == Op::TXD_R ? 1 : 0;
            t.last = t.array != 0 || in.mod<Mod::TexOffset>() != 0 ? 1 : 0;
            t.array = 0;
            t.in_ra = total();
            t.in_rb = static_cast<u8>(2 * t.coordinates);
            return t;
        case Op::TEX_R:
        case Op::TLD_R:
        case Op::TLD4_R:
            t.handle = 1;
            break;
        default:
            break;
    }
    const bool gathers = in.op == Op::TLD4 || in.op == Op::TLD4_UR || in.op == Op::TLD4_R;
    const bool fetches = in.op == Op::TLD || in.op == Op::TLD_UR || in.op == Op::TLD_R;
    t.level = !gathers && in.mod<Mod::TexLod>() == lod_explicit ? 1 : 0;
    t.offset = (gathers ? in.mod<Mod::GatherOffset>() : in.mod<Mod::TexOffset>()) != 0 ? 1 : 0;
    t.reference = !fetches && in.mod<Mod::TexDepth>() != 0 ? 1 : 0;
    if (in.mod<Mod::TexScr>() != 0) {
        t.in_ra = static_cast<u8>((total() + 1) / 2);
        t.in_rb = static_cast<u8>(total() / 2);
    } else {
        t.in_ra = static_cast<u8>(t.array + t.coordinates);
        t.in_rb = static_cast<u8>(t.handle + t.level + t.offset + t.reference);
    }
    return t;
}

// Coordinates of a surface instruction, all in Ra; the layer comes last. 0: no such dimension.
inline u32 surface_words(const sass::Instruction& in) {
    constexpr u32 words[] = {1, 1, 2, 2, 3, 3, 0, 0};
    return words[in.word.bits(63, 61)];
}

}  // namespace gpu::sm
