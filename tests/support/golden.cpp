// Expected text in files.
#include "tests/support/golden.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "sim/types.h"

namespace test_support {

std::string compare_golden_file(std::string_view path, const std::string& text) {
    const std::string file = std::string(TU104SIM_SOURCE_DIR) + "/" + std::string(path);
    if (std::getenv("TU104SIM_REWRITE") != nullptr) {
        std::ofstream out(file, std::ios::binary | std::ios::trunc);
        out << text;
        return out ? "" : "cannot write " + file;
    }
    std::ifstream expected(file, std::ios::binary);
    std::istringstream actual(text);
    std::string a, b;
    for (sim::u64 line = 1;; ++line) {
        const bool more_a = static_cast<bool>(std::getline(expected, a)), more_b = static_cast<bool>(std::getline(actual, b));
        if (!more_a && !more_b) return "";
        if (more_a != more_b || a != b)
            return std::string(path) + " line " + std::to_string(line) + "\n  expected: " + (more_a ? a : "(end)") +
                   "\n  actual:   " + (more_b ? b : "(end)") + "\n(TU104SIM_REWRITE=1 rewrites the file)";
    }
}

}  // namespace test_support
