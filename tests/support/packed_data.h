// Reads the zstd-compressed data files that tests keep under tests/<layer>/data.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace test_support {

// path: from the repository root. Fails the running test and returns an empty string when the file is missing or
// damaged.
std::string read_packed(std::string_view path);
// The same for a file that holds several: each begins with a line "=== NAME SIZE".
std::map<std::string, std::string> read_packed_files(std::string_view path);

}  // namespace test_support
