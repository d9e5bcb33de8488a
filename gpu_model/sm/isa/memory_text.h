// Spelling of memory addresses and constant references.
#pragma once

#include <string>

#include "gpu_model/sm/isa/decode.h"

namespace gpu::sass {

// Empty when the operand is not an address, or the operation has none.
std::string memory_operand(const Instruction& instruction, Operand operand);
// The constant reference of an arithmetic source.
std::string constant_text(const Instruction& instruction, bool bindless);

}  // namespace gpu::sass
