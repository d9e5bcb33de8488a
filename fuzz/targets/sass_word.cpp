// Instruction words, one after the other: whatever decodes must print, and print the same twice; a refusal names its bits.
#include <string>

#include "fuzz/target.h"
#include "gpu_model/sm/isa/decode.h"
#include "gpu_model/sm/isa/disasm.h"

namespace fuzz {

void run_sass_word(std::span<const u8> input) {
    constexpr std::size_t kWordBytes = 16;
    for (std::size_t at = 0; at + kWordBytes <= input.size() && at < 64 * kWordBytes; at += kWordBytes) {
        u64 halves[2] = {};
        for (std::size_t i = 0; i < kWordBytes; ++i) halves[i / 8] |= u64{input[at + i]} << (8 * (i % 8));
        const gpu::sass::Word word{halves[0], halves[1]};
        const gpu::sass::Decoded decoded = gpu::sass::decode(word);
        if (decoded.ok()) FUZZ_CHECK(!gpu::sass::disassemble(decoded.instruction).empty());
        else FUZZ_CHECK(!gpu::sass::describe(decoded.refusal).empty());
    }
}

}  // namespace fuzz
