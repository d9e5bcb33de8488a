// Runs the program of this build through the shell.
#include "tests/support/command_line.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "tests/support/trace_samples.h"

namespace test_support {

Finished tu104sim(const std::string& arguments) {
    const std::string errors = scratch_path("errors." + std::to_string(getpid()));
    const std::string command = std::string("'") + TU104SIM_BINARY_DIR + "/tu104sim' " + arguments + " 2>'" + errors + "'";
    Finished out;
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
    char buffer[4096];
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.output.append(buffer, got);
    const int status = pclose(pipe);
    if (WIFEXITED(status)) out.exit_code = WEXITSTATUS(status);
    // A command that sends its standard error elsewhere leaves no file.
    if (std::filesystem::exists(errors)) out.errors = read_file(errors);
    std::filesystem::remove(errors);
    return out;
}

std::string guest(std::string_view name) { return std::string("'") + TU104SIM_BINARY_DIR + "/guests/" + std::string(name) + "'"; }

}  // namespace test_support
