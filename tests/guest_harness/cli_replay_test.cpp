// tu104sim replay: a trace repeats its run by itself, whatever options the run had; --goto, --timeline and what is refused.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "guest_harness/trace/text.h"
#include "tests/support/command_line.h"
#include "tests/support/trace_samples.h"

using test_support::Finished;
using test_support::guest;
using test_support::tu104sim;

namespace {

std::string recorded(const std::string& name, const std::string& options) {
    const std::string trace = test_support::scratch_path(name);
    const Finished done = tu104sim("run --record '" + trace + "' " + options);
    CAPTURE(options);
    CHECK(done.exit_code <= 1);
    return trace;
}

std::string imported(const std::string& name) {
    const std::string trace = test_support::scratch_path(name);
    const Finished done =
        tu104sim("import '" TU104SIM_SOURCE_DIR "/tests/guest_harness/data/hopper_excerpt.jsonl' -o '" + trace + "'");
    REQUIRE(done.exit_code == 0);
    return trace;
}

}  // namespace

TEST_CASE("cli: a trace repeats its run by itself, whatever the run's options were") {
    const std::string plan = test_support::scratch_path("cli_replay.plan");
    test_support::write_file(plan, "intr.late ratio=1/2 argument=50us  # some\npci.slow argument=3us from=1 to=9\n");
    const std::string client = " -- " + guest("rm_client");
    for (const std::string& options : {"--faults '" + plan + "'" + client, "--faults '" + plan + "' --seed 5" + client,
                                       "--time-limit 1" + client, "--time-limit 10" + client, "--time-limit 16" + client,
                                       "--time-limit 3" + (" -- " + guest("spin") + " j"), "--seed 7 --env A=b" + client,
                                       "--gpu rtx5000 --driver 535.183.01 --boot warm" + client, "-- " + guest("spin"),
                                       "-- " + guest("crash")}) {
        CAPTURE(options);
        const std::string trace = test_support::scratch_path("cli_options.trace");
        const Finished ran = tu104sim("run --json --record '" + trace + "' " + options);
        const Finished replayed = tu104sim("replay --json '" + trace + "'");
        CHECK_MESSAGE(replayed.exit_code == 0, replayed.output);
        const auto one = nlohmann::json::parse(ran.output);
        const auto other = nlohmann::json::parse(replayed.output);
        CHECK(one.at("digest") == other.at("digest"));
        CHECK(one.at("records") == other.at("records"));
        CHECK(one.at("time_ps") == other.at("time_ps"));
    }
    const Finished told = tu104sim("replay '" + recorded("cli_told.trace", "--faults '" + plan + "'" + client) + "'");
    CHECK(told.exit_code == 0);
    CHECK(told.says("under the recorded fault plan: intr.late ratio=1/2 argument=50000000; pci.slow from=1 to=9 argument=3000000"));
}

TEST_CASE("cli: what a run was given is shown, and another plan can take the recorded one's place") {
    const std::string plan = test_support::scratch_path("cli_shown.plan");
    test_support::write_file(plan, "intr.late argument=50us\n");
    const std::string trace = recorded(
        "cli_shown.trace", "--faults '" + plan + "' --time-limit 900 --env 'NAME=some value' --boot warm -- " + guest("rm_client"));
    const Finished shown = tu104sim("show --last 0 '" + trace + "'");
    for (const char* text : {"environment NAME=some value\n", "time limit 900000 us", "boot warm", "fault intr.late argument=50000000\n"})
        CHECK_MESSAGE(shown.says(text), shown.output);
    CHECK(tu104sim("replay '" + trace + "'").exit_code == 0);
    const Finished without = tu104sim("replay --no-faults '" + trace + "'");
    CHECK(without.exit_code == 1);
    CHECK(without.says("diverges"));
    CHECK(tu104sim("replay --faults '" + plan + "' '" + trace + "'").exit_code == 0);
    const Finished both = tu104sim("replay --no-faults --faults '" + plan + "' '" + trace + "'");
    CHECK(both.exit_code == 2);
    // Explored: the recorded seed must answer as recorded, other seeds see the plan strike elsewhere.
    const Finished explored = tu104sim("explore '" + trace + "' --seeds 0..1");
    CHECK(explored.exit_code == 0);
    CHECK(explored.says("intr.late: fired"));
}

