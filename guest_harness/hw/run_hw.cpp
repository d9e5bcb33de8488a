// As run.cpp, on a Session in place of a Machine. Times follow the host's clock, so nothing here is repeatable.
#include "guest_harness/hw/run_hw.h"

#include <fmt/format.h>

#include <filesystem>

#include "guest_harness/guest/elf_loader.h"
#include "guest_harness/guest/guest_process.h"

namespace harness::hw {

namespace {

constexpr int kGuestFailed = 1;
constexpr int kRefused = 3;
constexpr SimTime kLongest = SimTime::from_s(600);  // of a run, when the options set no limit

RunEnd end_of(ProcessEnd end) {
    switch (end) {
        case ProcessEnd::Exited: return RunEnd::Exited;
        case ProcessEnd::Signalled: return RunEnd::Signalled;
        case ProcessEnd::Stuck: return RunEnd::Watchdog;
        case ProcessEnd::Running: break;
    }
    return RunEnd::TimeLimit;
}

}  // namespace

HwRunOutcome run_guest_on(std::unique_ptr<System> system, const RunOptions& options, u64 abort_after) {
    std::vector<u8> program = read_program(options.guest_path);
    Session session(std::move(system), {{}, abort_after});
    sim::Kernel& kernel = session.kernel();
    kernel.watchdog().set_limit(options.watchdog_limit);
    ProcessOptions process_options{.environment = options.environment, .output = options.output, .busy_limit = options.busy_limit};
    std::string name = std::filesystem::path(options.guest_path).filename().string();
    process_options.arguments.push_back(name);
    process_options.arguments.insert(process_options.arguments.end(), options.args.begin(), options.args.end());
    HwRunOutcome outcome;
    {
        GuestProcess process(session.platform(), options.sink, std::move(process_options));
        process.start(program, name, options.guest_path);
        SimTime limit = std::min(options.time_limit, kLongest);
        sim::Kernel::RunResult result = kernel.run(limit);
        outcome.run.end = end_of(process.end());
        outcome.run.guest_status = process.status();
        outcome.run.reason = !session.guard().reason().empty() ? session.guard().reason()
                             : process.end() == ProcessEnd::Running ? result.text : process.reason();
        outcome.run.last_calls.assign(process.last_calls().begin(), process.last_calls().end());
    }
    outcome.run.summary = {.events = kernel.journal().count(), .time = kernel.now(), .digest = kernel.journal().chain()};
    outcome.run.unmodelled = kernel.unmodelled().entries();
    bool passed = outcome.run.end == RunEnd::Exited && outcome.run.guest_status == 0 && session.guard().reason().empty();
    outcome.run.exit_code = kernel.unmodelled().any_invented() ? kRefused : passed ? 0 : kGuestFailed;
    outcome.ending = session.end();
    if (!outcome.ending.clean() && outcome.run.exit_code == 0) outcome.run.exit_code = kGuestFailed;
    return outcome;
}

}  // namespace harness::hw
