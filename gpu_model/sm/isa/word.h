// One 128-bit sm_75 instruction word and its bit numbering: bits 0..127 of a little-endian 16-byte word.
#pragma once

#include <span>

#include "sim/types.h"

namespace gpu::sass {

using sim::i32;
using sim::i64;
using sim::u16;
using sim::u32;
using sim::u64;
using sim::u8;

inline constexpr u32 kWordBytes = 16;

struct Word {
    u64 lo = 0;
    u64 hi = 0;

    friend constexpr bool operator==(const Word&, const Word&) = default;

    // Bits hi_bit..lo_bit, at most 64 of them, right-aligned. Precondition: 127 >= hi_bit >= lo_bit, hi_bit - lo_bit
    // < 64.
    constexpr u64 bits(unsigned hi_bit, unsigned lo_bit) const {
        const unsigned count = hi_bit - lo_bit + 1;
        const u64 mask = count == 64 ? ~u64{0} : (u64{1} << count) - 1;
        if (lo_bit >= 64) return (hi >> (lo_bit - 64)) & mask;
        u64 value = lo >> lo_bit;
        if (lo_bit != 0 && hi_bit >= 64) value |= hi << (64 - lo_bit);
        return value & mask;
    }
    constexpr bool bit(unsigned index) const { return bits(index, index) != 0; }
};

// A bit range of the word as a type: WordField<23, 16>::get(word).
template <unsigned Hi, unsigned Lo>
struct WordField {
    static_assert(Hi >= Lo && Hi < 128 && Hi - Lo < 64);
    static constexpr unsigned kHi = Hi;
    static constexpr unsigned kLo = Lo;
    static constexpr u64 get(Word word) { return word.bits(Hi, Lo); }
    // Two's complement value of the field.
    static constexpr i64 get_signed(Word word) {
        constexpr unsigned shift = 64 - (Hi - Lo + 1);
        return static_cast<i64>(word.bits(Hi, Lo) << shift) >> shift;
    }
};

// Where the fields that more than one instruction shares lie (layout table of the public sm_75 encodings).
namespace at {
using Opcode = WordField<11, 0>;
using Operation = WordField<8, 0>;
using Form = WordField<11, 9>;
using Guard = WordField<14, 12>;
using GuardNot = WordField<15, 15>;
using Rd = WordField<23, 16>;
using Ra = WordField<31, 24>;
using Rb = WordField<39, 32>;
using Rc = WordField<71, 64>;
using Ub = WordField<37, 32>;  // uniform register in the B slot
using Uc = WordField<69, 64>;  // uniform register in the C slot
using Imm32 = WordField<63, 32>;
using Bank = WordField<58, 54>;
using BankOffset = WordField<53, 38>;  // bytes
using BankWords = WordField<53, 40>;   // words
using Offset24 = WordField<63, 40>;
using Pu = WordField<83, 81>;
using Pv = WordField<86, 84>;
using Uniform = WordField<91, 91>;
using Branch = WordField<81, 34>;      // units of 4 bytes, from the next instruction
using Reconverge = WordField<63, 34>;  // the same, of BSSY
}  // namespace at

inline constexpr u8 kRz = 255;  // register that reads as zero
inline constexpr u8 kUrz = 63;  // the same among uniform registers
inline constexpr u8 kPt = 7;    // predicate that is always true

// The words of a byte image; a tail shorter than a word is not read.
Word load_word(std::span<const u8> bytes, u64 offset);

}  // namespace gpu::sass