TEST_CASE("cli: a time limit holds under another seed, too") {
    const std::string trace = recorded("cli_limit.trace", "--time-limit 15 -- " + guest("rm_client"));
    const Finished done = tu104sim("replay --seed 3 '" + trace + "'");
    CHECK(done.exit_code == 0);
    CHECK(done.says("with the recorded time limit of 15000 us"));
    CHECK(done.says("times and digests are not compared"));
}

TEST_CASE("cli: a trace whose ending is made up is refused or diverges, at bounded cost") {
    const std::string trace = recorded("cli_ending.trace", "--boot warm -- " + guest("rm_client"));
    const std::string twin = test_support::scratch_path("cli_ending.textproto");
    const auto replay_with = [&](auto change) {
        harness::trace::Trace values = harness::trace::load(trace);
        change(values);
        test_support::write_file(twin, harness::trace::encode(values));
        return tu104sim("replay '" + twin + "'");
    };
    using harness::CallRecord;
    using harness::trace::Trace;
    const auto call = [](Trace& values, std::size_t n) -> CallRecord& { return std::get<CallRecord>(values.events.at(n)); };
    const Finished plan = replay_with([](Trace& values) { values.header.faults = "bus.melt\n"; });
    CHECK(plan.exit_code == 2);
    CHECK(plan.says("fault plan of the trace:1: no fault point"));
    const Finished late = replay_with([](Trace& values) { values.closing.summary.time = {~sim::u64{0} / 2}; });
    CHECK(late.exit_code == 1);
    const Finished early = replay_with([](Trace& values) { values.closing.summary.time = {1}; });
    CHECK(early.exit_code == 1);
    const Finished limited = replay_with([](Trace& values) { values.header.time_limit = {1}; });
    CHECK(limited.exit_code == 1);
    CHECK(limited.says("time limit"));
    // Broken off, it says, but the call ends; or the run ended before it began.
    const Finished ends = replay_with([&](Trace& values) { call(values, 1).unfinished = true; });
    CHECK(ends.exit_code == 1);
    CHECK(ends.says("when it was recorded it was broken off"));
    const Finished never = replay_with([&](Trace& values) {
        call(values, 1).unfinished = true;
        values.closing.summary.time = {1};
    });
    CHECK(never.exit_code == 1);
}

TEST_CASE("cli: --goto stops before an event of the trace, and says which is the last when there is no such event") {
    const std::string trace = recorded("cli_goto.trace", "--boot warm -- " + guest("rm_client"));
    const Finished stopped = tu104sim("replay --goto 12 '" + trace + "'");
    CHECK(stopped.exit_code == 0);
    CHECK(stopped.says("stopped before event 12\n"));
    CHECK(stopped.says("last records:"));
    const auto json = nlohmann::json::parse(tu104sim("replay --json --goto 12 '" + trace + "'").output);
    CHECK(json.at("stopped_before_event") == 12);
    const harness::trace::Trace whole = harness::trace::load(trace);
    const std::string last = std::to_string(whole.events.size() - 1);
    CHECK(tu104sim("replay --goto " + last + " '" + trace + "'").exit_code == 0);
    const Finished past = tu104sim("replay --goto " + std::to_string(whole.events.size()) + " '" + trace + "'");
    CHECK(past.exit_code == 2);
    CHECK(past.says("is event " + last));
}

TEST_CASE("cli: imported calls have a timeline and events to stop at, too") {
    const std::string trace = imported("cli_imported.trace");
    const std::string timeline = test_support::scratch_path("cli_imported.json");
    const Finished whole = tu104sim("replay --timeline '" + timeline + "' '" + trace + "'");
    const auto json = nlohmann::json::parse(test_support::read_file(timeline));
    CHECK(json.at("traceEvents").size() > 5);
    const Finished part = tu104sim("replay --goto 4 '" + trace + "'");
    CHECK(part.says("stopped before event 4\n"));
    const Finished past = tu104sim("replay --goto 100000 '" + trace + "'");
    CHECK(past.exit_code == 2);
    CHECK(past.says("there is no event 100000"));
    const Finished watched = tu104sim("replay --check races '" + trace + "'");
    CHECK(watched.exit_code == 2);
    CHECK(watched.says("its kernels do not run"));
    CHECK(tu104sim("report '" + trace + "' -o '" + timeline + "'").says("replay --timeline"));
}
