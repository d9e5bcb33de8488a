// The shipped guests as clients of every driver version: each asks the version, chooses its structs by it, and checks its own work.
#include <doctest/doctest.h>

#include "guest_harness/run.h"
#include "rm/versions.h"

namespace {

struct Ran {
    harness::RunOutcome outcome;
    std::string output;
};

Ran run_as(const std::string& guest, std::string_view driver) {
    Ran ran;
    harness::RunOptions options{.guest_path = std::string(TU104SIM_BINARY_DIR) + "/guests/" + guest,
                                .machine = {.driver = std::string(driver)}};
    options.output = [&](int, std::string_view text) { ran.output += text; };
    ran.outcome = harness::run_guest(options);
    return ran;
}

}  // namespace

TEST_CASE("the clients that check their own work pass on every driver version, and ask for nothing that is not there") {
    REQUIRE(rm::version_names().size() == 6);
    for (std::string_view driver : rm::version_names()) {
        for (const char* guest : {"rm_client", "kernel_client", "uvm_client"}) {
            CAPTURE(driver);
            CAPTURE(guest);
            Ran ran = run_as(guest, driver);
            INFO(ran.output);
            CHECK(ran.outcome.end == harness::RunEnd::Exited);
            CHECK(ran.outcome.exit_code == 0);
            CHECK(ran.output.find("all checks passed") != std::string::npos);
            for (const auto& [key, entry] : ran.outcome.unmodelled) FAIL_CHECK(key << ": " << entry.detail);
        }
    }
}

TEST_CASE("the guest that tells its driver says the version that runs") {
    for (std::string_view driver : rm::version_names()) {
        Ran ran = run_as("rm_client", driver);
        CHECK(ran.output.find("driver " + std::string(driver) + "\n") != std::string::npos);
    }
}

TEST_CASE("calls that no driver knows are refused by name on every version, and harm nobody") {
    for (std::string_view driver : rm::version_names()) {
        CAPTURE(driver);
        Ran ran = run_as("unknown_calls", driver);
        INFO(ran.output);
        CHECK(ran.outcome.guest_status == 0);
        CHECK(ran.output.find("FAIL") == std::string::npos);
        CHECK(ran.outcome.unmodelled.count("class 0xdead ?") == 1);
        CHECK(ran.outcome.unmodelled.count("control 0x00801fff ?") == 1);
    }
}
