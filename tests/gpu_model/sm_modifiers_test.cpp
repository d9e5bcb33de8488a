// Every value of every modifier of every instruction: it runs, or it is refused in a way that is architected, or it is on the list
// of what the model knows by name only. The list is a file, so that nothing joins it unseen.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <sstream>

#include "gpu_model/sm/isa/disasm.h"
#include "tests/support/golden.h"
#include "tests/support/packed_data.h"
#include "tests/support/sm_bench.h"

using namespace test_support;
using gpu::sass::ModifierRow;
using gpu::sass::OpcodeRow;

namespace {

// A word of each opcode that NVIDIA's compiler made; rows without one begin with predicates that are true.
std::map<u32, Word> known_words() {
    std::istringstream lines(read_packed("tests/gpu_model/data/sass/probe.tsv.zst"));
    std::map<u32, Word> known;
    std::string line;
    while (std::getline(lines, line)) {
        const Word word{.lo = std::stoull(line.substr(16, 16), nullptr, 16), .hi = std::stoull(line.substr(0, 16), nullptr, 16)};
        if (gpu::sass::decode(word).ok()) known.try_emplace(static_cast<u32>(gpu::sass::at::Opcode::get(word)), word);
    }
    return known;
}

Asm with_value(Asm word, const ModifierRow& row, u64 value) {
    if (row.hi2 == 255) return word.set(row.hi, row.lo, value);
    const unsigned low_bits = row.hi2 - row.lo2 + 1u;
    return word.set(row.hi, row.lo, value >> low_bits).set(row.hi2, row.lo2, value);
}

u32 values_of(const ModifierRow& row) {
    const unsigned second = row.hi2 == 255 ? 0 : row.hi2 - row.lo2 + 1u;
    return u32{1} << (row.hi - row.lo + 1u + second);
}

}  // namespace

TEST_CASE("every modifier value runs, is refused, or is on the list of what is known by name") {
    const std::map<u32, Word> known = known_words();
    std::set<std::string> unmodelled;
    u32 words = 0;
    for (const OpcodeRow& row : gpu::sass::opcode_rows()) {
        for (u32 form = 1; form < 8; ++form) {
            if ((row.forms >> form & 1) == 0) continue;
            const u32 opcode = row.operation | form << 9;
            const auto found = known.find(opcode);
            const Asm first = found == known.end() ? Asm(opcode).set(83, 81, code::pt).set(86, 84, code::pt).set(89, 87, code::pt)
                                                   : Asm(found->second);
            for (const gpu::sass::Mod mod : row.modifiers) {
                const ModifierRow& modifier = gpu::sass::row_of(mod);
                if (mod == gpu::sass::Mod::None || modifier.kind != ModifierRow::Kind::Field) continue;
                for (u32 value = 0; value < values_of(modifier); ++value) {
                    // Without a guard, registers of the launch, control bits.
                    Asm word = with_value(first, modifier, value).set(15, 12, code::pt);
                    if (!gpu::sass::decode(word).ok()) continue;
                    ++words;
                    SmBench bench;
                    bench.launch.block = {32, 1, 1};
                    bench.launch.registers = 255;
                    bench.launch.shared_bytes = 4096;
                    bench.launch.local_low_bytes = 256;
                    bench.program({word, code::exit()});
                    bench.run(1000);
                    const gpu::sm::Trap& trap = bench.grid->trap();
                    if (trap.reason != gpu::sm::TrapReason::UNMODELLED || trap.pc != SmBench::kCode) continue;
                    unmodelled.insert(std::string(row.id) + ": " + trap.detail);
                }
            }
        }
    }
    CHECK(words > 2500);
    std::string text;
    for (const std::string& line : unmodelled) text += line + "\n";
    CHECK(compare_golden_file("tests/gpu_model/data/sass/unmodelled.txt", text) == "");
}
