// The launch cases of a kernel corpus: cases.json says kernels, geometry, buffers with a rule for their first content,
// parameters, and what to compare.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/types.h"

namespace harness::corpus {

using sim::i64;
using sim::u32;
using sim::u64;
using sim::u8;

// How a buffer is filled; fields that a rule does not use stay zero.
struct Fill {
    std::string rule;  // zero, byte, hex, splitmix64, u32mod, u8mod, f32range, f64range, f16q, iota32, list32, list64
    u64 seed = 0;
    u64 value = 0;                // byte
    u64 modulus = 1, addend = 0;  // u32mod, u8mod
    double low = 0, high = 0;     // f32range, f64range
    i64 range = 0;                // f16q
    double divisor = 1;           // f16q
    u64 base = 0, step = 0;       // iota32
    std::vector<u64> values;      // list32, list64
    bool cycle = false;           // lists: begin again instead of going on with the stream
    std::vector<u8> data;         // hex
};
// The first `bytes` bytes of a rule. Throws HostError for an unknown rule.
std::vector<u8> fill_bytes(const Fill& fill, std::size_t bytes);

struct Buffer {
    std::string name;
    u64 bytes = 0;
    Fill fill;
};
struct Parameter {
    std::string buffer;  // empty: a value
    u64 offset = 0;      // into the buffer
    std::vector<u8> value;
};
struct Case {
    std::string id, module, kernel;
    std::array<u32, 3> grid{1, 1, 1}, block{1, 1, 1};
    u32 shared = 0;  // dynamic, bytes
    std::vector<Buffer> buffers;
    std::vector<Parameter> parameters;
    std::vector<std::string> compare;
    bool fp = false;              // floating-point results
    bool approx = false;          // raw results of approximations: units in the last place are counted
    bool arch_dependent = false;  // scheduling shows: not compared
};

struct Corpus {
    std::vector<std::string> variants;  // "O3" first
    std::vector<Case> cases;
};
// Throws HostError that names what is wrong with the text.
Corpus parse_cases(std::string_view json);

// What hardware computed, from a file or a moment ago.
class Truth {
public:
    virtual ~Truth() = default;
    // nullptr: hardware has no answer for it.
    virtual const std::string* find(const std::string& variant, const std::string& case_id, const std::string& buffer) const = 0;
    virtual bool ran(const std::string& variant, const std::string& case_id) const = 0;
    // Hardware itself answered twice differently.
    virtual bool unstable(const std::string& variant, const std::string& case_id) const = 0;
};

// What hardware computed: golden.bin. Buffers by "VARIANT CASE BUFFER"; a variant that equals O3 is not repeated.
class Golden final : public Truth {
public:
    // Throws HostError with an offset when the bytes are damaged.
    explicit Golden(std::string_view bytes);
    const std::string* find(const std::string& variant, const std::string& case_id, const std::string& buffer) const override;
    bool ran(const std::string& variant, const std::string& case_id) const override {
        return ran_.contains(variant + " " + case_id);
    }
    bool unstable(const std::string& variant, const std::string& case_id) const override {
        return unstable_.contains(variant + " " + case_id);
    }

private:
    std::map<std::string, std::string> buffers_;
    std::map<std::string, bool> ran_, unstable_;
};

}  // namespace harness::corpus
