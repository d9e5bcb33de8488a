// A guest's trace in memory, from a machine that starts warm.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "guest_harness/run.h"
#include "guest_harness/trace/recorder.h"

namespace test_support {

// The bytes of the trace; a guest that does not exit with 0 ends the test.
inline std::string record_guest(const std::string& guest, std::vector<std::string> args = {}, const std::string& driver = "570.144") {
    harness::MachineOptions machine;
    machine.driver = driver;
    machine.boot = rm::BootMode::Warm;
    harness::trace::Writer writer(harness::trace::header_for(machine, "run", {guest}));
    struct Sink final : harness::CrossingSink {
        harness::trace::Writer* writer = nullptr;
        void on_call(const harness::CallRecord& call) override { writer->add(call); }
        void on_stores(const harness::StoreBatch& batch) override { writer->add(batch); }
        void on_mmio(const harness::MmioRecord& access) override { writer->add(access); }
        void on_poll(const harness::PollRecord& poll) override { writer->add(poll); }
    } sink;
    sink.writer = &writer;
    harness::RunOptions options{.guest_path = std::string(TU104SIM_BINARY_DIR) + "/guests/" + guest, .args = std::move(args),
                                .machine = machine, .sink = &sink};
    harness::RunOutcome outcome = harness::run_guest(options);
    REQUIRE(outcome.exit_code == 0);
    writer.close({});
    return writer.bytes();
}

}  // namespace test_support
