// tu104sim report: one page about a trace.
#include <fmt/format.h>

#include "guest_harness/cli/command.h"
#include "guest_harness/timeline.h"
#include "guest_harness/trace/describe.h"
#include "guest_harness/trace/player.h"
#include "sim/time_text.h"

namespace harness::cli {

namespace {

struct Options {
    std::string trace;
    std::string output;
};

void execute(const Options& options, Outcome& outcome) {
    refuse_same_files({{"the trace", options.trace}, {"--output", options.output}});
    Timeline timeline;
    trace::PlayOptions play;
    play.on_start = [&](Machine& machine) { machine.kernel().journal().add_sink(timeline); };
    play.on_end = [&](Machine& machine) { machine.kernel().journal().remove_sink(timeline); };
    trace::Header header = open_trace(options.trace)->header();
    if (header.origin == "import")
        throw sim::HostError(options.trace + " was imported; `replay` compares its replies, `replay --timeline` draws when they came");
    trace::PlayOutcome result = trace::play([&options] { return open_trace(options.trace); }, play);
    ReportFacts facts;
    facts.title = options.trace.substr(options.trace.find_last_of('/') + 1);
    facts.summary = {{"chip", header.chip},
                     {"driver", header.driver},
                     {"seed", fmt::format("{}", header.seed)},
                     {"recorded", header.origin == "hardware" ? trace::describe_hardware(header) : std::string("on the model")},
                     {"fault plan", trace::describe_fault_plan(header.faults)},
                     {"journal records", fmt::format("{}", result.summary.events)},
                     {"virtual time", format_time(result.summary.time)},
                     {"digest", result.summary.digest.hex()},
                     {"replay", result.divergence ? "diverges at " + result.divergence->text() : std::string("as recorded")}};
    for (const auto& [name, entry] : result.unmodelled) {
        facts.unmodelled.emplace_back(name, fmt::format("{} times, first at {}, {}", entry.count, format_time(entry.first),
                                                        entry.invented ? "needs invented data" : "refused"));
    }
    write_whole(options.output, report_html(timeline, facts));
    if (result.divergence) {
        tell(fmt::format("the replay diverges at {}\n", result.divergence->text()));
        outcome.exit_code = kFailed;
    }
}

}  // namespace

void add_report(Program& program, Outcome& outcome) {
    auto options = std::make_shared<Options>();
    Command sub = program.add("report", "One self-contained HTML page about a trace");
    sub.footer("Example:\n  tu104sim report a.trace -o a.html\nExit code 0: the replay is as recorded; 1: it diverges, as the page says.");
    sub.option("trace", options->trace, "trace, binary or text", Need::Required);
    sub.option("-o,--output FILE", options->output, "the page", Need::Required);
    sub.action([options, &outcome] { execute(*options, outcome); });
}

}  // namespace harness::cli
