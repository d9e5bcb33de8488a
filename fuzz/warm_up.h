// What runs before an engine looks at which code an input reaches.
#pragma once

#include "fuzz/target.h"

namespace fuzz {

// An input into `data`, which holds the last one of `size` bytes; answers its size.
using NextInput = std::size_t (*)(const Target& target, u8* data, std::size_t size, std::size_t size_max, u64 seed);

// Boots what is booted once, and passes through what is made at its first use: else the first inputs reach more than they
// do the next time. TU104SIM_FUZZ_WARM_UP, when it is there, names a folder whose files are run for that, too.
void warm_up(const Target& target, NextInput next);

}  // namespace fuzz
