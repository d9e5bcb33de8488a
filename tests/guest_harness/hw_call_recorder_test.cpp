// Programs under ptrace. Without a driver there is nothing to record, so what is seen here is that programs run as they would alone.
#include "guest_harness/hw/call_recorder.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <optional>

#include "sim/check.h"

namespace harness::hw {
namespace {

std::string guest_path(const std::string& name) { return std::string(TU104SIM_BINARY_DIR) + "/guests/" + name; }

// Empty where this host does not let processes be traced (some containers do not).
std::optional<Recorded> try_recording(std::vector<std::string> command) {
    try {
        return record_calls({.command = std::move(command), .output_path = "/dev/null"});
    } catch (const sim::HostError& error) {
        MESSAGE(error.what());
        return std::nullopt;
    }
}

}  // namespace

TEST_CASE("a recorded program ends as it would alone, and its other files are none of our business") {
    const std::optional<Recorded> done = try_recording({"/bin/sh", "-c", "cat /proc/self/status >/dev/null; exit 7"});
    if (!done) return;
    CHECK(done->exit_status == 7);
    CHECK(done->calls == 0);
    CHECK(done->lines.size() == 1);  // the step at the start
    const std::optional<Recorded> killed = try_recording({"/bin/sh", "-c", "kill -9 $$"});
    REQUIRE(killed.has_value());
    CHECK(killed->exit_status == 128 + 9);
}

TEST_CASE("a client without a driver finds none") {
    const std::optional<Recorded> client = try_recording({guest_path("rm_client")});
    if (!client || access("/dev/nvidiactl", F_OK) == 0) return;
    CHECK(client->exit_status == 1);
    CHECK(client->submissions == 0);
}

TEST_CASE("a program that is not there is said so") {
    CHECK_THROWS_AS(record_calls({.command = {"/nowhere/program"}, .output_path = {}}), sim::HostError);
}

}  // namespace harness::hw
