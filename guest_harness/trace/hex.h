// Hex digits of payloads, both ways.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/types.h"

namespace harness::trace {

using namespace sim;

std::string to_hex(std::span<const u8> bytes);
// Nothing when the text is not an even number of hex digits.
std::optional<std::vector<u8>> from_hex(std::string_view text);
// "20012000 0000cbc0": 8 digits each, single spaces.
std::optional<std::vector<u32>> words_from_hex(std::string_view text);

// Bytes that a guest chose, safe to print: "\\x1b" for what is not printable ASCII.
std::string printable(std::string_view text);

}  // namespace harness::trace
