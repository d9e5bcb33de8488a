// Whole units are copied, swapped, removed, repeated and replaced, so that an input keeps its alignment; single bits and values near
// limits do the rest.
#include "fuzz/mutate.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "sim/rng.h"

namespace fuzz {

namespace {

constexpr u64 kInteresting[] = {0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 4095, 4096, 65535, 65536,
                                0x7FFF'FFFF, 0x8000'0000, 0xFFFF'FFFF, 0x7FFF'FFFF'FFFF'FFFF, 0x8000'0000'0000'0000,
                                0xFFFF'FFFF'FFFF'FFFF};

struct Words {
    std::vector<std::vector<u8>> list;
};

// The target's dictionary, made once.
const std::vector<std::vector<u8>>& dictionary(const Target& target) {
    static const std::vector<std::vector<u8>> words = [&] {
        Words found;
        each_dictionary_word(
            target,
            [](void* context, std::string_view, std::span<const u8> word) {
                static_cast<Words*>(context)->list.emplace_back(word.begin(), word.end());
            },
            &found);
        return found.list;
    }();
    return words;
}

}  // namespace

std::size_t mutate(const Target& target, u8* data, std::size_t size, std::size_t max_size, u64 seed) {
    sim::RandomStream random(seed, "fuzz", "mutate");
    const std::size_t unit = target.unit_bytes;
    std::vector<u8> bytes(data, data + size);
    const u64 rounds = 1 + random.below(4);
    for (u64 round = 0; round < rounds; ++round) {
        const std::size_t units = bytes.size() / unit;
        const auto any_unit = [&] { return random.below(units) * unit; };
        const auto at = [&](std::size_t offset) { return bytes.begin() + static_cast<std::ptrdiff_t>(offset); };
        const u64 kind = random.below(9);
        if (units == 0 || kind == 0) {  // a new unit
            std::vector<u8> fresh(unit);
            for (u8& byte : fresh) byte = static_cast<u8>(random.next());
            bytes.insert(at(units == 0 ? 0 : any_unit()), fresh.begin(), fresh.end());
        } else if (kind == 1) {  // a bit
            bytes[random.below(bytes.size())] ^= static_cast<u8>(1u << random.below(8));
        } else if (kind == 2) {  // a value near a limit
            const u64 value = kInteresting[random.below(std::size(kInteresting))] + random.below(3) - 1;
            const std::size_t offset = any_unit();
            const std::size_t count = std::min<std::size_t>({unit, std::size_t{8}, std::size_t{1} << random.below(4)});
            for (std::size_t i = 0; i < count; ++i) bytes[offset + i] = static_cast<u8>(value >> (8 * i));
        } else if (kind == 3) {  // two swapped
            const std::size_t a = any_unit();
            const std::size_t b = any_unit();
            std::swap_ranges(at(a), at(a + unit), at(b));
        } else if (kind == 4) {  // a run removed
            const std::size_t first = any_unit();
            const std::size_t count = std::min(bytes.size() - first, unit * (1 + random.below(8)));
            bytes.erase(at(first), at(first + count));
        } else if (kind == 5) {  // a run repeated elsewhere
            const std::size_t first = any_unit();
            const std::size_t count = std::min(bytes.size() - first, unit * (1 + random.below(8)));
            const std::vector<u8> copy(at(first), at(first + count));
            bytes.insert(at(any_unit()), copy.begin(), copy.end());
        } else if (kind == 6 && !dictionary(target).empty()) {  // a word of the tables
            const std::vector<u8>& word = dictionary(target)[random.below(dictionary(target).size())];
            const std::size_t offset = any_unit();
            std::copy_n(word.begin(), std::min(word.size(), bytes.size() - offset), at(offset));
        } else if (kind == 7) {  // a byte a little more or less
            u8& byte = bytes[random.below(bytes.size())];
            byte = static_cast<u8>(byte + random.below(9) - 4);
        } else {  // the end cut off
            bytes.resize(any_unit() + unit);
        }
    }
    bytes.resize(std::min(bytes.size(), max_size));
    if (bytes.empty()) return 0;
    std::memcpy(data, bytes.data(), bytes.size());
    return bytes.size();
}

}  // namespace fuzz
