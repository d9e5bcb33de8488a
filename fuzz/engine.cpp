// The one entry that libFuzzer and AFL++ call. TU104SIM_FUZZ_TARGET names the target: a macro in a program for one
// target, a variable of the environment in the program for any (fuzz_any).
#include <cstdlib>

#include "fuzz/mutate.h"
#include "fuzz/target.h"
#include "fuzz/warm_up.h"
#include "sim/rng.h"

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

#if defined(TU104SIM_FUZZ_DECODER) && defined(__AFL_COMPILER)
// Decoders know no state: they need not link the grammar, which has tables of the whole machine.
std::size_t any_bytes(const fuzz::Target&, std::uint8_t* data, std::size_t, std::size_t size_max, std::uint64_t seed) {
    std::uint64_t state = seed;
    for (std::size_t i = 0; i < size_max; ++i) data[i] = static_cast<std::uint8_t>(sim::splitmix64(state));
    return static_cast<std::size_t>(sim::splitmix64(state) % size_max);
}
#endif

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
#if defined(TU104SIM_FUZZ_DECODER) && defined(__AFL_COMPILER)
    fuzz::warm_up(target(), &any_bytes);
#else
    fuzz::warm_up(target(), &fuzz::mutate);
#endif
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
