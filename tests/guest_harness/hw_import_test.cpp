// A recording of another machine on --hw: its calls are made again, what must not be forwarded is left out by name.
#include <doctest/doctest.h>

#include "tests/support/command_line.h"
#include "tests/support/trace_samples.h"

namespace {

using test_support::Finished;
using test_support::tu104sim;

}  // namespace

TEST_CASE("an imported recording's calls are made again on a driver, with the recorded statuses") {
    const std::string trace = test_support::scratch_path("hw_import.trace");
    REQUIRE(tu104sim("import '" TU104SIM_SOURCE_DIR "/examples/recording.jsonl' -o '" + trace + "'").exit_code == 0);
    const Finished done = tu104sim("replay --hw=model '" + trace + "'");
    INFO(done.output);
    INFO(done.errors);
    CHECK(done.exit_code == 0);
    CHECK(done.says("RM calls 4 of 4"));
    CHECK(done.says("0 calls left out"));
    CHECK(done.says("unexplained differences 0"));
    CHECK(done.says("after the release nothing is held"));
    const Finished json = tu104sim("replay --hw=model --json '" + trace + "'");
    CHECK(json.exit_code == 0);
    CHECK(json.says("\"rm_calls_same_status\": 4"));
    CHECK(json.says("\"calls_left_out\": 0"));
}

TEST_CASE("what is not forwarded of an imported recording is left out by name, and a status that differs is said") {
    // Calls out of the middle of a recording: what they need was never made.
    const std::string trace = test_support::scratch_path("hw_import_excerpt.trace");
    REQUIRE(tu104sim("import '" TU104SIM_SOURCE_DIR "/tests/guest_harness/data/hopper_excerpt.jsonl' -o '" + trace + "'").exit_code == 0);
    const Finished done = tu104sim("replay --hw=model '" + trace + "'");
    INFO(done.output);
    CHECK(done.exit_code == 1);
    CHECK(done.says("left out  hw escape NV_ESC_RM_ALLOC_MEMORY: 1 times"));
    CHECK(done.says("status  event "));
    CHECK(done.says("after the release nothing is held"));
}

TEST_CASE("companions and faults are not for a driver") {
    const std::string trace = "'" TU104SIM_SOURCE_DIR "/seeds/replay/rm_client.trace'";
    const Finished companions = tu104sim("replay --hw=model --companions '" TU104SIM_SOURCE_DIR "/examples/companions' " + trace);
    CHECK(companions.exit_code == 2);
    CHECK(companions.errors.find("--companions is for --hw=cuda") != std::string::npos);
    CHECK(tu104sim("run --hw=cuda -- ./guest").exit_code == 2);
    const Finished late = tu104sim("replay --hw=model '" TU104SIM_SOURCE_DIR "/seeds/replay/rm_client_late_interrupts.trace'");
    CHECK(late.exit_code == 2);
    CHECK(late.errors.find("not for real hardware") != std::string::npos);
}

TEST_CASE("a corpus on hardware needs companions, and a backend that runs kernels") {
    CHECK(tu104sim("corpus --hw=rm /tmp").exit_code == 2);
    CHECK(tu104sim("corpus --hw=cuda /tmp").exit_code == 2);
}
