// Makes sequences of driver calls, most of them valid, some wrong in one way: handle, size, order, parent, descriptor, pointer, class,
// double free, use after free.
#pragma once

#include "guest_harness/conform/sequence.h"
#include "rm/versions.h"

namespace harness::conform {

// The same seed and version give the same sequence. Struct sizes are the version's.
Sequence generate(u64 seed, const rm::DriverVersion& version);

}  // namespace harness::conform
