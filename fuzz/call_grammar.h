// Calls of RM as records of the targets ioctl and rpc_calls, made from the tables of controls, classes, escapes and structs.
#pragma once

#include <vector>

#include "fuzz/target.h"
#include "sim/rng.h"

namespace fuzz {

// A record of the target ioctl: a control, an allocation, or an escape with its struct's fields filled.
std::vector<u8> driver_call(RandomStream& random);
// A record of the target rpc_calls: a control or an allocation.
std::vector<u8> rpc_call(RandomStream& random);

}  // namespace fuzz
