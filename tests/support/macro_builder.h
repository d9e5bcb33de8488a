// Macros for the macro engine, instruction by instruction, and the pushbuffer words that load and call them.
#pragma once

#include <initializer_list>
#include <vector>

#include "gpu_model/engine/mme/mme_isa.h"
#include "tests/support/graphics_bench.h"

namespace bench {

// The word that selects a method and how far each emitted word moves it.
inline u16 macro_method(u32 method, u32 increment = 1) {
    return static_cast<u16>(mme::METHOD_INCREMENT::set(mme::METHOD_ADDRESS::make(method / 4), increment));
}

class Macro {
public:
    using Op = mme::Op;
    using Out = mme::Out;

    // Starts an instruction; the following calls fill it.
    Macro& next() {
        code.emplace_back();
        return *this;
    }
    Macro& alu(u32 index, Op op, u8 destination, u8 x, u8 y) {
        u16 immediate = code.back().alu[index].immediate;
        code.back().alu[index] = {op, destination, {x, y}, immediate};
        return *this;
    }
    Macro& imm(u32 index, u32 value) {
        code.back().alu[index].immediate = static_cast<u16>(value);
        return *this;
    }
    Macro& out(u32 index, Out method, Out emit) {
        code.back().out[index] = {method, emit};
        return *this;
    }
    Macro& predicate(u8 mode, u8 source) {
        code.back().predicate_mode = mode;
        code.back().predicate = source;
        return *this;
    }
    Macro& end_next() {
        code.back().end_next = true;
        return *this;
    }
    // r = op x y, in an instruction of its own.
    Macro& op(Op op, u8 destination, u8 x, u8 y, u32 immediate = 0) {
        return next().alu(0, op, destination, x, y).imm(0, immediate);
    }
    Macro& load(u8 destination) { return op(Op::ADD, destination, mme::source::Load0, mme::source::Zero); }
    // method(address), then each register emitted.
    Macro& send(u32 method, std::initializer_list<u8> registers) {
        next().imm(1, macro_method(method)).out(0, Out::IMM1, Out::NONE);
        for (u8 r : registers) next().alu(0, Op::ADD, mme::source::Zero, r, mme::source::Zero).out(0, Out::NONE, Out::ALU0);
        return *this;
    }
    // The last two instructions.
    Macro& finish() { return next().end_next().next(); }

    std::vector<u32> words() const {
        std::vector<u32> out;
        for (const mme::Instruction& instruction : code) {
            for (u32 word : mme::encode(instruction)) out.push_back(word);
        }
        return out;
    }

    std::vector<mme::Instruction> code;
};

// Loads a macro at an instruction and names it.
inline std::vector<u32> load_macro(u32 macro, const Macro& code, u32 at_instruction = 0) {
    u32 start = at_instruction * mme::kWordsPerInstruction;
    std::vector<u32> upload{start};
    for (u32 word : code.words()) upload.push_back(word);
    return inc(1, nvc5c0::LOAD_MME_START_ADDRESS_RAM_POINTER, {macro, start}) +
           one_inc(1, nvc5c0::LOAD_MME_INSTRUCTION_RAM_POINTER, upload);
}

inline std::vector<u32> call_macro(u32 macro, const std::vector<u32>& data) {
    return one_inc(1, nvc5c0::CALL_MME_MACRO + 8 * macro, data);
}

}  // namespace bench
