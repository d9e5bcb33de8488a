// tu104sim minimize: the smallest trace that still fails the same way, as text with comments. What "the same way" means
// is a short text: the crossing that diverges and how, what was invented, the check that failed, the signal, or that it
// never ends.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "guest_harness/cli/child.h"
#include "guest_harness/cli/command.h"
#include "guest_harness/fault_plan.h"
#include "guest_harness/trace/describe.h"
#include "guest_harness/trace/minimizer.h"
#include "guest_harness/trace/player.h"
#include "guest_harness/trace/text.h"

namespace harness::cli {

namespace {

struct Options {
    std::string trace;
    std::optional<u64> seed;
    std::string faults;
    std::string output;
    u64 seconds = 20;
    u64 tries = 20'000;
};

constexpr std::string_view kPassed = "passed";

// Of a banner or an exception: numbers differ from one candidate to the next, words tell the failure. A divergence
// keeps its numbers: where the driver wrote what is the failure.
std::string without_numbers(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) {
            out += text[i++];
            continue;
        }
        while (i < text.size() && std::isalnum(static_cast<unsigned char>(text[i])) != 0) ++i;
        out += '#';
    }
    return out;
}

// In a child: what became of the trace. `origins` turns the event's number into that of the original.
std::string outcome_of(const trace::Trace& candidate, const trace::Origins& origins, const Options& options) {
    const std::string bytes = trace::encode(candidate);
    trace::PlayOptions play;
    play.seed = options.seed;
    const trace::PlayOutcome outcome =
        trace::play([&bytes] { return std::make_unique<trace::Reader>("candidate", bytes); }, play);
    if (outcome.divergence) {
        const u64 event = outcome.divergence->event;
        return fmt::format("event {} diverges: {}: {}", event < origins.size() ? origins[event] : event,
                           outcome.divergence->crossing, outcome.divergence->what);
    }
    if (outcome.any_invented) {
        for (const auto& [key, entry] : outcome.unmodelled)
            if (entry.invented) return "needs invented data: " + key;
    }
    return std::string(kPassed);
}

std::string failure_of(const trace::Trace& candidate, const trace::Origins& origins, const Options& options) {
    const ChildEnd end = run_in_child(
        [&]() -> std::string {
            try {
                return outcome_of(candidate, origins, options);
            } catch (const sim::HostError& error) {
                return fmt::format("refused: {}", without_numbers(error.what()));
            } catch (const std::exception& error) {
                return fmt::format("a bug: {}", without_numbers(error.what()));
            }
        },
        options.seconds);
    if (end.answered) return end.answer;
    if (end.timed_out) return "hangs";
    // The first line of a banner names the check.
    const std::string banner = end.said.substr(0, end.said.find('\n'));
    if (end.signal != 0) return fmt::format("signal {}: {}", end.signal, without_numbers(banner));
    return fmt::format("exit {}: {}", end.status, without_numbers(banner));
}

// The text twin with a line above each event that says what it is.
std::string commented(const trace::Minimized& small, const std::string& head) {
    constexpr std::string_view kEvent = "event {";
    const std::string text = trace::to_text(small.trace);
    std::string out = head;
    std::size_t event = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
        const std::string_view line = std::string_view(text).substr(at, end - at);
        if (line.substr(0, kEvent.size()) == kEvent && event < small.trace.events.size()) {
            std::string what = trace::describe(small.trace.events[event]);
            std::replace(what.begin(), what.end(), '\n', ' ');
            out += fmt::format("# event {}, of the original {}: {}\n", event, small.origins[event], what);
            ++event;
        }
        out += line;
        at = end;
    }
    return out;
}

void execute(const Options& options, Outcome& outcome) {
    constexpr u64 kSecondsMax = 86'400;
    if (options.seconds == 0 || options.seconds > kSecondsMax)
        throw sim::HostError(fmt::format("--seconds is {}, must be 1 to {}: how long one replay may take", options.seconds, kSecondsMax));
    if (options.tries == 0) throw sim::HostError("--tries is 0: without a replay nothing can be cut away; give 1 or more");
    refuse_same_files({{"the trace", options.trace}, {"--output", options.output}, {"--faults", options.faults}});
    trace::Trace trace = trace::load(options.trace);
    if (trace.header.origin == "import")
        throw sim::HostError(options.trace + " was imported; only what `run` recorded is replayed call by call");
    if (!options.faults.empty()) trace.header.faults = fault_plan_text(read_fault_plan(options.faults));
    trace::Origins origins(trace.events.size());
    for (u64 i = 0; i < origins.size(); ++i) origins[i] = i;
    // Without its closing record, as every candidate will be: an end that differs is no crossing that fails.
    trace.complete = false;
    const std::string failure = failure_of(trace, origins, options);
    if (failure == kPassed) {
        print(fmt::format("{} does not fail at seed {}: there is nothing to minimise\n", options.trace,
                          options.seed.value_or(trace.header.seed)));
        outcome.exit_code = kFailed;
        return;
    }
    print(fmt::format("fails: {}\n", failure));
    Progress progress("minimising, try");
    trace::MinimizeOptions minimize;
    minimize.tries_max = options.tries;
    minimize.progress = [&progress](u64 tries, u64) { progress.at(tries); };
    minimize.fails = [&](const trace::Trace& candidate, const trace::Origins& from) {
        return failure_of(candidate, from, options) == failure;
    };
    const trace::Minimized small = trace::minimize(trace, minimize);
    // The recorded seed stays in the file: answers were recorded under it.
    const std::string again = fmt::format("tu104sim replay {}{}", quoted(options.output),
                                          options.seed ? fmt::format(" --seed {}", *options.seed) : std::string());
    write_whole(
        options.output,
        commented(small,
                  fmt::format("# The smallest part of {} that still fails the same way.\n# Failure: {}\n# Again: {}\n",
                              options.trace, failure, again)));
    print(fmt::format("{} of {} events are left after {} replays{}\nreproduce: {}\n", small.trace.events.size(),
                      trace.events.size(), small.tries, small.complete ? "" : " (--tries reached; fewer may do)",
                      again));
}

}  // namespace

void add_minimize(Program& program, Outcome& outcome) {
    auto options = std::make_shared<Options>();
    Command sub =
        program.add("minimize", "Cut a failing trace to the smallest that still fails the same way, as commented text");
    sub.footer(
        "Example:\n  tu104sim minimize a.trace --seed 17 -o small.txt\n"
        "Removes events, then stores, then payload bytes and fault rules. Exit 1 when the trace does not fail.");
    sub.option("trace", options->trace, "trace, binary or text", Need::Required);
    sub.option("--seed", options->seed, "seed at which it fails; default: as recorded");
    sub.option("--faults FILE", options->faults, "fault plan under which it fails; default: as recorded");
    sub.option("-o,--output FILE", options->output, "file for the small trace", Need::Required);
    sub.option("--seconds", options->seconds, "a replay that takes longer hangs");
    sub.option("--tries", options->tries, "replays at most");
    sub.action([options, &outcome] { execute(*options, outcome); });
}

}  // namespace harness::cli
