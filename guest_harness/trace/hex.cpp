// Hex digits of payloads, both ways.
#include "guest_harness/trace/hex.h"

namespace harness::trace {

namespace {

int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace

std::string to_hex(std::span<const u8> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    out.reserve(bytes.size() * 2);
    for (u8 byte : bytes) {
        out.push_back(kDigits[byte / 16]);
        out.push_back(kDigits[byte % 16]);
    }
    return out;
}

std::string printable(std::string_view text) {
    std::string out;
    for (char c : text) {
        if (c >= ' ' && c <= '~') {
            out += c;
            continue;
        }
        u8 byte = static_cast<u8>(c);
        out += "\\x" + to_hex(std::span<const u8>(&byte, 1));
    }
    return out;
}

std::optional<std::vector<u8>> from_hex(std::string_view text) {
    if (text.size() % 2 != 0) return std::nullopt;
    std::vector<u8> out;
    out.reserve(text.size() / 2);
    for (std::size_t i = 0; i < text.size(); i += 2) {
        int high = digit(text[i]);
        int low = digit(text[i + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        out.push_back(static_cast<u8>(high * 16 + low));
    }
    return out;
}

std::optional<std::vector<u32>> words_from_hex(std::string_view text) {
    constexpr std::size_t kDigits = 8;
    std::vector<u32> out;
    out.reserve(text.size() / (kDigits + 1) + 1);
    for (std::size_t at = 0; at < text.size(); at += kDigits + 1) {
        if (text.size() - at < kDigits) return std::nullopt;
        if (at + kDigits < text.size() && text[at + kDigits] != ' ') return std::nullopt;
        if (at + kDigits + 1 == text.size()) return std::nullopt;  // a space at the end
        u32 word = 0;
        for (std::size_t i = 0; i < kDigits; ++i) {
            int value = digit(text[at + i]);
            if (value < 0) return std::nullopt;
            word = word * 16 + static_cast<u32>(value);
        }
        out.push_back(word);
    }
    return out;
}

}  // namespace harness::trace
