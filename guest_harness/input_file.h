// Whole files that people hand in: plans, lists, recordings, libraries. One place says how large each may be, so that a device or a pipe
// without end is refused instead of filling the memory.
#pragma once

#include <string>

#include "sim/types.h"

namespace harness {

using namespace sim;

inline constexpr u64 kPlanBytesMax = u64{1} << 20;        // fault plans, engine lists
inline constexpr u64 kRecordingBytesMax = u64{1} << 30;   // recorded answers, libraries, corpora
inline constexpr u64 kStreamBytesMax = u64{256} << 20;    // any of them from a device or a pipe, which may have no end

// Throws sim::HostError with the path: it cannot be opened, is a folder, cannot be read to its end, or has more than `bytes_max` bytes.
std::string read_input_file(const std::string& path, u64 bytes_max);

}  // namespace harness
