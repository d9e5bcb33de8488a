// The disassembler against NVIDIA's on 34,651 words, each a known word with one field changed: same text, same
// refusals.
#include <doctest/doctest.h>

#include <sstream>

#include "gpu_model/sm/isa/disasm.h"
#include "tests/support/packed_data.h"

using namespace gpu::sass;

TEST_CASE("every probe word prints or is refused as by NVIDIA's disassembler") {
    // Lines: word (32 hex digits), address of the word in the disassembler's run, text or "-".
    std::istringstream lines(test_support::read_packed("tests/gpu_model/data/sass/probe.tsv.zst"));
    std::string line;
    unsigned words = 0, refused = 0, wrong = 0;
    while (std::getline(lines, line)) {
        const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
        const Word word{.lo = std::stoull(line.substr(16, 16), nullptr, 16),
                        .hi = std::stoull(line.substr(0, 16), nullptr, 16)};
        const std::string expected = line.substr(second + 1);
        const Decoded decoded = decode(word);
        TextOptions options;
        options.address = std::stoull(line.substr(first + 1, second - first - 1), nullptr, 16);
        const std::string text = decoded.ok() ? disassemble(decoded.instruction, options) : "-";
        ++words;
        if (expected == "-") ++refused;
        if (text == expected) continue;
        if (++wrong <= 20) FAIL_CHECK(line.substr(0, 32), "\n  expected ", expected, "\n  got      ", text);
    }
    CHECK(words == 34651);
    CHECK(refused == 301);
    CHECK(wrong == 0);
}
