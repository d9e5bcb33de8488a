// Mutation that knows what inputs are made of: words of the target's size, and records with a length in front.
#pragma once

#include <cstddef>
#include <span>

#include "fuzz/target.h"

namespace fuzz {

// Changes `size` bytes at `data` in place, within `max_size`; returns the new size. The same seed gives the same
// change.
std::size_t mutate(const Target& target, u8* data, std::size_t size, std::size_t max_size, u64 seed);
// The front of one input and the back of another, cut where units end, into `out`; returns the size.
std::size_t splice(const Target& target, std::span<const u8> one, std::span<const u8> other, std::span<u8> out, u64 seed);

}  // namespace fuzz
