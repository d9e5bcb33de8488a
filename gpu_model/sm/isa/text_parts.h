// Spelling of numbers, registers and predicates in disassembly.
#pragma once

#include <string>

#include "gpu_model/sm/isa/word.h"

namespace gpu::sass {

struct Predicate {
    u8 index = kPt;
    bool negate = false;
    bool uniform = false;
    bool is_true() const { return index == kPt && !negate; }
};

std::string hex(u64 value);
// "-0x10" for negative values.
std::string signed_hex(i64 value);
std::string register_text(u8 index, bool uniform);
std::string predicate_text(Predicate predicate);
// Literals as the disassembler writes them; NaN and infinity carry a trailing space.
std::string f32_text(u32 bits);
std::string f64_text(u32 high_word);
std::string f16_text(u32 bits);

}  // namespace gpu::sass
