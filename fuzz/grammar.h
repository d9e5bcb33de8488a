// Well-formed pieces of inputs, made from the model's own tables: a method with a value that its fields allow, an
// instruction of some row, a class, a control. Mutation puts them between what inputs have already.
#pragma once

#include <vector>

#include "fuzz/target.h"
#include "sim/rng.h"

namespace fuzz {

// Empty for a target whose inputs have no such pieces.
std::vector<u8> make_piece(const Target& target, RandomStream& random);
// Whether they are whole records of any length, which stand in front of others, not between units.
bool pieces_are_records(const Target& target);

}  // namespace fuzz
