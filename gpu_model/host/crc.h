// The CRC that host keeps over GP entries, pushbuffer words and methods: polynomial 0x04C11DB7, most significant bit
// first, initial value 0. Source: dev_pbdma manual.
#pragma once

#include <array>

#include "gpu_model/addresses.h"

namespace gpu {

namespace crc_detail {

constexpr std::array<u32, 256> make_table() {
    constexpr u32 kPolynomial = 0x04C11DB7;
    std::array<u32, 256> table{};
    for (u32 byte = 0; byte < 256; ++byte) {
        u32 value = byte << 24;
        for (int bit = 0; bit < 8; ++bit) value = (value & 0x80000000u) != 0 ? value << 1 ^ kPolynomial : value << 1;
        table[byte] = value;
    }
    return table;
}
inline constexpr std::array<u32, 256> table = make_table();

}  // namespace crc_detail

// Guess: the four bytes of a word are taken from the most significant one down.
constexpr u32 crc_word(u32 crc, u32 word) {
    crc ^= word;
    for (int byte = 0; byte < 4; ++byte) crc = crc << 8 ^ crc_detail::table[crc >> 24];
    return crc;
}

}  // namespace gpu
