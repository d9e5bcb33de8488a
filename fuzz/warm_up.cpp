// See warm_up.h.
#include "fuzz/warm_up.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace fuzz {

void warm_up(const Target& target, NextInput next) {
    constexpr std::size_t kBytesMax = 1024;
    constexpr u64 kInputs = 256;
    std::array<u8, kBytesMax> input{};
    target.run({});
    std::size_t size = 0;
    for (u64 seed = 0; seed < kInputs; ++seed) {
        size = next(target, input.data(), size, input.size(), seed);
        target.run({input.data(), size});
    }
    const char* const folder = std::getenv("TU104SIM_FUZZ_WARM_UP");
    if (folder == nullptr) return;
    std::error_code error;
    for (int round = 0; round < 3; ++round)
        for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
            std::ifstream in(entry.path(), std::ios::binary);
            const std::vector<char> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
            target.run({reinterpret_cast<const u8*>(bytes.data()), bytes.size()});
        }
}

}  // namespace fuzz
