// Files of recorded answers: JSON lines (sequence.h), as they are or packed by zstd.
#pragma once

#include <string>

namespace harness::conform {

// The text of a file. Throws sim::HostError: no such file, damaged, or larger than 1 GiB unpacked.
std::string read_answers(const std::string& path);

}  // namespace harness::conform
