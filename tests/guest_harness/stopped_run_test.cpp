// A run that is stopped anywhere, between two crossings or in the middle of a call, is replayed to the same memory and digest.
#include <doctest/doctest.h>

#include "guest_harness/run.h"
#include "guest_harness/trace/player.h"
#include "guest_harness/trace/recorder.h"
#include "tests/support/trace_samples.h"

using namespace harness;

namespace {

struct Stopped {
    RunOutcome ran;
    trace::PlayOutcome replayed;
    u64 unfinished = 0;
};

Stopped stop_at(SimTime limit, u64 seed) {
    const std::string path = test_support::scratch_path("stopped.trace");
    RunOptions run{.guest_path = std::string(TU104SIM_BINARY_DIR) + "/guests/rm_client",
                   .machine = {.seed = seed, .boot = rm::BootMode::Warm}};
    trace::Header header = trace::header_for(run.machine, "run", {"rm_client"});
    header.time_limit = run.time_limit = limit;
    trace::Recorder recorder(path, header);
    run.sink = &recorder;
    run.on_start = [&](Machine& machine) { recorder.attach(machine); };
    run.on_end = [&](Machine& machine) { recorder.finish(machine); };
    Stopped out;
    out.ran = run_guest(run);
    recorder.close();
    out.replayed = trace::play([&path] { return std::make_unique<trace::Reader>(path); }, {});
    trace::Reader reader(path);
    trace::Event event;
    while (reader.next(event))
        if (const auto* call = std::get_if<CallRecord>(&event)) out.unfinished += call->unfinished ? 1 : 0;
    return out;
}

}  // namespace

TEST_CASE("a run stopped at any time replays to the same digest") {
    const RunOutcome whole =
        run_guest({.guest_path = std::string(TU104SIM_BINARY_DIR) + "/guests/rm_client", .machine = {.boot = rm::BootMode::Warm}});
    REQUIRE(whole.exit_code == 0);
    constexpr u64 kStops = 60;
    u64 unfinished = 0;
    for (u64 i = 1; i <= kStops; ++i) {
        const SimTime limit{whole.summary.time.ps / (kStops + 1) * i};
        CAPTURE(limit.ps);
        const Stopped done = stop_at(limit, i % 3);
        CHECK(done.ran.end == RunEnd::TimeLimit);
        REQUIRE_MESSAGE(!done.replayed.divergence, done.replayed.divergence->text());
        CHECK(done.replayed.complete);
        CHECK(done.replayed.summary.line() == done.ran.summary.line());
        unfinished += done.unfinished;
    }
    CHECK(unfinished > 5);  // the stops do fall into calls
}
