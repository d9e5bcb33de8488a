// Bit fields as constants over plain integers; nobody writes a shift by hand.
//   using TARGET = sim::Field<1, 0>;  u32 t = TARGET::get(word);  word = TARGET::set(word, 2);
#pragma once

#include "sim/types.h"

namespace sim {

template <unsigned Hi, unsigned Lo>
struct Field {
    static_assert(Hi >= Lo && Hi < 64);
    static constexpr unsigned kHi = Hi;
    static constexpr unsigned kLo = Lo;
    static constexpr unsigned kBits = Hi - Lo + 1;
    static constexpr u64 kMax = kBits == 64 ? ~u64{0} : (u64{1} << kBits) - 1;
    static constexpr u64 kMask = kMax << Lo;

    template <typename Word>
    static constexpr Word get(Word word) {
        return static_cast<Word>((static_cast<u64>(word) >> Lo) & kMax);
    }
    // The value's bits beyond the field are dropped.
    template <typename Word>
    static constexpr Word set(Word word, u64 value) {
        return static_cast<Word>((static_cast<u64>(word) & ~kMask) | ((value & kMax) << Lo));
    }
    template <typename Word = u32>
    static constexpr Word make(u64 value) {
        return set(Word{0}, value);
    }
};

// The same by run-time bounds, for tables. Precondition: 63 >= hi >= lo.
constexpr u64 extract_bits(u64 word, unsigned hi, unsigned lo) {
    u64 mask = hi - lo == 63 ? ~u64{0} : (u64{1} << (hi - lo + 1)) - 1;
    return (word >> lo) & mask;
}

}  // namespace sim
