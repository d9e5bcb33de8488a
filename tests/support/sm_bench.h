// Small sm_75 programs for tests: words by field, a flat memory to run them on, and the common instructions by name.
#pragma once

#include <doctest/doctest.h>

#include <initializer_list>
#include <optional>
#include <vector>

#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/flat_memory.h"

namespace test_support {

using gpu::sass::Word;
using sim::i64;
using sim::u32;
using sim::u64;
using sim::u8;

// A word under construction: opcode (bits 11:0), guard true, everything else zero.
class Asm {
public:
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

// A program on a flat memory: code at kCode, 4 KiB of data at kData, constant bank 0 at kBank.
class SmBench {
public:
    static constexpr u64 kCode = 0x1'0000, kData = 0x20'0000, kBank = 0x30'0000;
    static constexpr u32 kDataBytes = 4096, kBankBytes = 512;

    SmBench()
        : data(memory.add(kData, kDataBytes)), bank(memory.add(kBank, kBankBytes)), code_(memory.add(kCode, 8192)) {
        launch.entry = kCode;
        launch.registers = 32;
        launch.banks[0] = {kBank, kBankBytes};
    }
    void program(std::initializer_list<Word> words) {
        u64 at = 0;
        for (const Word& word : words) put(at++, word);
    }
    void put(u64 index, Word word) {
        for (u32 i = 0; i < 8; ++i) {
            code_[index * 16 + i] = static_cast<u8>(word.lo >> (8 * i));
            code_[index * 16 + 8 + i] = static_cast<u8>(word.hi >> (8 * i));
        }
    }
    gpu::sm::GridState run(u64 instructions = 1'000'000) {
        REQUIRE(gpu::sm::check_launch(launch) == "");
        grid.emplace(launch, memory, cache, clock);
        return grid->run(instructions);
    }
    u32 word(u32 index) const {
        u32 value = 0;
        for (u32 i = 0; i < 4; ++i) value |= u32{data[index * 4 + i]} << (8 * i);
        return value;
    }

    struct StillClock final : gpu::sm::SmClock {
        u64 global_timer_ns() const override { return 0; }
    };
    gpu::sm::FlatMemory memory;
    gpu::sm::CodeCache cache;
    StillClock clock;
    gpu::sm::KernelLaunch launch;
    std::span<u8> data, bank;
    std::optional<gpu::sm::GridRun> grid;

private:
    std::span<u8> code_;
};

}  // namespace test_support
