// --timing off on the whole machine: the shipped clients pass their own checks and print the same, recordings made with timing
// replay without, and the other way round, and a recording without timing replays to its own digest.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "guest_harness/run.h"
#include "guest_harness/trace/container.h"
#include "guest_harness/trace/player.h"
#include "guest_harness/trace/recorder.h"

namespace harness {
namespace {

struct Ran {
    RunOutcome outcome;
    std::string output;
};

struct TraceFile {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / fmt::format("tu104sim_timing_{}.trace", getpid());
    ~TraceFile() { std::filesystem::remove(path); }
    trace::OpenTrace open() const {
        return [this] { return std::make_unique<trace::Reader>(path.string()); };
    }
};

Ran run(const std::string& guest, bool timing, const TraceFile* file = nullptr, u64 seed = 0) {
    Ran ran;
    RunOptions options{.guest_path = std::string(TU104SIM_BINARY_DIR) + "/guests/" + guest,
                       .machine = {.seed = seed, .timing = timing}};
    options.output = [&](int, std::string_view text) { ran.output += text; };
    options.watchdog_limit = SimTime::from_s(1);
    std::unique_ptr<trace::Recorder> recorder;
    if (file != nullptr) {
        recorder = std::make_unique<trace::Recorder>(file->path.string(), trace::header_for(options.machine, "run", {guest}));
        options.sink = recorder.get();
        options.on_start = [&](Machine& machine) { recorder->attach(machine); };
        options.on_end = [&](Machine& machine) { recorder->finish(machine); };
    }
    ran.outcome = run_guest(options);
    if (recorder) recorder->close();
    return ran;
}

}  // namespace

TEST_CASE("timing off: the shipped clients do the same work in less virtual time") {
    for (const char* guest : {"rm_client", "kernel_client", "uvm_client"}) {
        CAPTURE(guest);
        Ran on = run(guest, true), off = run(guest, false);
        INFO(off.outcome.reason);
        INFO(off.output);
        CHECK(off.outcome.exit_code == 0);
        CHECK(off.output == on.output);
        CHECK(off.outcome.summary.time.ps < on.outcome.summary.time.ps / 2);
        CHECK(off.outcome.summary.line() == run(guest, false).outcome.summary.line());
        CHECK(run(guest, false, nullptr, 5).outcome.exit_code == 0);
    }
}

TEST_CASE("timing off: recordings replay with the other timing, and with their own to the same digest") {
    TraceFile file;
    for (bool recorded : {true, false}) {
        CAPTURE(recorded);
        Ran ran = run("rm_client", recorded, &file);
        REQUIRE(ran.outcome.exit_code == 0);
        CHECK(file.open()()->header().timing == recorded);
        trace::PlayOutcome same = trace::play(file.open(), {});
        CHECK(!same.divergence);
        CHECK(same.same_seed);
        CHECK(same.summary.line() == ran.outcome.summary.line());
        trace::PlayOptions other;
        other.timing = !recorded;
        trace::PlayOutcome crossed = trace::play(file.open(), other);
        std::string told = crossed.divergence ? crossed.divergence->text() : std::string();
        CHECK_MESSAGE(told.empty(), told);
        CHECK(!crossed.same_seed);
        CHECK(crossed.complete);
    }
}

}  // namespace harness
