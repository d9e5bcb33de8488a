// Input bytes as little-endian words.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "sim/types.h"

namespace fuzz {

// At most `words_max` whole words; what is left over of the last is dropped.
inline std::vector<sim::u32> words_of(std::span<const sim::u8> input, std::size_t words_max) {
    std::vector<sim::u32> words(std::min(input.size() / 4, words_max));
    for (std::size_t i = 0; i < words.size() * 4; ++i) words[i / 4] |= sim::u32{input[i]} << (8 * (i % 4));
    return words;
}

}  // namespace fuzz
