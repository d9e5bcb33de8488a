// What runs before an engine looks at which code an input reaches.
#pragma once

#include "fuzz/target.h"

namespace fuzz {

// Boots what is booted once, and passes through what is made at its first use: else the first inputs reach more than they
// do the next time. TU104SIM_FUZZ_WARM_UP, when it is there, names a folder whose files are run for that, too.
void warm_up(const Target& target);

}  // namespace fuzz
