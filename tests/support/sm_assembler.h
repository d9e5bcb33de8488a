// sm_75 instruction words by field, and the common instructions by name: what tests and benchmarks write programs with.
#pragma once

#include "gpu_model/sm/isa/word.h"

namespace test_support {

using gpu::sass::Word;
using sim::i64;
using sim::u32;
using sim::u64;
using sim::u8;

// A word under construction: opcode (bits 11:0), guard true, everything else zero.
class Asm {
public:
    explicit Asm(Word word) : word_(word) {}
    explicit Asm(u32 opcode) { set(11, 0, opcode).set(14, 12, gpu::sass::kPt); }
    Asm& set(unsigned hi, unsigned lo, u64 value) {
        for (unsigned bit = lo; bit <= hi; ++bit) {
            u64& half = bit < 64 ? word_.lo : word_.hi;
            const u64 mask = u64{1} << bit % 64;
            half = (value >> (bit - lo) & 1) != 0 ? half | mask : half & ~mask;
        }
        return *this;
    }
    // Executes in lanes where the predicate is true, or false with `negated`.
    Asm& guard(u32 predicate, bool negated = false) { return set(14, 12, predicate).set(15, 15, negated ? 1 : 0); }
    operator Word() const { return word_; }

private:
    Word word_;
};

namespace code {
inline constexpr u32 rz = gpu::sass::kRz, pt = gpu::sass::kPt;
inline Asm mov(u32 rd, u32 immediate) {
    return Asm(0x802).set(23, 16, rd).set(63, 32, immediate).set(75, 72, 0xf);
}
inline Asm mov_constant(u32 rd, u32 bank, u32 offset) {
    return Asm(0xa02).set(23, 16, rd).set(58, 54, bank).set(53, 38, offset).set(75, 72, 0xf);
}
inline Asm s2r(u32 rd, u32 id) {
    return Asm(0x919).set(23, 16, rd).set(79, 72, id);
}
inline Asm iadd(u32 rd, u32 ra, u32 immediate) {
    return Asm(0x810)
        .set(23, 16, rd)
        .set(31, 24, ra)
        .set(63, 32, immediate)
        .set(71, 64, rz)
        .set(83, 81, pt)
        .set(86, 84, pt)
        .set(90, 87, 0xf)
        .set(80, 77, 0xf);
}
inline Asm iadd_register(u32 rd, u32 ra, u32 rb) {
    return Asm(0x210)
        .set(23, 16, rd)
        .set(31, 24, ra)
        .set(39, 32, rb)
        .set(71, 64, rz)
        .set(83, 81, pt)
        .set(86, 84, pt)
        .set(90, 87, 0xf)
        .set(80, 77, 0xf);
}
// Pu = (ra cmp immediate) unsigned; cmp as in the instruction: 1 LT, 2 EQ, 5 NE, 6 GE.
inline Asm isetp(u32 pu, u32 ra, u32 cmp, u32 immediate) {
    return Asm(0x80c)
        .set(31, 24, ra)
        .set(63, 32, immediate)
        .set(78, 76, cmp)
        .set(83, 81, pu)
        .set(86, 84, pt)
        .set(89, 87, pt)
        .set(70, 68, pt);
}
inline Asm exit() {
    return Asm(0x94d).set(89, 87, pt);
}
// words: from the next instruction on.
inline Asm bra(i64 words) {
    return Asm(0x947).set(81, 34, static_cast<u64>(words * 4)).set(89, 87, pt);
}
inline Asm bssy(u32 barrier, i64 words) {
    return Asm(0x945).set(19, 16, barrier).set(63, 34, static_cast<u64>(words * 4)).set(89, 87, pt);
}
inline Asm bsync(u32 barrier) {
    return Asm(0x941).set(19, 16, barrier).set(89, 87, pt);
}
// 64-bit address in ra:ra+1. size: 4 for 32 bits.
inline Asm stg(u32 ra, u32 rs, u32 offset = 0, u32 size = 4) {
    return Asm(0x386)
        .set(31, 24, ra)
        .set(39, 32, rs)
        .set(63, 40, offset)
        .set(72, 72, 1)
        .set(75, 73, size)
        .set(80, 77, 0x7)
        .set(86, 84, 1);
}
inline Asm ldg(u32 rd, u32 ra, u32 offset = 0, u32 size = 4) {
    return Asm(0x381)
        .set(23, 16, rd)
        .set(31, 24, ra)
        .set(63, 40, offset)
        .set(72, 72, 1)
        .set(75, 73, size)
        .set(80, 77, 0x7)
        .set(83, 81, pt)
        .set(86, 84, 1);
}
inline Asm bar_sync(u32 number) {
    return Asm(0xb1d).set(57, 54, number).set(80, 80, 1).set(89, 87, pt);
}
inline Asm bpt_trap() {
    return Asm(0x95c).set(86, 84, 3);
}
inline Asm ballot(u32 rd) {
    return Asm(0x806).set(23, 16, rd).set(73, 72, 1).set(83, 81, pt).set(89, 87, pt);
}
// Global atomic compare and swap of 32 bits, global exchange: address ra:ra+1.
inline Asm atomg_cas(u32 rd, u32 ra, u32 compare, u32 value) {
    return Asm(0x3a9)
        .set(23, 16, rd)
        .set(31, 24, ra)
        .set(39, 32, compare)
        .set(71, 64, value)
        .set(72, 72, 1)
        .set(80, 77, 0xa)
        .set(83, 81, pt);
}
inline Asm red_add(u32 ra, u32 rs) {
    return Asm(0x98e).set(31, 24, ra).set(39, 32, rs).set(72, 72, 1).set(80, 77, 0xa).set(86, 84, 1).set(90, 90, 1);
}
}  // namespace code

}  // namespace test_support
