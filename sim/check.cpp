// The failure banner of SIM_CHECK.
#include "sim/check.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace sim {
namespace {

thread_local const FailureContext* current_context = nullptr;
// A check that fails while a failure is being described must not describe again.
thread_local bool describing = false;
FailureHandler failure_handler = nullptr;

std::string& repro_storage() {
    static std::string command;
    return command;
}

// Every line of `text` with two spaces before it.
std::string indent(const std::string& text) {
    std::string out;
    bool line_start = true;
    for (char c : text) {
        if (line_start) out += "  ";
        out += c;
        line_start = c == '\n';
    }
    if (!out.empty() && out.back() != '\n') out += '\n';
    return out;
}

std::string describe_context() {
    if (current_context == nullptr || describing) return {};
    describing = true;
    std::string text;
    try {
        text = indent(current_context->describe_now());
    } catch (const std::exception& error) {
        text = fmt::format("  (the run could not be described: {})\n", error.what());
    }
    describing = false;
    return text;
}

}  // namespace

const FailureContext* set_failure_context(const FailureContext* context) {
    return std::exchange(current_context, context);
}

const FailureContext* failure_context() { return current_context; }

void set_repro_command(std::string command) { repro_storage() = std::move(command); }

const std::string& repro_command() { return repro_storage(); }

void set_failure_handler(FailureHandler handler) { failure_handler = handler; }

void check_failed(const char* condition, const char* file, int line, const char* function,
                  const std::string& operands) {
    std::string banner = fmt::format("our bug: {}", condition);
    if (!operands.empty()) banner += fmt::format("  [{}]", operands);
    banner += fmt::format("\n  at {}:{} in {}\n", file, line, function);
    banner += describe_context();
    if (!repro_command().empty()) banner += fmt::format("  reproduce: {}\n", repro_command());
    std::fwrite(banner.data(), 1, banner.size(), stderr);
    std::fflush(stderr);
    if (failure_handler != nullptr) failure_handler();
    std::abort();
}

namespace check_detail {

std::string_view next_operand_name(std::string_view& names) {
    int depth = 0;
    std::size_t end = 0;
    for (; end < names.size(); ++end) {
        char c = names[end];
        if (c == '(' || c == '[' || c == '{') ++depth;
        if (c == ')' || c == ']' || c == '}') --depth;
        if (c == ',' && depth == 0) break;
    }
    std::string_view name = names.substr(0, end);
    names.remove_prefix(end < names.size() ? end + 1 : end);
    std::size_t first = name.find_first_not_of(' ');
    if (first == std::string_view::npos) return {};
    return name.substr(first, name.find_last_not_of(' ') - first + 1);
}

}  // namespace check_detail
}  // namespace sim
