// Single instruction words against a GPU: 5,844 words with the results of 128 threads each, and words that the GPU
// refused. Every modifier, sign, predicate and operand form of the table's arithmetic is among them. Source: an H200,
// by tools/hw_words: words that mean the same there.
#include <doctest/doctest.h>

#include <set>
#include <sstream>

#include "gpu_model/sm/isa/disasm.h"
#include "tests/support/packed_data.h"
#include "tests/support/word_vectors.h"

using namespace test_support::words;

TEST_CASE("instruction words give what hardware gives") {
    // Lines: pool of inputs, word (32 hex digits), hash of the results or "illegal".
    std::istringstream lines(test_support::read_packed("tests/gpu_model/data/sass/words.txt.zst"));
    u32 pool = 0, words = 0, wrong = 0;
    std::string digits, hash;
    std::set<gpu::sass::Op> ops;
    while (lines >> pool >> digits >> hash) {
        const Word word{.lo = std::stoull(digits.substr(16), nullptr, 16),
                        .hi = std::stoull(digits.substr(0, 16), nullptr, 16)};
        const gpu::sass::Decoded decoded = gpu::sass::decode(word);
        REQUIRE(decoded.ok());
        const bool half = decoded.instruction.row().immediate == gpu::sass::Immediate::H2;
        if (hash == "illegal" && half) continue;  // single precision in packed halves: not known of this chip
        std::string why;
        const auto results = run_on_model({word, static_cast<Pool>(pool)}, why);
        const bool equal = hash == "illegal" ? why.find("ILLEGAL_INSTR_PARAM") != std::string::npos
                                             : results && hash_of(*results) == std::stoull(hash, nullptr, 16);
        ++words;
        ops.insert(decoded.instruction.op);
        if (!equal && ++wrong <= 20) FAIL_CHECK(digits, " ", gpu::sass::disassemble(decoded.instruction), " ", why);
    }
    CHECK(words > 5900);
    CHECK(ops.size() > 65);
    CHECK(wrong == 0);
}
