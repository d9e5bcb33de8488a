// The text of a decoded instruction, spelled as NVIDIA's disassembler spells it.
#pragma once

#include <functional>
#include <string>

#include "gpu_model/sm/isa/decode.h"

namespace gpu::sass {

struct BranchTarget {
    bool present = false;
    bool absolute = false;  // an address of the whole space, not of this code section
    u64 address = 0;
};

struct TextOptions {
    u64 address = 0;  // of the instruction, in bytes; relative targets count from the next one
    // Names a branch target; an empty answer, or no function, prints the number.
    std::function<std::string(const BranchTarget& target)> label;
    // Printed instead of a 32-bit immediate when not empty: what a relocation will put there.
    std::string immediate;
};

// With guard and final semicolon: "@!P0 IADD3 R4, R3.reuse, -0x1, RZ ;".
std::string disassemble(const Instruction& instruction, const TextOptions& options = {});
// The same for a word; one that does not decode gives "(refused) " and describe().
std::string disassemble(Word word, const TextOptions& options = {});
// "SR_TID.X"; "SR36" for an id without a name.
std::string special_register_name(u32 id);
// The address that a relative or absolute branch names, if the row has one.
BranchTarget branch_target(const Instruction& instruction, u64 address);

}  // namespace gpu::sass
