// Mutation that knows what inputs are made of: words of the target's size, and records with a length in front.
#pragma once

#include <cstddef>

#include "fuzz/target.h"

namespace fuzz {

// Changes `size` bytes at `data` in place, within `max_size`; returns the new size. The same seed gives the same change.
std::size_t mutate(const Target& target, u8* data, std::size_t size, std::size_t max_size, u64 seed);

}  // namespace fuzz
