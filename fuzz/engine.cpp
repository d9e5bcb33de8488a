// The one entry that libFuzzer and AFL++ call. TU104SIM_FUZZ_TARGET names the target that this program is built for.
#include "fuzz/mutate.h"
#include "fuzz/target.h"

namespace {

const fuzz::Target& target() {
    static const fuzz::Target* const found = fuzz::find_target(TU104SIM_FUZZ_TARGET);
    FUZZ_CHECK(found != nullptr);
    return *found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    target().run({data, size});
    return 0;
}

#ifndef __AFL_COMPILER  // AFL++ loads the mutator as a library: afl_mutator.cpp
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
    // One in four is left to the engine, which knows what the code compared.
    if (seed % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
    return fuzz::mutate(target(), data, size, max_size, seed);
}
#endif
