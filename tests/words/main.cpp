// Words for tools/hw_words to run on hardware, and the comparison of its results with the model's.
//   word_vectors list PER_FORM [SEED]    what to run, to the output
//   word_vectors check LIST RESULTS      a table of equal and different words by instruction; exit 1 when one differs
//   word_vectors pack LIST RESULTS       what tests keep of the results, to the output
//   word_vectors differing LIST RESULTS  the lines of RESULTS that differ
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "gpu_model/sm/isa/disasm.h"
#include "tests/support/word_vectors.h"

using namespace test_support::words;
using gpu::sass::Word;

namespace {

std::string hex(Word word) {
    return fmt::format("{:016x}{:016x}", word.hi, word.lo);
}
Word parse_word(const std::string& text) {
    return {std::stoull(text.substr(16, 16), nullptr, 16), std::stoull(text.substr(0, 16), nullptr, 16)};
}

int list(u32 per_form, u64 seed) {
    fmt::print("threads {}\ninputs {} {}\nresults {} {}\n", kThreads, kFirstInput, kInputs, kResult, kResults);
    for (u32 pool = 0; pool < kPools; ++pool) {
        const PoolValues values = pool_values(static_cast<Pool>(pool));
        fmt::print("constants {}", pool);
        for (const u32 value : values.constants) fmt::print(" {:08x}", value);
        fmt::print("\npool {}", pool);
        for (const u32 value : values.inputs) fmt::print(" {:08x}", value);
        fmt::print("\n");
    }
    for (const Word& word : setup()) fmt::print("setup {} {}\n", hex(word), gpu::sass::disassemble(word));
    for (const Word& word : collect()) fmt::print("collect {} {}\n", hex(word), gpu::sass::disassemble(word));
    for (const WordVector& vector : generate(seed, per_form))
        fmt::print("word {} {} {}\n", static_cast<u32>(vector.pool), hex(vector.word),
                   gpu::sass::disassemble(vector.word));
    return 0;
}

struct Outcome {
    WordVector vector;
    std::string text;
    std::string hardware = "not run";  // "done" or why not
    std::vector<u32> results;          // when done
    std::string line;                  // of RESULTS
};

// Lines of RESULTS: the word's number in the list, then its results in hex, or a reason in words.
std::vector<Outcome> outcomes(const char* list_file, const char* results_file) {
    std::ifstream listed(list_file), measured(results_file);
    std::vector<Outcome> all;
    std::string line, key;
    while (std::getline(listed, line)) {
        std::istringstream in(line);
        if (!(in >> key) || key != "word") continue;
        u32 pool = 0;
        std::string word;
        in >> pool >> word;
        Outcome one;
        one.vector = {parse_word(word), static_cast<Pool>(pool)};
        std::getline(in >> std::ws, one.text);
        all.push_back(std::move(one));
    }
    while (std::getline(measured, line)) {
        std::istringstream in(line);
        std::size_t number = 0;
        std::string first;
        if (!(in >> number >> first) || number >= all.size()) continue;
        Outcome& one = all[number];
        one.line = line;
        if (first.size() != std::size_t{kThreads} * kResults * 8) {
            std::getline(in, one.hardware);
            one.hardware = first + one.hardware;
            continue;
        }
        one.hardware = "done";
        for (std::size_t i = 0; i < first.size(); i += 8)
            one.results.push_back(static_cast<u32>(std::stoul(first.substr(i, 8), nullptr, 16)));
    }
    return all;
}

int check(const char* list_file, const char* results_file) {
    struct Counts {
        u32 equal = 0, different = 0, model_refuses = 0, hardware_refuses = 0, skipped = 0;
    };
    std::map<std::string, Counts> rows;
    bool failed = false;
    for (const Outcome& one : outcomes(list_file, results_file)) {
        const std::string id(gpu::sass::decode(one.vector.word).instruction.row().id);
        Counts& counts = rows[id];
        if (one.hardware != "done") {
            const bool skipped = one.hardware.starts_with("other") || one.hardware == "not run";
            ++(skipped ? counts.skipped : counts.hardware_refuses);
            if (!skipped) fmt::print("{:10} hardware {}: {} {}\n", id, one.hardware, hex(one.vector.word), one.text);
            continue;
        }
        std::string why;
        const std::optional<std::vector<u32>> ours = run_on_model(one.vector, why);
        if (!ours) {
            ++counts.model_refuses;
            fmt::print("{:10} model refuses: {} {}: {}\n", id, hex(one.vector.word), one.text, why);
            continue;
        }
        if (*ours == one.results) {
            ++counts.equal;
            continue;
        }
        failed = true;
        ++counts.different;
        u32 lanes = 0, first = kThreads * kResults;
        for (u32 i = 0; i < kThreads * kResults; ++i)
            if ((*ours)[i] != one.results[i]) first = std::min(first, i), ++lanes;
        const PoolValues values = pool_values(one.vector.pool);
        const u32 thread = first / kResults;
        const u32* in = &values.inputs[thread * kInputs];
        fmt::print(
            "{:10} differs in {} results: {} {}\n    thread {} result {}: {:08x}, hardware {:08x}; R8 {:08x} {:08x} "
            "R12 {:08x} {:08x} R16 "
            "{:08x} {:08x} P {:02x} R32 {:08x}\n",
            id, lanes, hex(one.vector.word), one.text, thread, first % kResults, (*ours)[first], one.results[first],
            in[0], in[1], in[4], in[5], in[8], in[9], in[20] & 0x7f, in[24]);
    }
    fmt::print("\n{:12} {:>7} {:>9} {:>13} {:>16} {:>7}\n", "row", "equal", "different", "model refuses",
               "hardware refuses", "skipped");
    Counts all;
    for (const auto& [id, c] : rows) {
        fmt::print("{:12} {:7} {:9} {:13} {:16} {:7}\n", id, c.equal, c.different, c.model_refuses, c.hardware_refuses,
                   c.skipped);
        all.equal += c.equal, all.different += c.different, all.model_refuses += c.model_refuses;
        all.hardware_refuses += c.hardware_refuses, all.skipped += c.skipped;
    }
    fmt::print("{:12} {:7} {:9} {:13} {:16} {:7}\n", "all", all.equal, all.different, all.model_refuses,
               all.hardware_refuses, all.skipped);
    return failed ? 1 : 0;
}

int differing(const char* list_file, const char* results_file) {
    std::string why;
    for (const Outcome& one : outcomes(list_file, results_file))
        if (one.hardware == "done" && run_on_model(one.vector, why) != one.results) fmt::print("{}\n", one.line);
    return 0;
}

int pack(const char* list_file, const char* results_file) {
    for (const Outcome& one : outcomes(list_file, results_file))
        if (one.hardware == "done")
            fmt::print("{} {} {:016x}\n", static_cast<u32>(one.vector.pool), hex(one.vector.word),
                       hash_of(one.results));
        else if (one.hardware.find("ILLEGAL_INSTRUCTION") != std::string::npos)
            fmt::print("{} {} illegal\n", static_cast<u32>(one.vector.pool), hex(one.vector.word));
    return 0;
}

}  // namespace

int main(int count, char** words) {
    const std::string command = count > 1 ? words[1] : "";
    if (command == "list" && count >= 3)
        return list(static_cast<u32>(std::stoul(words[2])), count > 3 ? std::stoull(words[3]) : 1);
    if (command == "check" && count == 4) return check(words[2], words[3]);
    if (command == "pack" && count == 4) return pack(words[2], words[3]);
    if (command == "differing" && count == 4) return differing(words[2], words[3]);
    std::cerr << "usage: word_vectors list PER_FORM [SEED] | check LIST RESULTS | pack LIST RESULTS | differing LIST "
                 "RESULTS\n";
    return 2;
}
