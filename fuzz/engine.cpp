// The one entry that libFuzzer and AFL++ call. TU104SIM_FUZZ_TARGET names the target: a macro in a program for one
// target, a variable of the environment in the program for any (fuzz_any).
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz/mutate.h"
#include "fuzz/target.h"

namespace {

const fuzz::Target& target() {
#ifdef TU104SIM_FUZZ_TARGET
    const char* const name = TU104SIM_FUZZ_TARGET;
#else
    const char* const name = std::getenv("TU104SIM_FUZZ_TARGET");
#endif
    static const fuzz::Target* const found = fuzz::find_target(name == nullptr ? "" : name);
    FUZZ_CHECK(found != nullptr);
    return *found;
}

}  // namespace

// Boots what is booted once, and passes through what is made at its first use, before the engine looks at what code an
// input reaches: else the first inputs reach more than they do the next time. TU104SIM_FUZZ_WARM_UP, when it is there,
// names a folder whose files are run for that, too.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
    constexpr std::size_t kBytesMax = 1024;
    constexpr sim::u64 kInputs = 256;
    std::array<sim::u8, kBytesMax> input{};
    target().run({});
    std::size_t size = 0;
    for (sim::u64 seed = 0; seed < kInputs; ++seed) {
        size = fuzz::mutate(target(), input.data(), size, input.size(), seed);
        target().run({input.data(), size});
    }
    const char* const folder = std::getenv("TU104SIM_FUZZ_WARM_UP");
    if (folder == nullptr) return 0;
    std::error_code error;
    for (int round = 0; round < 3; ++round)
        for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
            std::ifstream in(entry.path(), std::ios::binary);
            const std::vector<char> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
            target().run({reinterpret_cast<const sim::u8*>(bytes.data()), bytes.size()});
        }
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    target().run({data, size});
    return 0;
}

#ifndef __AFL_COMPILER  // AFL++ loads the mutator as a library: afl_mutator.cpp
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    // One in four is left to the engine, which knows what the code compared.
    if (seed % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
    return fuzz::mutate(target(), data, size, max_size, seed);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* one, std::size_t one_size,
                                                 const std::uint8_t* other, std::size_t other_size, std::uint8_t* out,
                                                 std::size_t out_size_max, unsigned seed) {
    return fuzz::splice(target(), {one, one_size}, {other, other_size}, {out, out_size_max}, seed);
}
#endif
