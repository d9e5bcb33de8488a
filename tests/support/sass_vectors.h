// Instructions that no kernel of the corpus executes, each as a small program with the result that its definition gives.
// Results are R8, which the program's end stores. Together with the corpus and sass_forms.h they reach every row and every
// operand form of the first two tiers.
// Source of the definitions: what the vector instruction of the same name does, one value instead of 32; for branches the
// operand forms that NVIDIA's disassembler prints.
#pragma once

#include <string_view>
#include <vector>

#include "gpu_model/sm/isa/opcode_table.h"
#include "tests/support/sm_bench.h"

namespace test_support {

struct SassVector {
    gpu::sass::Op op;
    std::vector<Word> program;  // begins at SmBench::kCode
    u32 expected = 0;
    bool breaks = false;  // ends as BPT.TRAP, without a result
};

namespace vectors {
using namespace code;
constexpr u32 urz = gpu::sass::kUrz;
constexpr u32 kLess = 1, kEqual = 2;
// Where generic addresses mean shared memory.
constexpr u32 kSharedWindow = 0x4000'0000;

inline Asm umov(u32 urd, u32 immediate) {
    return Asm(0x882).set(23, 16, urd).set(63, 32, immediate);
}
inline Asm mov_uniform(u32 rd, u32 ur) {
    return Asm(0xc02).set(23, 16, rd).set(37, 32, ur).set(75, 72, 0xf).set(91, 91, 1);
}
// An operation of the uniform datapath with two register sources, or a register and an immediate.
inline Asm uniform(u32 opcode, u32 urd, u32 ura) {
    return Asm(opcode).set(23, 16, urd).set(31, 24, ura).set(71, 64, urz).set(83, 81, pt).set(86, 84, pt).set(91, 91, 1);
}
// UP0 = (ura == immediate).
inline Asm uisetp(u32 ura, u32 immediate) {
    return Asm(0x88c).set(31, 24, ura).set(63, 32, immediate).set(78, 76, kEqual).set(83, 81, 0).set(86, 84, pt)
        .set(89, 87, pt).set(70, 68, pt).set(91, 91, 1);
}
// R8 from UR8, to data[0].
inline std::vector<Word> with_end(std::vector<Word> words, bool from_uniform) {
    if (from_uniform) words.push_back(mov_uniform(8, 8));
    for (const Word& word : {Word(mov(2, static_cast<u32>(SmBench::kData))), Word(mov(3, 0)), Word(stg(2, 8)), Word(exit())})
        words.push_back(word);
    return words;
}
// Addresses of shared and local memory: ra + UR + offset.
inline Asm lds(u32 rd, u32 offset) {
    return Asm(0x984).set(23, 16, rd).set(31, 24, rz).set(63, 40, offset).set(75, 73, 4).set(83, 81, pt);
}
inline Asm sts_uniform(u32 ur, u32 rs) {
    return Asm(0x988).set(31, 24, rz).set(39, 32, rs).set(69, 64, ur).set(75, 73, 4).set(91, 91, 1);
}
constexpr u32 data_at(u32 offset) {
    return static_cast<u32>(SmBench::kData) + offset;
}
constexpr u32 code_at(u32 word) {
    return static_cast<u32>(SmBench::kCode) + word * 16;
}
}  // namespace vectors

inline std::vector<SassVector> sass_vectors() {
    using namespace vectors;
    using gpu::sass::Op;
    constexpr u32 lut_not_first = 0x0f;  // of the truth table whose first input is 0xf0
    return {
        {Op::ULEA, with_end({umov(4, 3), umov(5, 100), uniform(0x291, 8, 4).set(37, 32, 5).set(79, 75, 4)}, true), 148},
        {Op::USGXT, with_end({umov(4, 0x80), uniform(0x89a, 8, 4).set(63, 32, 8).set(73, 73, 1)}, true), 0xffff'ff80},
        {Op::UBMSK, with_end({umov(4, 4), uniform(0x89b, 8, 4).set(63, 32, 8)}, true), 0xff0},
        {Op::UBREV, with_end({umov(5, 6), uniform(0x2be, 8, urz).set(37, 32, 5)}, true), 0x6000'0000},
        {Op::UPOPC, with_end({umov(5, 0xf0f1), uniform(0x2bf, 8, urz).set(37, 32, 5)}, true), 9},
        {Op::UP2UR,
         with_end({umov(4, 0x80), umov(5, 7), uisetp(5, 7), uniform(0x883, 8, 4).set(71, 64, 0).set(63, 32, 0x7f)}, true), 0x81},
        {Op::UPLOP3,
         with_end({umov(5, 7), uisetp(5, 7),
                   Asm(0x89c).set(83, 81, 1).set(86, 84, pt).set(89, 87, 0).set(79, 77, pt).set(70, 68, pt)
                       .set(76, 72, lut_not_first >> 3).set(66, 64, lut_not_first & 7),
                   umov(4, 11),
                   // UR8 = UP1 ? UR4 : 22.
                   uniform(0x887, 8, 4).set(63, 32, 22).set(89, 87, 1)},
                  true),
         22},
        {Op::BRXU,
         with_end({mov(8, 1), umov(4, 16), umov(5, 0), Asm(0x958).set(31, 24, 4).set(89, 87, pt).set(91, 91, 1), mov(8, 2)}, false), 1},
        {Op::JMP, with_end({mov(8, 1), Asm(0x94a).set(81, 34, code_at(3) / 4).set(89, 87, pt), mov(8, 2)}, false), 1},
        {Op::JMX,
         with_end({mov(8, 1), mov(4, 4 * 16), mov(5, 0), Asm(0x94c).set(31, 24, 4).set(81, 34, code_at(1) / 4).set(89, 87, pt),
                   mov(8, 2)},
                  false),
         1},
        {Op::LEPC, with_end({Asm(0x34e).set(23, 16, 8)}, false), code_at(1)},
        // The high word of 0x1'8000'0000 << 4, and 100.
        {Op::LEA_HI,
         with_end({mov(4, 0x8000'0000), mov(5, 100),
                   Asm(0x411).set(23, 16, 8).set(31, 24, 4).set(63, 32, 1).set(71, 64, 5).set(79, 75, 4).set(80, 80, 1).set(83, 81, pt)},
                  false),
         124},
        {Op::STS_UR, with_end({umov(4, 16), mov(6, 77), sts_uniform(4, 6), lds(8, 16)}, false), 77},
        {Op::ATOMS_UR,
         with_end({umov(4, 16), mov(6, 5), sts_uniform(4, 6),
                   Asm(0x98c).set(23, 16, rz).set(31, 24, rz).set(39, 32, 6).set(69, 64, 4).set(91, 91, 1), lds(8, 16)},
                  false),
         5 + 32 * 5},
        {Op::STL_UR,
         with_end({umov(4, 16), mov(6, 78), Asm(0x987).set(31, 24, rz).set(39, 32, 6).set(69, 64, 4).set(75, 73, 4).set(91, 91, 1),
                   Asm(0x983).set(23, 16, 8).set(31, 24, rz).set(63, 40, 16).set(75, 73, 4)},
                  false),
         78},
        // Nothing is outstanding; the barrier's count is that of the block.
        {Op::DEPBAR, with_end({mov(8, 3), Asm(0x91a).set(47, 47, 1)}, false), 3},
        {Op::BAR_IR, with_end({mov(8, 4), mov(5, 32 << 16), Asm(0x91d).set(39, 32, 5).set(80, 80, 1).set(89, 87, pt)}, false), 4},
        {Op::BPT, {bpt_trap(), exit()}, 0, true},
        // Sleeping changes nothing.
        {Op::NANOSLEEP, with_end({mov(8, 5), mov(4, 100), Asm(0x35d).set(39, 32, 4).set(89, 87, pt)}, false), 5},
        {Op::NANOSLEEP, with_end({mov(8, 6), Asm(0xb5d).set(53, 38, 0x10).set(89, 87, pt)}, false), 6},
        // Through a handle to the first 16 bytes of the data: the second word.
        {Op::LDC_UR,
         with_end({mov(2, data_at(0)), mov(3, 0), mov(4, 0xabcd), stg(2, 4, 4), umov(4, data_at(0) >> 4), umov(5, 1 << 13), mov(5, 4),
                   Asm(0x582).set(23, 16, 8).set(31, 24, 4).set(71, 64, 5).set(75, 73, 4).set(91, 91, 1)},
                  false),
         0xabcd},
        // A store to UR4 + R6 + 8, both 64-bit.
        {Op::ST_UR,
         with_end({umov(4, data_at(0)), umov(5, 0), mov(6, 16), mov(7, 0), mov(9, 1234),
                   Asm(0x985).set(31, 24, 6).set(39, 32, 9).set(69, 64, 4).set(63, 40, 8).set(72, 72, 1).set(75, 73, 4).set(80, 77, 0x7)
                       .set(86, 84, 1).set(90, 90, 1).set(91, 91, 1),
                   mov(2, data_at(0)), mov(3, 0), ldg(8, 2, 24)},
                  false),
         1234},
        // An address in the shared window is shared; P0 becomes a bit of R8.
        {Op::QSPC_UR,
         with_end({umov(4, kSharedWindow), umov(5, 0),
                   Asm(0x9aa).set(23, 16, rz).set(31, 24, rz).set(37, 32, 4).set(63, 40, 20).set(72, 72, 1).set(75, 73, 2).set(83, 81, 0)
                       .set(91, 91, 1),
                   Asm(0x803).set(23, 16, 8).set(31, 24, rz).set(39, 32, 0xff)},
                  false),
         1},
        // The active lanes: all but those below 8.
        {Op::BMOV_B_S,
         with_end({s2r(4, 0), isetp(0, 4, kLess, 8), exit().guard(0), Asm(0xf55).set(19, 16, 3).set(28, 24, 0x1a),
                   Asm(0x355).set(23, 16, 8).set(28, 24, 3)},
                  false),
         0xffff'ff00},
        // B4 = B3.
        {Op::BMOV_S_B,
         with_end({mov(4, 0x5a5a), Asm(0x356).set(28, 24, 3).set(39, 32, 4), Asm(0xf56).set(19, 16, 3).set(28, 24, 4),
                   Asm(0x355).set(23, 16, 8).set(28, 24, 4)},
                  false),
         0x5a5a},
    };
}

}  // namespace test_support
