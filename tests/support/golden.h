// Expected text in files, which TU104SIM_REWRITE=1 rewrites.
#pragma once

#include <string>
#include <string_view>

namespace test_support {

// Empty when `text` is what the file holds; else the first line that differs. path: from the repository root.
std::string compare_golden_file(std::string_view path, const std::string& text);

}  // namespace test_support
