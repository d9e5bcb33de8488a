// Damaged copies of traces, for tests and fuzzers: nothing that reads a trace may crash on one.
#pragma once

#include <string>

#include "sim/types.h"

namespace harness::trace {

using namespace sim;

// The same seed gives the same damage. Without `reseal` bytes of the file are changed, removed or added anywhere. With it the damage
// is done
// inside a frame after decompression (or to the values of one event), and sizes, checksums, chain and closing record are made to fit
// again, so that it reaches what stands behind those checks. Precondition: `trace` is a complete, undamaged trace.
std::string damaged_copy(const std::string& trace, u64 seed, bool reseal);

}  // namespace harness::trace
