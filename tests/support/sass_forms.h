// One program for each operand form of each arithmetic instruction, beside the program of its register form: the same
// operands, of which one is an immediate, a constant, a bindless constant or a uniform register. What the form changes is
// where the operand comes from, so both programs store the same results.
// Source of where the operands lie: the form table of the public sm_75 encodings (see isa/decode.cpp).
#pragma once

#include <algorithm>
#include <vector>

#include "gpu_model/sm/isa/opcode_table.h"
#include "tests/support/sass_vectors.h"

namespace test_support {

struct FormVector {
    gpu::sass::Op op;
    u32 form = 0;                    // bits 11:9
    bool bindless = false;           // a constant by handle
    std::vector<Word> program;       // stores R8, R9 and two predicates to data[0..2]
    std::vector<Word> register_form; // the same of form 1
};

namespace forms {
using namespace vectors;
using gpu::sass::Mod;
using gpu::sass::OpcodeRow;
using gpu::sass::Operand;

enum Form : u32 { Registers = 1, ImmediateC, ConstantC, ImmediateB, ConstantB, UniformB, UniformC };

// Registers and uniform registers of the operands (each the first of a pair), places in the constant bank.
constexpr u32 a_register = 4, b_register = 6, c_register = 10, result = 8, predicates = 12;
constexpr u32 a_uniform = 4, b_uniform = 20, c_uniform = 22, handle_uniform = 24, predicates_uniform = 16;
constexpr u32 b_constant = 0x40, c_constant = 0x50;

struct Values {
    u32 a, b, c;  // of doubles the high words; low words are zero
};
inline Values values_of(const OpcodeRow& row) {
    using gpu::sass::Immediate;
    // A mask within the word, a product with a high half, a division that needs its slow path.
    if (row.id == "BMSK" || row.id == "UBMSK") return {5, 11, 0};
    if (row.id == "IMAD_HI") return {0x1234'5678, 0x4000'0001, 0x09ab'cdef};
    if (row.id == "FCHK") return {0x3fc0'0000, 0, 0};
    switch (row.immediate) {
        case Immediate::F32:
            return {0x3fc0'0000, 0x4010'0000, 0xc070'0000};
        case Immediate::F64:
            return {0x3ff8'0000, 0x4002'0000, 0xc00e'0000};
        case Immediate::H2:
            return {0x3e00'4100, 0x4500'3a00, 0xbc80'4000};
        case Immediate::S:
        case Immediate::U:
            break;
    }
    return {0x1234'5678, 11, 0x09ab'cdef};
}

inline bool has(const OpcodeRow& row, Operand operand) {
    return std::find(row.operands.begin(), row.operands.end(), operand) != row.operands.end();
}
inline bool has(const OpcodeRow& row, Mod mod) {
    return std::find(row.modifiers.begin(), row.modifiers.end(), mod) != row.modifiers.end();
}

// Whether the operands are doubles, each the high word of its value. An immediate source of F2I and FRND is, too.
inline bool has_doubles(const OpcodeRow& row) {
    return row.immediate == gpu::sass::Immediate::F64 || row.id == "F2I_64" || row.id == "FRND_64";
}

// Modifiers and predicates that make the operation one that depends on its operands.
inline void set_modifiers(const OpcodeRow& row, Asm& word) {
    constexpr u32 second_predicate = 1, majority = 0xe8, all_quads = 0xf, times_one = 4, less = 1, reciprocal = 4;
    constexpr u32 size_half = 1, size_single = 2, size_double = 3, logical = 3, shift = 4;
    const bool doubles = row.id.ends_with("_64");
    if (has(row, Operand::QuadMask)) word.set(75, 72, all_quads);
    if (has(row, Operand::Pv) || has(row, Operand::OptPv)) word.set(86, 84, second_predicate);
    if (has(row, Operand::Pp) || has(row, Operand::XPp)) word.set(89, 87, pt);
    if (has(row, Operand::OptPr) || has(row, Operand::ExPr)) word.set(70, 68, pt);
    if (has(row, Operand::Lut)) word.set(79, 72, majority);
    if (has(row, Operand::Shift)) word.set(79, 75, shift);
    if (has(row, Mod::Scale)) word.set(86, 84, times_one);
    if (has(row, Mod::CmpInt)) word.set(78, 76, less);
    if (has(row, Mod::CmpFloat) || has(row, Mod::CmpDouble)) word.set(79, 76, less);
    if (has(row, Mod::Function)) word.set(77, 74, reciprocal);
    if (has(row, Mod::ShiftType)) word.set(74, 73, logical);
    if (has(row, Mod::DstFloat)) word.set(76, 75, doubles ? size_double : size_half).set(85, 84, size_single);
    if (has(row, Mod::DstInt)) word.set(76, 75, size_single).set(85, 84, doubles ? size_double : size_single);
    if (has(row, Mod::SrcInt)) word.set(76, 75, doubles ? size_double : size_single).set(85, 84, size_single);
    if (has(row, Mod::DstFloatQ) && !has(row, Mod::SrcInt))
        word.set(76, 75, doubles ? size_double : size_single).set(85, 84, doubles ? size_double : size_single);
}

inline Asm uldc(u32 urd, u32 offset) {
    return Asm(0xab9).set(23, 16, urd).set(53, 38, offset).set(75, 73, 4);
}

inline Asm word_of(const OpcodeRow& row, u32 form, bool bindless) {
    const Values v = values_of(row);
    const bool uniform = row.uniform();
    // The second source of an addition that has no third one stays in bits 63:32.
    const bool only_b = has(row, Operand::fE) || has(row, Operand::hE);
    const bool in_c = (form == ImmediateC || form == ConstantC || form == UniformC);
    const bool takes_c = in_c && !only_b;
    Asm word(row.operation | form << 9);
    set_modifiers(row, word);
    word.set(23, 16, result).set(31, 24, uniform ? a_uniform : a_register);
    word.set(71, 64, in_c ? (uniform ? b_uniform : b_register) : (uniform ? c_uniform : c_register));
    switch (form) {
        case ImmediateB:
        case ImmediateC:
            word.set(63, 32, takes_c ? v.c : v.b);
            break;
        case ConstantB:
        case ConstantC:
            word.set(53, 38, takes_c ? c_constant : b_constant);
            if (bindless) word.set(37, 32, handle_uniform);
            break;
        case UniformB:
        case UniformC:
            word.set(37, 32, takes_c ? c_uniform : b_uniform);
            break;
        default:
            word.set(39, 32, uniform ? b_uniform : b_register);
            break;
    }
    // ISETP and its like keep a predicate where others have their third register.
    if (has(row, Operand::OptPr) || has(row, Operand::ExPr)) word.set(71, 64, 0).set(70, 68, pt);
    if (uniform || bindless || form == UniformB || form == UniformC) word.set(91, 91, 1);
    return word;
}

// Operands everywhere, the word, and its results to memory.
inline std::vector<Word> program_of(const OpcodeRow& row, Asm word) {
    const bool doubles = has_doubles(row);
    const Values v = values_of(row);
    std::vector<Word> words;
    const auto pair = [&](u32 vector, u32 scalar, u32 value) {
        const u32 low = doubles ? 0 : value, high = doubles ? value : 0;
        for (const Word& one : {Word(mov(vector, low)), Word(mov(vector + 1, high)), Word(umov(scalar, low)), Word(umov(scalar + 1, high))})
            words.push_back(one);
    };
    pair(a_register, a_uniform, v.a);
    pair(b_register, b_uniform, v.b);
    pair(c_register, c_uniform, v.c);
    // The bank as a handle: address and size in units of 16 bytes, the size from bit 45 on.
    words.push_back(umov(handle_uniform, static_cast<u32>(SmBench::kBank >> 4)));
    words.push_back(umov(handle_uniform + 1, SmBench::kBankBytes >> 4 << 13));
    words.push_back(mov(result, 0));
    words.push_back(mov(result + 1, 0));
    words.push_back(umov(result, 0));
    words.push_back(umov(result + 1, 0));
    words.push_back(word);
    constexpr u32 two_predicates = 3;
    if (row.uniform()) {
        words.push_back(uniform(0x883, predicates_uniform, urz).set(71, 64, 0).set(63, 32, two_predicates));
        words.push_back(mov_uniform(result, result));
        words.push_back(mov_uniform(result + 1, result + 1));
        words.push_back(mov_uniform(predicates, predicates_uniform));
    } else {
        words.push_back(Asm(0x803).set(23, 16, predicates).set(31, 24, rz).set(39, 32, two_predicates));
    }
    for (const Word& one : {Word(mov(2, static_cast<u32>(SmBench::kData))), Word(mov(3, 0)), Word(stg(2, result)),
                            Word(stg(2, result + 1, 4)), Word(stg(2, predicates, 8)), Word(exit())})
        words.push_back(one);
    return words;
}

// What bank 0 holds at b_constant and c_constant.
inline void fill_bank(const OpcodeRow& row, SmBench& bench) {
    const bool doubles = has_doubles(row);
    const Values v = values_of(row);
    const auto put = [&](u32 offset, u32 value) {
        for (u32 i = 0; i < 4; ++i) bench.bank[offset + i] = static_cast<u8>(value >> (8 * i));
    };
    put(b_constant + (doubles ? 4 : 0), v.b);
    put(c_constant + (doubles ? 4 : 0), v.c);
}
}  // namespace forms

// Of every instruction with arithmetic operands and a result, every form that its row allows but the register form.
inline std::vector<FormVector> form_vectors() {
    using namespace forms;
    std::vector<FormVector> vectors;
    for (const OpcodeRow& row : gpu::sass::opcode_rows()) {
        const bool has_result = has(row, Operand::Rd) || has(row, Operand::Pu);
        if ((row.forms >> Registers & 1) == 0 || !has_result) continue;
        for (u32 form = ImmediateC; form <= UniformC; ++form) {
            if ((row.forms >> form & 1) == 0) continue;
            const bool constant = form == ConstantB || form == ConstantC;
            for (bool bindless : {false, true}) {
                if (bindless && !constant) continue;
                vectors.push_back({gpu::sass::op_of(row), form, bindless, program_of(row, word_of(row, form, bindless)),
                                   program_of(row, word_of(row, Registers, false))});
            }
        }
    }
    return vectors;
}

}  // namespace test_support
