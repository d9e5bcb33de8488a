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
// tables[k][byte]: what a byte leaves behind when k more bytes follow it.
constexpr std::array<std::array<u32, 256>, 4> make_tables() {
    std::array<std::array<u32, 256>, 4> tables{};
    tables[0] = make_table();
    for (u32 k = 1; k < 4; ++k) {
        for (u32 byte = 0; byte < 256; ++byte) {
            u32 before = tables[k - 1][byte];
            tables[k][byte] = before << 8 ^ tables[0][before >> 24];
        }
    }
    return tables;
}
inline constexpr std::array<std::array<u32, 256>, 4> tables = make_tables();

}  // namespace crc_detail

// Guess: the four bytes of a word are taken from the most significant one down.
constexpr u32 crc_word(u32 crc, u32 word) {
    // All four bytes at once: four lookups that do not wait for each other.
    using crc_detail::tables;
    crc ^= word;
    return tables[3][crc >> 24] ^ tables[2][crc >> 16 & 0xFF] ^ tables[1][crc >> 8 & 0xFF] ^ tables[0][crc & 0xFF];
}

}  // namespace gpu
