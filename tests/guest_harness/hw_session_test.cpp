// The whole hardware path with a model machine where the driver of the host would be: what is forwarded arrives, what is refused is named,
// and everything is given back on every way out.
#include <doctest/doctest.h>

#include "guest_harness/hw/run_hw.h"
#include "rm/versions.h"
#include "sim/check.h"

namespace harness::hw {
namespace {

struct Ran {
    HwRunOutcome outcome;
    std::string output;
    bool named(std::string_view part) const {
        for (const auto& [key, entry] : outcome.run.unmodelled)
            if ((key + " " + entry.detail).find(part) != std::string::npos) return true;
        return false;
    }
};

Ran run(const std::string& guest, u64 abort_after = 0, const std::string& driver = "570.144", std::vector<std::string> args = {}) {
    Ran ran;
    RunOptions options{.guest_path = std::string(TU104SIM_BINARY_DIR) + "/guests/" + guest, .args = std::move(args)};
    options.output = [&](int, std::string_view text) { ran.output += text; };
    MachineOptions model;
    model.driver = driver;
    model.boot = rm::BootMode::Warm;
    ran.outcome = run_guest_on(model_system(model), options, abort_after);
    return ran;
}

}  // namespace

TEST_CASE("the handshake says what the driver and the chip answer") {
    MachineOptions model;
    model.chip = "rtx2080";
    model.driver = "580.95.05";
    std::unique_ptr<System> system = model_system(model);
    const Hardware hardware = shake_hands(*system);
    CHECK(hardware.driver == "580.95.05");
    REQUIRE(hardware.version != nullptr);
    CHECK(rm::version_name(*hardware.version) == "580.95.05");
    CHECK(hardware.memory_bytes == u64{8} << 30);
    CHECK(hardware.memory_free_bytes > 0);
    CHECK(hardware.memory_free_bytes <= hardware.memory_bytes);
    CHECK_FALSE(hardware.classes.empty());
    CHECK(hardware_text(hardware).find("C5B5 TURING_DMA_COPY_A") != std::string::npos);
    CHECK(hardware_json(hardware).find("\"backend\": \"model\"") != std::string::npos);
}

TEST_CASE("the shipped client passes its own checks through the forwarder, at each driver version that it knows") {
    for (const char* driver : {"570.144", "580.95.05"}) {
        INFO(driver);
        const Ran ran = run("rm_client", 0, driver);
        INFO(ran.output);
        INFO(ran.outcome.run.reason);
        CHECK(ran.outcome.run.exit_code == 0);
        CHECK(ran.output.find("all checks passed") != std::string::npos);
        CHECK(ran.outcome.ending.clean());
        CHECK(ran.outcome.ending.made >= 18);
    }
}

TEST_CASE("a client that is stopped at any crossing leaves nothing behind") {
    u64 held = 0;
    for (u64 crossing = 1; crossing <= 90; crossing += 3) {
        INFO(crossing);
        const Ran ran = run("rm_client", crossing);
        CHECK(ran.outcome.run.exit_code == 1);
        CHECK(ran.outcome.run.reason.find("forced abort at crossing " + std::to_string(crossing)) != std::string::npos);
        CHECK(ran.outcome.ending.empty);
        CHECK(ran.outcome.ending.problems.empty());
        CHECK(ran.outcome.ending.free_after_bytes == ran.outcome.ending.free_before_bytes);
        if (ran.outcome.ending.held.find("0 descriptors") == std::string::npos) ++held;
    }
    CHECK(held > 15);  // else there was nothing to give back
}

TEST_CASE("what must not reach a real driver is refused by name, with exit code 3") {
    const Ran unknown = run("unknown_calls");
    CHECK(unknown.outcome.run.exit_code == 3);
    CHECK(unknown.outcome.ending.clean());
}

TEST_CASE("a client whose address space belongs to UVM runs through the forwarder") {
    const Ran ran = run("uvm_client");
    INFO(ran.output);
    INFO(ran.outcome.run.reason);
    CHECK(ran.outcome.run.exit_code == 0);
    CHECK(ran.outcome.ending.clean());
}

TEST_CASE("a client of UVM that is stopped at any crossing leaves nothing behind") {
    for (u64 crossing = 1; crossing <= 70; crossing += 3) {
        INFO(crossing);
        const Ran ran = run("uvm_client", crossing);
        CHECK(ran.outcome.run.exit_code == 1);
        CHECK(ran.outcome.ending.empty);
        CHECK(ran.outcome.ending.problems.empty());
        CHECK(ran.outcome.ending.free_after_bytes == ran.outcome.ending.free_before_bytes);
    }
}

TEST_CASE("a kernel of the same chip is launched through the forwarder") {
    const Ran ran = run("kernel_client");
    INFO(ran.output);
    INFO(ran.outcome.run.reason);
    CHECK(ran.outcome.run.exit_code == 0);
    CHECK(ran.outcome.ending.clean());
}

TEST_CASE("a backend that is none is refused") {
    CHECK_THROWS_AS(open_backend("gpu", {}), sim::HostError);
    if (find_gpu_node().empty()) CHECK_THROWS_AS(open_backend("rm", {}), sim::HostError);
}

}  // namespace harness::hw
