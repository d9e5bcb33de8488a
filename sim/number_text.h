// Numbers appended to a text under construction: what fmt::format says, without a string for each. For texts of which a run makes many.
#pragma once

#include <array>
#include <charconv>
#include <string>

#include "sim/types.h"

namespace sim {

// `base`: 10, or 16 with lower-case digits and no prefix.
inline void append_number(std::string& text, u64 value, int base = 10) {
    std::array<char, 20> digits;  // of 2^64 - 1
    text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value, base).ptr);
}

// "0x1f"
inline void append_hex(std::string& text, u64 value) {
    text += "0x";
    append_number(text, value, 16);
}

}  // namespace sim
