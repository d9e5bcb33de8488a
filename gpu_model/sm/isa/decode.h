// From a 128-bit word to a decoded instruction that an executor can run from, or a refusal that names the bits.
#pragma once

#include <string>

#include "gpu_model/sm/isa/control.h"
#include "gpu_model/sm/isa/opcode_table.h"

namespace gpu::sass {

enum class SourceKind : u8 { None, Register, Uniform, Immediate, Constant, Bindless };

// One arithmetic source after the form has been resolved. The value of an Immediate, Constant or Bindless source is in
// the instruction, because only one source of an instruction can be of these kinds.
struct Source {
    SourceKind kind = SourceKind::None;
    u8 index = kRz;       // register, or uniform register
    bool negate = false;  // under Mod::X this means bitwise NOT
    bool absolute = false;
    u8 select = 0;     // half selection or byte select of the packed operations
    u8 reuse_bit = 0;  // which of Control::reuse belongs to it
};

struct Instruction {
    Word word;
    Op op{};
    u8 form = 0;     // bits 11:9
    u8 guard = kPt;  // a uniform predicate in the uniform datapath
    bool guard_not = false;
    u8 rd = kRz;          // bits 23:16, in the uniform datapath 21:16
    u8 ra = kRz;          // bits 31:24, likewise
    Source a, b, c;       // of rows with arithmetic sources
    u32 immediate = 0;    // bits 63:32
    u8 bank = 0;          // constant operand
    i32 bank_offset = 0;  // bytes
    u8 handle = kUrz;     // uniform register pair of a bindless constant

    const OpcodeRow& row() const { return row_of(op); }
    Control control() const { return control_of(word); }
    template <Mod M>
    u32 mod() const {
        return modifier<M>(word);
    }
};

struct Refusal {
    enum class Reason : u8 { None, UnknownOpcode, NamedOnly, UniformBit, Modifier, Combination };
    Reason reason = Reason::None;
    u8 hi = 0, lo = 0;  // the bits that are wrong
    u32 value = 0;
};

struct Decoded {
    Instruction instruction;  // valid when ok()
    Refusal refusal;
    bool ok() const { return refusal.reason == Refusal::Reason::None; }
};

Decoded decode(Word word);
// One line for people: "bits 11:0 = 0x1ff: no sm_75 instruction has this opcode".
std::string describe(const Refusal& refusal);

// Displacement of a relative branch in bytes from the next instruction, of rows with a Target operand; its two low bits
// are clear.
constexpr i64 branch_displacement(Word word) {
    return at::Branch::get_signed(word) * 4;
}
constexpr i64 reconvergence_displacement(Word word) {
    return at::Reconverge::get_signed(word) * 4;
}

}  // namespace gpu::sass
