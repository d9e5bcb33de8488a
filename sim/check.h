// Checks of our own invariants (always on), and the failure banner.
// Guest input never reaches SIM_CHECK: it gets a status, an architected fault, or an unmodelled report.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "sim/types.h"

namespace sim {

// What a failing check may ask about the run. Kernel implements it; see set_failure_context().
class FailureContext {
public:
    // Multi-line text: virtual time, number of dispatches, the last journal records.
    virtual std::string describe_now() const = 0;
    virtual ~FailureContext() = default;
};

// Thread-local: the run that a failing check describes. nullptr forgets it. Returns the one before, to put back.
const FailureContext* set_failure_context(const FailureContext* context);
const FailureContext* failure_context();
// The command line that repeats this process's run; printed as "reproduce: ..." by every failure banner.
void set_repro_command(std::string command);
const std::string& repro_command();

// Called after the banner is printed. The default aborts (what a fuzzer or debugger wants); main() installs exit(4).
using FailureHandler = void (*)();
void set_failure_handler(FailureHandler handler);

[[noreturn]] void check_failed(const char* condition, const char* file, int line, const char* function,
                               const std::string& operands);

// "a=1 b=0x20000": the macro passes the stringised operand list and the values.
template <typename... Values>
std::string format_operands(std::string_view names, const Values&... values);

// The user's or the host's mistake (missing file, bad option, damaged trace): thrown by tools and guest_harness,
// caught in main(), exit code 2. The text is one sentence that says what to do.
class HostError : public std::exception {
public:
    explicit HostError(std::string what) : what_(std::move(what)) {}
    const char* what() const noexcept override { return what_.c_str(); }

private:
    std::string what_;
};

}  // namespace sim

// SIM_CHECK(entry_index < entry_count, entry_index, entry_count): prints operands, place, time, last records and the
// command that repeats the run, then calls the failure handler. On in every build.
#define SIM_CHECK(condition, ...)                                                                       \
    do {                                                                                                \
        if (!(condition)) [[unlikely]]                                                                  \
            ::sim::check_failed(#condition, __FILE__, __LINE__, __func__,                               \
                                ::sim::format_operands("" #__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__));    \
    } while (false)

#include "sim/check_format.h"
