// Single instruction words as test cases: each between a setup and an end that are the same for all, over the registers
// of 128 threads. A GPU of another architecture runs the same words where they mean the same there (tools/hw_words), so
// its results are what ours are held to.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "gpu_model/sm/isa/decode.h"

namespace test_support {

namespace words {
using gpu::sass::Word;
using sim::u32;
using sim::u64;
using sim::u8;

inline constexpr u32 kThreads = 128;
// Registers that every thread loads: sources at R8, R12, R16, R20 and R24, predicates in R28, what results overwrite at
// R32.
inline constexpr u32 kFirstInput = 8, kInputs = 28;
inline constexpr u32 kPredicatesIn = 28, kResult = 32;
// Results, from R32 on: four registers, the predicates, UR12..UR15, the uniform predicates.
inline constexpr u32 kResults = 10;
// Constants c[0x0][kConstants..], which UR4..UR15 begin with. Before them lie two pointers: kPointers.
inline constexpr u32 kPointers = 0x210, kConstants = 0x220, kConstantCount = 16;

enum class Pool : u8 { Integer, Single, Double, Half, SpecialDouble };
inline constexpr u32 kPools = 5;

struct PoolValues {
    std::vector<u32> inputs;  // [thread * kInputs + i]
    std::array<u32, kConstantCount> constants{};
};
PoolValues pool_values(Pool pool);

struct WordVector {
    Word word;
    Pool pool{};
};

// Words of every row whose results are registers or predicates: each operand form with random modifiers, operands'
// signs and predicates. per_form: how many of each.
std::vector<WordVector> generate(u64 seed, u32 per_form);

// What stands before the word, after the inputs have been loaded, and after it.
std::vector<Word> setup();
std::vector<Word> collect();

// Results of all threads on the model, kResults each; nullopt: the grid trapped, `why` says how.
std::optional<std::vector<u32>> run_on_model(const WordVector& vector, std::string& why);

// Of the results of all threads.
u64 hash_of(const std::vector<u32>& results);
}  // namespace words

}  // namespace test_support
