// Guest programs on the whole machine: what `tu104sim run` does.
#include "guest_harness/run.h"

#include <doctest/doctest.h>

#include "sim/check.h"

namespace harness {
namespace {

struct Ran {
    RunOutcome outcome;
    std::string output;
};

Ran run(const std::string& guest, std::vector<std::string> args = {}, MachineOptions machine = {}) {
    Ran ran;
    RunOptions options{.guest_path = std::string(TU104SIM_BINARY_DIR) + "/guests/" + guest, .args = args, .machine = machine};
    options.output = [&](int, std::string_view text) { ran.output += text; };
    options.watchdog_limit = SimTime::from_s(1);
    ran.outcome = run_guest(options);
    return ran;
}

}  // namespace

TEST_CASE("the shipped client runs on the simulated GPU, passes its own checks, and two runs are equal") {
    Ran first = run("rm_client");
    INFO(first.output);
    INFO(first.outcome.reason);
    REQUIRE(first.outcome.exit_code == 0);
    CHECK(first.output.find("FAIL") == std::string::npos);
    CHECK(first.output.find("all checks passed") != std::string::npos);
    Ran second = run("rm_client");
    CHECK(first.outcome.summary.digest == second.outcome.summary.digest);
    CHECK(first.outcome.summary.line() == second.outcome.summary.line());
    CHECK(first.output == second.output);
}

TEST_CASE("the shipped client runs at other seeds and on every chip profile") {
    for (u64 seed : {u64{1}, u64{2}, u64{3}}) CHECK(run("rm_client", {}, {.seed = seed}).outcome.exit_code == 0);
    for (const char* chip : {"rtx2080", "rtx5000"}) CHECK(run("rm_client", {}, {.chip = chip}).outcome.exit_code == 0);
}

TEST_CASE("threads that open nodes at once get numbers of their own") {
    Ran ran = run("two_openers");
    INFO(ran.output);
    INFO(ran.outcome.reason);
    CHECK(ran.outcome.exit_code == 0);
    CHECK(ran.output.find("all checks passed") != std::string::npos);
}

TEST_CASE("what nobody models is refused, named, and harmless") {
    Ran ran = run("unknown_calls");
    INFO(ran.output);
    INFO(ran.outcome.reason);
    CHECK(ran.outcome.end == RunEnd::Exited);
    CHECK(ran.outcome.guest_status == 0);
    CHECK(ran.outcome.exit_code == 0);
    auto named = [&](std::string_view part) {
        for (const auto& [key, entry] : ran.outcome.unmodelled)
            if (key.find(part) != std::string::npos) return true;
        return false;
    };
    CHECK(named("syscall 41 socket"));
    CHECK(named("/dev/nvidia7"));
    CHECK(named("ioctl 0x66"));
    CHECK(named("control 0x00801fff"));
    CHECK(named("0xdead"));
}

TEST_CASE("a crash ends the run with 1, and says where") {
    Ran ran = run("crash", {"l"});
    CHECK(ran.outcome.exit_code == 1);
    CHECK(ran.outcome.end == RunEnd::Signalled);
    CHECK(ran.outcome.reason.find("SIGSEGV") != std::string::npos);
    CHECK_FALSE(ran.outcome.last_calls.empty());
}

TEST_CASE("a guest that spins ends the run with 1") {
    Ran ran = run("spin", {"j"});
    CHECK(ran.outcome.exit_code == 1);
    CHECK(ran.outcome.end == RunEnd::Watchdog);
    CHECK_FALSE(ran.outcome.reason.empty());
}

TEST_CASE("a time limit ends the run") {
    RunOptions options{.guest_path = std::string(TU104SIM_BINARY_DIR) + "/guests/spin", .args = {"j"}};
    options.time_limit = SimTime::from_ms(2);
    RunOutcome outcome = run_guest(options);
    CHECK(outcome.end == RunEnd::TimeLimit);
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.summary.time == SimTime::from_ms(2));
}

TEST_CASE("the user's mistakes are HostErrors") {
    CHECK_THROWS_AS(run_guest({.guest_path = "/nowhere/guest"}), sim::HostError);
    CHECK_THROWS_AS(run("crash", {}, {.chip = "gk104"}), sim::HostError);
    CHECK_THROWS_AS(run("crash", {}, {.driver = "470.57"}), sim::HostError);
}

}  // namespace harness
