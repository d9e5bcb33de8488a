// tu104sim as people and scripts type it: exit code, standard output and standard error of one command.
#pragma once

#include <string>
#include <string_view>

namespace test_support {

struct Finished {
    int exit_code = -1;  // -1: the program died of a signal
    std::string output;
    std::string errors;

    // In either of the two.
    bool says(std::string_view text) const { return output.find(text) != std::string::npos || errors.find(text) != std::string::npos; }
};

// `arguments` as a shell reads them. Throws std::runtime_error when the command cannot be started.
Finished tu104sim(const std::string& arguments);

// The path of a guest program of this build, quoted for the shell.
std::string guest(std::string_view name);

}  // namespace test_support
