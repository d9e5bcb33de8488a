// Puts a guest process on a machine, runs it to its end, and says how it ended.
#include "guest_harness/run.h"

#include <fmt/format.h>

#include <filesystem>

#include "guest_harness/guest/elf_loader.h"
#include "guest_harness/guest/guest_process.h"
#include "sim/time_text.h"

namespace harness {
namespace {

constexpr int kExitGuestFailed = 1;
constexpr int kExitInvented = 3;

// Stops the run when its time is up, as an event like any other: the guest then never runs past it.
class TimeLimit final : public sim::EventTarget {
public:
    TimeLimit(sim::Kernel& kernel, SimTime limit) : kernel_(kernel), limit_(limit) {
        target_ = kernel.events().add_target("harness.time_limit", *this);
        if (limit != SimTime::max()) event_ = kernel.events().schedule(limit, Phase::Watch, target_, 0);
    }
    ~TimeLimit() {
        kernel_.events().cancel(event_);
        kernel_.events().remove_target(target_);
    }
    TimeLimit(const TimeLimit&) = delete;
    TimeLimit& operator=(const TimeLimit&) = delete;

    bool reached() const { return reached_; }
    void on_event(u32, u64) override {
        reached_ = true;
        kernel_.stop(fmt::format("the time limit of {} is reached", format_time(limit_)));
    }

private:
    sim::Kernel& kernel_;
    SimTime limit_;
    sim::TargetId target_ = 0;
    sim::EventHandle event_;
    bool reached_ = false;
};

void explain(RunOutcome& outcome, const GuestProcess& process, const sim::Kernel::RunResult& result, bool time_is_up) {
    using StopReason = sim::Kernel::StopReason;
    outcome.guest_status = process.status();
    outcome.reason = process.reason();
    switch (process.end()) {
        case ProcessEnd::Exited: outcome.end = RunEnd::Exited; return;
        case ProcessEnd::Signalled: outcome.end = RunEnd::Signalled; return;
        case ProcessEnd::Stuck: outcome.end = RunEnd::Watchdog; return;
        case ProcessEnd::Running: break;
    }
    if (result.reason == StopReason::Watchdog) outcome.end = RunEnd::Watchdog;
    else if (result.reason == StopReason::TimeLimit || time_is_up) outcome.end = RunEnd::TimeLimit;
    else outcome.end = RunEnd::Deadlock;
    outcome.reason = result.text;
    if (outcome.end == RunEnd::Deadlock) outcome.reason = "nothing is left that could wake the guest:\n" + result.text;
}

}  // namespace

RunOutcome run_guest(const RunOptions& options) {
    std::vector<u8> program = read_program(options.guest_path);
    Machine machine(options.machine);
    sim::Kernel& kernel = machine.kernel();
    kernel.watchdog().set_limit(options.watchdog_limit);
    if (options.on_start) options.on_start(machine);

    ProcessOptions process_options{.environment = options.environment, .output = options.output,
                                   .busy_limit = options.busy_limit};
    // The guest never learns its directory: the same run gives the same digest wherever the program lies.
    std::string name = std::filesystem::path(options.guest_path).filename().string();
    process_options.arguments.push_back(name);
    process_options.arguments.insert(process_options.arguments.end(), options.args.begin(), options.args.end());
    RunOutcome outcome;
    {
        GuestProcess process(machine.platform(), options.sink, std::move(process_options));
        process.start(program, name, options.guest_path);
        TimeLimit limit(kernel, options.time_limit);
        sim::Kernel::RunResult result = kernel.run();
        explain(outcome, process, result, limit.reached());
        process.driver().flush_stores();  // a run that is stopped leaves what its guest has stored
        outcome.last_calls.assign(process.last_calls().begin(), process.last_calls().end());
        outcome.summary = machine.summary();
        outcome.unmodelled = kernel.unmodelled().entries();
    }
    bool passed = outcome.end == RunEnd::Exited && outcome.guest_status == 0;
    outcome.exit_code = kernel.unmodelled().any_invented() ? kExitInvented : passed ? 0 : kExitGuestFailed;
    if (options.on_end) options.on_end(machine);
    return outcome;
}

}  // namespace harness
