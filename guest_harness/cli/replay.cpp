// tu104sim replay: a recorded guest without its CPU.
#include <fmt/format.h>

#include "guest_harness/cli/command.h"
#include "guest_harness/cli/sm_tools.h"
#include "guest_harness/cli/hw.h"
#include "guest_harness/engine_list.h"
#include "guest_harness/fault_plan.h"
#include "guest_harness/timeline.h"
#include "guest_harness/trace/describe.h"
#include "guest_harness/trace/import_player.h"
#include "guest_harness/trace/player.h"
#include "sim/time_text.h"

namespace harness::cli {

namespace {

constexpr u64 kNoEvent = ~u64{0};

struct Options {
    std::string trace;
    std::optional<u64> seed;
    std::string journal;
    std::string faults;
    bool no_faults = false;
    std::string timeline;
    std::string engines;
    std::string timing;
    u64 stop_before = kNoEvent;
    EndOptions end;
    SmToolOptions tools;
    HwOptions hw;
};

// A recording of another machine: statuses are compared, and replies by rule.
void report_import(const Options& options, const trace::ImportOutcome& result, End& end) {
    constexpr std::size_t kShownDifferences = 20;
    bool quiet = options.end.json || options.end.digest_only;
    if (!quiet) {
        print(result.rm.text());
        if (!result.uvm.rows().empty()) print(result.uvm.text());
    }
    std::string counts = fmt::format(
        "RM calls {} of {} with the recorded status; UVM calls {} of {}, {} set apart; {} submissions not run; unexplained differences {}",
        result.rm.same_status(), result.rm.calls(), result.uvm.same_status(), result.uvm.calls(), result.uvm_set_apart,
        result.work_not_run, result.rm.unexplained());
    if (!quiet) print(counts + "\n");
    if (result.as_expected()) return;
    end.exit_code = kFailed;
    end.failure = fmt::format("{}: {}", options.trace, counts);
    for (const std::vector<std::string>* list : {&result.status_differences, &result.uvm_differences})
        for (std::size_t i = 0; i < std::min(list->size(), kShownDifferences); ++i) end.failure += "\n  " + (*list)[i];
    if (!result.stuck.empty()) end.failure += "\n  " + result.stuck;
}

// What the trace says of its run and the command line does not change.
std::vector<std::string> notes_on(const trace::Header& header, const Options& options) {
    std::vector<std::string> notes;
    if (!header.faults.empty() && options.faults.empty() && !options.no_faults)
        notes.push_back("under the recorded fault plan: " + trace::describe_fault_plan(header.faults));
    if (const std::string hardware = trace::describe_hardware(header); !hardware.empty())
        notes.push_back(fmt::format("{}: {}; a replay on the model differs from them, `replay --hw=rm` (or --hw=model) compares by rules",
                                    options.trace, hardware));
    if (header.time_limit != SimTime::max()) notes.push_back("with the recorded time limit of " + format_time(header.time_limit));
    return notes;
}

void execute(const Options& options, Outcome& outcome) {
    refuse_same_files({{"the trace", options.trace}, {"--journal", options.journal}, {"--timeline", options.timeline},
                       {"--faults", options.faults}, {"--engines", options.engines}});
    if (options.hw.wanted()) {
        refuse_on_hardware({{"--seed", options.seed ? "given" : ""}, {"--timing", options.timing},
                            {"--no-faults", options.no_faults ? "given" : ""},
                            {"--faults", options.faults}, {"--journal", options.journal}, {"--timeline", options.timeline},
                            {"--engines", options.engines}, {"--goto", options.stop_before != kNoEvent ? "given" : ""},
                            {"--sass-trace", options.tools.sass_trace}, {"--check", options.tools.check},
                            {"--break", options.tools.breaks}});
        return replay_on_hardware(options.hw, options.trace, options.end, outcome);
    }
    trace::PlayOptions play;
    play.seed = options.seed;
    play.timing = parse_timing(options.timing);
    if (!options.engines.empty()) play.engines = read_engines(options.engines);
    if (options.stop_before != kNoEvent) play.stop_before = options.stop_before;
    std::unique_ptr<JournalFile> journal;
    if (!options.journal.empty()) journal = std::make_unique<JournalFile>(options.journal);
    Progress progress("replaying event");
    play.progress = [&progress](u64 event) { progress.at(event); };
    std::string state;
    Timeline timeline;
    if (!options.faults.empty()) play.faults = read_fault_plan(options.faults);
    if (options.no_faults) play.faults.emplace();
    SmTools tools(options.tools);
    play.on_start = [&](Machine& machine) {
        tools.attach(machine);
        sim::set_failure_context(&machine.kernel());
        if (journal) machine.kernel().journal().add_sink(*journal);
        if (!options.timeline.empty()) machine.kernel().journal().add_sink(timeline);
    };
    play.on_end = [&](Machine& machine) {
        if (journal) machine.kernel().journal().remove_sink(*journal);
        if (!options.timeline.empty()) machine.kernel().journal().remove_sink(timeline);
        state = machine.kernel().describe_now();
        sim::set_failure_context(nullptr);
    };
    trace::OpenTrace open = [&options] { return open_trace(options.trace); };
    const trace::Header header = open()->header();
    End end;
    end.notes = notes_on(header, options);
    const auto write_files = [&] {
        if (journal) journal->close();
        if (!options.timeline.empty()) write_whole(options.timeline, timeline.perfetto());
    };
    if (trace::is_import(header)) {
        if (tools.wanted())
            throw sim::HostError(options.trace + " was imported: its kernels do not run; --sass-trace, --check and --break are for traces "
                                                 "that `run` recorded");
        trace::ImportOutcome imported = trace::play_import(open, play);
        write_files();
        end.summary = imported.summary;
        end.unmodelled = &imported.unmodelled;
        if (imported.any_invented) end.exit_code = kUnmodelled;
        report_import(options, imported, end);
        if (imported.stopped) end.stopped_before = options.stop_before;
        end.state = state;
        outcome.exit_code = end.exit_code;
        print_end(end, options.end);
        return;
    }
    trace::PlayOutcome result = trace::play(open, play);
    const SmTools::Result watched = tools.finish();
    end.notes.insert(end.notes.end(), watched.notes.begin(), watched.notes.end());
    if (tools.stopped()) end.notes.push_back("stopped at a breakpoint: the rest of the trace is not compared");
    for (const std::string& found : watched.found) tell("found: " + found + "\n");
    // A breakpoint ends the replay before the recording's end.
    if (tools.stopped()) result.divergence.reset();
    write_files();
    end.summary = result.summary;
    end.unmodelled = &result.unmodelled;
    if (result.divergence) {
        end.exit_code = kFailed;
        end.failure = fmt::format("{}: the replay diverges at {}\n{}", options.trace, result.divergence->text(), state);
    } else if (std::string failure = watched.failure(); !failure.empty()) {
        end.exit_code = kFailed;
        end.failure = failure;
    } else if (!result.complete && !result.stopped && result.events_played == 0 && !result.time_is_up) {
        // What broke off before its first event has nothing that could differ.
        end.exit_code = kFailed;
        end.failure = options.trace + " holds no event: nothing was compared; record it again";
    } else if (result.any_invented) {
        end.exit_code = kUnmodelled;
    }
    outcome.exit_code = end.exit_code;
    if (result.stopped) end.stopped_before = options.stop_before;
    end.state = state;
    if (!result.complete) end.notes.push_back(options.trace + " is incomplete: the end of the run is not compared");
    if (!result.same_seed)
        end.notes.push_back(fmt::format("another seed or timing than recorded: times and digests are not compared; {} answers with "
                                        "times differ", result.values_by_time));
    if (result.time_is_up) end.notes.push_back(fmt::format("the time limit is reached before event {}", result.events_played));
    print_end(end, options.end);
}

}  // namespace

void add_replay(Program& program, Outcome& outcome) {
    auto options = std::make_shared<Options>();
    Command sub = program.add("replay", "Replay a recorded guest; compare every reply and memory digest");
    sub.footer("Examples:\n  tu104sim replay a.trace --seed 7 --journal seed7.journal\n  tu104sim replay a.trace --goto 120\n"
               "Chip, driver, engines, seed, boot, fault plan and time limit are the recorded ones unless an option says otherwise.\n"
               "Exit code 0: as recorded; 1: it diverges, and the first event that does is named; 3: something unmodelled.");
    sub.option("trace", options->trace, "trace, binary or text", Need::Required);
    sub.option("--seed", options->seed, "schedule; default: as recorded");
    sub.option("--timing on|off", options->timing, std::string(kTimingHelp) + "; default: as recorded");
    sub.option("--journal FILE", options->journal, "write the journal as text to this file");
    sub.option("--timeline FILE", options->timeline, "write what happened when, as JSON for ui.perfetto.dev, to this file");
    sub.option("--faults FILE", options->faults, "fault plan in place of the recorded one");
    sub.flag("--no-faults", options->no_faults, "without the recorded fault plan");
    sub.excludes("--no-faults", "--faults");
    sub.option("--engines FILE", options->engines, "engine list (JSON) in place of the recorded one");
    sub.option("--goto", options->stop_before, "stop before this event (as show numbers them) and tell the machine's state");
    add_hw_options(sub, options->hw, HwWork::Recorded);
    add_companions_option(sub, options->hw);
    sub.option("--report FILE", options->hw.report,
               "with --hw: write the comparison to this file, as JSON (.json), a page (.html) or text");
    sub.needs("--report", "--hw");
    add_sm_tool_options(sub, options->tools);
    add_end_options(sub, options->end);
    sub.action([options, &outcome] { execute(*options, outcome); });
}

}  // namespace harness::cli
