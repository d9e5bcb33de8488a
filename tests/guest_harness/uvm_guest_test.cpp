// The guest that uses unified memory, on the whole machine: it checks its own data, and its trace replays.
#include <doctest/doctest.h>

#include "guest_harness/run.h"
#include "rm/versions.h"

namespace harness {
namespace {

struct Ran {
    RunOutcome outcome;
    std::string output;
};

Ran run_uvm_client(MachineOptions machine = {}) {
    Ran ran;
    RunOptions options{.guest_path = std::string(TU104SIM_BINARY_DIR) + "/guests/uvm_client", .machine = machine};
    options.output = [&](int, std::string_view text) { ran.output += text; };
    options.watchdog_limit = SimTime::from_s(1);
    ran.outcome = run_guest(options);
    return ran;
}

}  // namespace

TEST_CASE("a guest copies through UVM's mappings, and two runs are equal") {
    Ran first = run_uvm_client();
    INFO(first.output);
    INFO(first.outcome.reason);
    REQUIRE(first.outcome.exit_code == 0);
    CHECK(first.output.find("FAIL") == std::string::npos);
    CHECK(first.output.find("all checks passed") != std::string::npos);
    CHECK(first.outcome.unmodelled.empty());
    Ran second = run_uvm_client();
    CHECK(first.outcome.summary.line() == second.outcome.summary.line());
    CHECK(first.output == second.output);
}

TEST_CASE("the UVM guest runs on every chip profile and as every driver") {
    for (const char* chip : {"rtx2080", "rtx5000"}) CHECK(run_uvm_client({.chip = chip}).outcome.exit_code == 0);
    for (std::string_view driver : rm::version_names()) {
        CAPTURE(driver);
        Ran ran = run_uvm_client({.driver = std::string(driver)});
        INFO(ran.output);
        CHECK(ran.outcome.exit_code == 0);
    }
}

}  // namespace harness
