// Handlers for the usual forms of the instructions that most code is made of: chosen once, when a word is decoded, so
// that they need not look at modifiers. They compute what the general handlers compute.
#pragma once

#include "gpu_model/sm/exec/handlers.h"

namespace gpu::sm {

// nullptr: the word is not of a usual form.
Handler usual_form(const sass::Instruction& in, LaneTarget target);
// Of an instruction that is of a usual form.
Slot::Modifiers usual_modifiers(const sass::Instruction& in);

}  // namespace gpu::sm
