// Spelling of one operand of an instruction, and of modifiers that depend on operands.
#pragma once

#include <string>

#include "gpu_model/sm/isa/disasm.h"

namespace gpu::sass {

// Empty: the operand does not print in this instruction.
std::string operand_text(const Instruction& instruction, Operand operand, const TextOptions& options);
std::string modifier_text(const Instruction& instruction, Mod mod);

}  // namespace gpu::sass
