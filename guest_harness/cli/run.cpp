// tu104sim run: a guest program on the simulated machine.
#include "guest_harness/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include "guest_harness/cli/command.h"
#include "guest_harness/cli/sm_tools.h"
#include "guest_harness/cli/hw.h"
#include "guest_harness/engine_list.h"
#include "guest_harness/fault_plan.h"
#include "guest_harness/timeline.h"
#include "guest_harness/trace/recorder.h"
#include "rm/versions.h"

namespace harness::cli {

namespace {

struct Options {
    MachineOptions machine;
    std::string boot = "cold";
    std::string record;
    std::string journal;
    std::string faults;
    std::string timeline;
    std::string engines;
    std::string timing;
    std::optional<u64> time_limit_ms;
    std::vector<std::string> environment;
    std::vector<std::string> guest;
    EndOptions end;
    SmToolOptions tools;
    HwOptions hw;
};

SimTime time_limit(std::optional<u64> ms) {
    if (!ms) return SimTime::max();
    constexpr u64 kTimeLimitMsMax = 1'000'000'000;  // eleven days; the clock itself ends after 213
    if (*ms == 0 || *ms > kTimeLimitMsMax)
        throw sim::HostError(fmt::format("--time-limit is {} ms, must be 1 to {}", *ms, kTimeLimitMsMax));
    return SimTime::from_ms(*ms);
}

void check_environment(const std::vector<std::string>& environment) {
    for (const std::string& variable : environment)
        if (variable.find('=') == std::string::npos || variable.front() == '=')
            throw sim::HostError(fmt::format("--env is \"{}\", must be NAME=VALUE (NAME= for an empty value)", variable));
}

void execute(const Options& options, Outcome& outcome) {
    RunOptions run;
    check_environment(options.environment);
    run.guest_path = options.guest.front();
    run.args.assign(options.guest.begin() + 1, options.guest.end());
    run.environment = options.environment;
    run.machine = options.machine;
    if (!options.engines.empty()) run.machine.engines = read_engines(options.engines);
    run.machine.timing = parse_timing(options.timing).value_or(true);
    if (options.boot != "cold" && options.boot != "warm")
        throw sim::HostError(fmt::format("--boot is \"{}\"; choose cold or warm", options.boot));
    run.machine.boot = options.boot == "cold" ? rm::BootMode::Cold : rm::BootMode::Warm;
    run.time_limit = time_limit(options.time_limit_ms);
    refuse_same_files({{"--record", options.record}, {"--journal", options.journal}, {"--timeline", options.timeline},
                       {"--faults", options.faults}, {"--engines", options.engines}, {"the guest", options.guest.front()}});
    // Where a program reads our standard output, the guest's text would spoil it.
    const bool read_by_program = options.end.json || options.end.digest_only;
    run.output = [read_by_program](int fd, std::string_view text) {
        std::FILE* stream = fd == STDERR_FILENO || read_by_program ? stderr : stdout;
        std::fwrite(text.data(), 1, text.size(), stream);
        std::fflush(stream);
    };
    rm::VersionMatch match = rm::find_version(options.machine.driver);
    if (match.version != nullptr && !match.exact && !read_by_program) tell("tu104sim: " + match.text + "\n");
    if (options.hw.wanted()) {
        refuse_on_hardware({{"--faults", options.faults}, {"--journal", options.journal},
                            {"--timeline", options.timeline}, {"--engines", options.engines},
                            {"--sass-trace", options.tools.sass_trace}, {"--check", options.tools.check},
                            {"--break", options.tools.breaks}});
        // A model in the driver's place is the machine that these options describe; a real one is what it is.
        if (options.hw.backend != "model") {
            const MachineOptions any;
            const MachineOptions& given = options.machine;
            refuse_on_hardware({{"--gpu", given.chip != any.chip ? given.chip : ""},
                                {"--driver", given.driver != any.driver ? given.driver : ""},
                                {"--seed", given.seed != any.seed ? "given" : ""}, {"--timing", options.timing},
                                {"--boot", options.boot != Options{}.boot ? options.boot : ""}});
        }
        HwOptions hw = options.hw;
        hw.record = options.record;
        hw.command = options.guest;
        return run_on_hardware(hw, run, options.end, outcome);
    }
    std::vector<PlannedFault> plan;
    if (!options.faults.empty()) plan = read_fault_plan(options.faults);
    std::unique_ptr<trace::Recorder> recorder;
    if (!options.record.empty()) {
        trace::Header header = trace::header_for(run.machine, "run", options.guest);
        header.environment = options.environment;
        header.faults = fault_plan_text(plan);
        header.time_limit = run.time_limit;
        recorder = std::make_unique<trace::Recorder>(options.record, header);
        run.sink = recorder.get();
    }
    std::unique_ptr<JournalFile> journal;
    if (!options.journal.empty()) journal = std::make_unique<JournalFile>(options.journal);
    Timeline timeline;
    SmTools tools(options.tools);
    run.on_start = [&](Machine& machine) {
        tools.attach(machine);
        arm_faults(machine.kernel(), plan);
        if (recorder) recorder->attach(machine);
        if (journal) machine.kernel().journal().add_sink(*journal);
        if (!options.timeline.empty()) machine.kernel().journal().add_sink(timeline);
    };
    run.on_end = [&](Machine& machine) {
        if (recorder) recorder->finish(machine);
        if (journal) machine.kernel().journal().remove_sink(*journal);
        if (!options.timeline.empty()) machine.kernel().journal().remove_sink(timeline);
    };
    RunOutcome result = run_guest(run);
    if (recorder) recorder->close();
    if (journal) journal->close();
    if (!options.timeline.empty()) write_whole(options.timeline, timeline.perfetto());
    const SmTools::Result watched = tools.finish();
    for (const std::string& note : watched.notes) tell("tu104sim: " + note + "\n");
    for (const std::string& found : watched.found) tell("found: " + found + "\n");
    if (tools.stopped()) result.exit_code = kAsExpected;
    if (std::string failure = watched.failure(); !failure.empty() && result.exit_code == kAsExpected) {
        result.exit_code = kFailed;
        result.reason = failure;
    }
    outcome.exit_code = result.exit_code;
    std::string failure = result.exit_code == kAsExpected ? std::string() : result.reason;
    if (!failure.empty() && !result.last_calls.empty())
        failure += fmt::format("\nlast system calls:\n  {}", fmt::join(result.last_calls, "\n  "));
    print_end({result.summary, &result.unmodelled, result.exit_code, failure}, options.end);
}

}  // namespace

void add_run(Program& program, Outcome& outcome) {
    auto options = std::make_shared<Options>();
    Command sub = program.add("run", "Run a guest program on the simulated machine");
    sub.footer("Example:\n  tu104sim run --gpu t4 --driver 570.144 --seed 7 --record a.trace -- ./saxpy 1024\n"
               "The guest is a static x86-64 program. Exit code 0: it exited with 0; 1: it did not, and why; 3: something unmodelled.");
    sub.option("--gpu,--chip NAME", options->machine.chip, "chip profile: t4, rtx2080 or rtx5000");
    sub.option("--engines FILE", options->engines, "engine list (JSON) in place of the profile's own; example: examples/engines_t4.json");
    sub.option("--driver VERSION", options->machine.driver, "driver version");
    sub.option("--seed", options->machine.seed, "schedule; 0 is the nominal one");
    sub.option("--boot cold|warm", options->boot,
               "cold: from power-on, through ROM, FWSEC and Booter; warm: the firmware's images are in place");
    sub.option("--timing on|off", options->timing, std::string(kTimingHelp));
    sub.option("--record FILE", options->record, "write a trace of every crossing to this file");
    sub.option("--journal FILE", options->journal, "write the journal as text to this file");
    sub.option("--timeline FILE", options->timeline, "write what happened when, as JSON for ui.perfetto.dev, to this file");
    sub.option("--faults FILE", options->faults, "fault plan: what goes wrong on purpose, and when; explore --points lists what there is");
    sub.option("--env NAME=VALUE", options->environment, "NAME=VALUE for the guest (the host's environment never reaches it)");
    sub.option("--time-limit", options->time_limit_ms, "stop after so many milliseconds of virtual time");
    add_end_options(sub, options->end);
    add_hw_options(sub, options->hw, HwWork::Calls);
    add_sm_tool_options(sub, options->tools);
    sub.option("guest", options->guest, "guest program and its arguments, after --", Need::Required);
    sub.action([options, &outcome] { execute(*options, outcome); });
}

}  // namespace harness::cli
