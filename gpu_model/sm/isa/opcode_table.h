// The expanded instruction table of sm75.def: rows, modifiers, and the map from the 12-bit opcode to its row.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "gpu_model/sm/isa/word.h"

namespace gpu::sass {

// One per row of sm75.def.
enum class Op : u8 {
#define SASS(id, ...) id,
#include "gpu_model/sm/isa/sm75.def"
#undef SASS
};
inline constexpr std::size_t kOpCount = 0
#define SASS(...) +1
#include "gpu_model/sm/isa/sm75.def"
#undef SASS
    ;

enum class Mod : u8 {
#define MOD(name, ...) name,
#define MOD2(name, ...) name,
#define FIXED(name, ...) name,
#define COMPUTED(name) name,
#include "gpu_model/sm/isa/modifiers.def"
#undef MOD
#undef MOD2
#undef FIXED
#undef COMPUTED
    None,
};

enum class Operand : u8 {
#define OPERAND(name, meaning) name,
#include "gpu_model/sm/isa/operand_kinds.def"
#undef OPERAND
    NoOperand,
};

// Meanings in the head of sm75.def.
enum class Datapath : u8 { Vector, Uniform, UniformC, UniformZero, Zero, One, Any, Either };
enum class Immediate : u8 { S, U, F32, F64, H2 };
// The unit that issues an instruction; timing gives each its latency and rate.
enum class Pipe : u8 { Int, Fma, Fp64, Half, Xu, Udp, Lsu, Tex, Adu, Control, Tensor };

struct ModifierRow {
    static constexpr std::size_t kTextsMax = 32;
    enum class Kind : u8 { Field, Fixed, Computed };

    std::string_view name;
    Kind kind;
    u8 hi, lo;
    u8 hi2, lo2;   // hi2 == 255: one field only
    std::array<const char*, kTextsMax> texts;   // nullptr: prints as .INVALID<value>

    constexpr u32 value(Word word) const {
        u64 value = word.bits(hi, lo);
        if (hi2 != 255) value = value << (hi2 - lo2 + 1) | word.bits(hi2, lo2);
        return static_cast<u32>(value);
    }
};

// Marks a modifier value that does not decode.
inline constexpr char kRefused[] = "(refused)";

struct OpcodeRow {
    std::string_view id;
    std::string_view text;
    u16 operation;     // bits 8:0
    u8 forms;          // bit f set: bits 11:9 may be f
    Datapath datapath;
    Immediate immediate;
    Pipe pipe;
    std::string_view semantics;
    std::array<Operand, 8> operands;   // NoOperand fills the rest
    std::array<Mod, 8> modifiers;      // None fills the rest

    constexpr bool uniform() const {
        return datapath == Datapath::Uniform || datapath == Datapath::UniformC || datapath == Datapath::UniformZero;
    }
};

// Rows in the order of Op and Mod.
std::span<const OpcodeRow, kOpCount> opcode_rows();
const OpcodeRow& row_of(Op op);
const ModifierRow& row_of(Mod mod);
// nullptr: no row has this opcode (bits 11:0).
const OpcodeRow* find_opcode(u32 opcode);
Op op_of(const OpcodeRow& row);
// Mnemonic of an opcode in named_only.def; empty when it is not there.
std::string_view named_only(u32 opcode);

namespace detail {
constexpr ModifierRow make_modifier(std::string_view name, u8 hi, u8 lo, u8 hi2, u8 lo2,
                                    std::initializer_list<const char*> texts) {
    ModifierRow row{name, ModifierRow::Kind::Field, hi, lo, hi2, lo2, {}};
    std::size_t index = 0;
    for (const char* text : texts) row.texts[index++] = text;
    return row;
}

inline constexpr ModifierRow kModifiers[] = {
#define MOD(name, hi, lo, ...) make_modifier(#name, hi, lo, 255, 255, {__VA_ARGS__}),
#define MOD2(name, hi, lo, hi2, lo2, ...) make_modifier(#name, hi, lo, hi2, lo2, {__VA_ARGS__}),
#define FIXED(name, text) ModifierRow{#name, ModifierRow::Kind::Fixed, 0, 0, 255, 255, {text}},
#define COMPUTED(name) ModifierRow{#name, ModifierRow::Kind::Computed, 0, 0, 255, 255, {}},
#include "gpu_model/sm/isa/modifiers.def"
#undef MOD
#undef MOD2
#undef FIXED
#undef COMPUTED
    ModifierRow{"None", ModifierRow::Kind::Fixed, 0, 0, 255, 255, {""}},
};
}  // namespace detail

// The value of a modifier's field: modifier<Mod::X>(word). Folds into a shift and a mask.
template <Mod M>
constexpr u32 modifier(Word word) {
    constexpr ModifierRow row = detail::kModifiers[static_cast<std::size_t>(M)];
    static_assert(row.kind == ModifierRow::Kind::Field);
    return row.value(word);
}

}  // namespace gpu::sass
