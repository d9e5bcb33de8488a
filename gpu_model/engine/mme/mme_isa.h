// Macro engine instructions as data: decoded form, encoding, text. The rows are mme_isa.def.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>

#include "gpu_model/addresses.h"
#include "sim/bits.h"

namespace gpu::mme {

inline constexpr u32 kWordsPerInstruction = 3;
inline constexpr u32 kRegisters = 24;  // sources and destinations 0..23

enum class Op : u8 {
#define MME_OP(name, code, immediate) name = code,
#include "gpu_model/engine/mme/mme_isa.def"
};

namespace source {
#define MME_SOURCE(name, code) inline constexpr u8 name = code;
#include "gpu_model/engine/mme/mme_isa.def"
}  // namespace source

enum class Out : u8 {
#define MME_OUT(name, code) name = code,
#include "gpu_model/engine/mme/mme_isa.def"
};

// What an op reads from the immediate of its own ALU, beside its sources.
enum class Immediate : u8 { None, Merge, Loop, Jump, Branch };

// The parts of such an immediate.
using MERGE_DST_POS = sim::Field<15, 10>;
using MERGE_BITS = sim::Field<9, 5>;
using MERGE_SRC_POS = sim::Field<4, 0>;
using BRANCH_OFFSET = sim::Field<12, 0>;  // signed, from the branch; -4096 ends the macro
using BRANCH_RESERVED = sim::Field<14, 13>;
using BRANCH_IF_TRUE = sim::Field<15, 15>;
using JUMP_OFFSET = sim::Field<14, 0>;
using JUMP_PLAIN = sim::Field<15, 15>;  // every known macro sets it
inline constexpr i32 kBranchExit = -4096;
// EXTENDED with these sources waits until fetched words are in the data FIFO.
inline constexpr u32 kExtendedFifoBarrier[] = {0x1000, 1};

// What an output sends as a method: an address in words and how far to go after each emitted word.
using METHOD_ADDRESS = sim::Field<11, 0>;
using METHOD_INCREMENT = sim::Field<15, 12>;

struct Alu {
    Op op = Op::ADD;
    u8 destination = source::Zero;
    std::array<u8, 2> source{source::Zero, source::Zero};
    u16 immediate = 0;
};

struct Output {
    Out method = Out::NONE;
    Out emit = Out::NONE;
};

struct Instruction {
    bool end_next = false;  // the instruction executed after this one is the macro's last
    u8 predicate_mode = 0;
    u8 predicate = source::Zero;
    std::array<Alu, 2> alu{};
    std::array<Output, 2> out{};
};

using Words = std::array<u32, kWordsPerInstruction>;

// Every 96-bit value decodes; reserved operands keep their numbers.
Instruction decode(const Words& words);
Words encode(const Instruction& instruction);
Immediate immediate_of(Op op);
// The signed distance of a branch, in instructions.
i32 branch_offset(u16 immediate);
// "TTUU": which part runs under which value of the predicate.
std::string_view predicate_text(u8 mode);

// One instruction as text; `method_name` names a method's byte offset, empty when it has no name.
using MethodNamer = std::function<std::string(u32 method)>;
std::string disassemble(const Instruction& instruction, const MethodNamer& method_name);

}  // namespace gpu::mme
