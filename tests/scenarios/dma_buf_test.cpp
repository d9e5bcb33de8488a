// A client that exports DMA buffers, end to end: as a guest of every driver version, replayed from its trace, and through the forwarder
// to a driver that chooses other descriptor numbers.
#include <doctest/doctest.h>

#include "guest_harness/hw/run_hw.h"
#include "guest_harness/trace/describe.h"
#include "guest_harness/trace/player.h"
#include "guest_harness/trace/recorder.h"
#include "rm/versions.h"

namespace {

using namespace sim;

harness::RunOptions options_for(std::string& output) {
    harness::RunOptions options{.guest_path = std::string(TU104SIM_BINARY_DIR) + "/guests/dma_buf_client"};
    options.output = [&output](int, std::string_view text) { output += text; };
    return options;
}

struct WriterSink final : harness::CrossingSink {
    explicit WriterSink(harness::trace::Writer& to) : writer(to) {}
    void on_call(const harness::CallRecord& call) override {
        writer.add(call);
        calls += harness::trace::describe(call) + "\n";
    }
    void on_stores(const harness::StoreBatch& batch) override { writer.add(batch); }
    void on_mmio(const harness::MmioRecord& access) override { writer.add(access); }
    void on_poll(const harness::PollRecord& poll) override { writer.add(poll); }
    harness::trace::Writer& writer;
    std::string calls;
};

}  // namespace

TEST_CASE("the memory of a DMA buffer outlives its client, on every driver version, and the trace replays") {
    for (std::string_view driver : rm::version_names()) {
        CAPTURE(driver);
        std::string output;
        harness::RunOptions options = options_for(output);
        options.machine.driver = driver;
        options.machine.boot = rm::BootMode::Warm;
        harness::trace::Writer writer(harness::trace::header_for(options.machine, "run", {"dma_buf_client"}));
        WriterSink sink(writer);
        options.sink = &sink;
        const harness::RunOutcome outcome = harness::run_guest(options);
        INFO(output);
        REQUIRE(outcome.exit_code == 0);
        CHECK(output.find("all checks passed") != std::string::npos);
        CHECK(outcome.unmodelled.empty());
        CHECK(sink.calls.find("NV_ESC_EXPORT_TO_DMABUF_FD = 0 NV_ERR_IN_USE") != std::string::npos);
        writer.close({});
        for (u64 seed : {u64{0}, u64{5}}) {
            harness::trace::PlayOptions play;
            play.seed = seed;
            const std::string bytes = writer.bytes();
            const harness::trace::PlayOutcome played =
                harness::trace::play([&] { return std::make_unique<harness::trace::Reader>("dma_buf", bytes); }, play);
            INFO((played.divergence ? played.divergence->text() : std::string()));
            CHECK_FALSE(played.divergence.has_value());
        }
    }
}

TEST_CASE("a DMA buffer of the driver that is there has the guest's own number, and nothing of it is left behind") {
    for (const char* driver : {"535.183.01", "570.144", "580.95.05"}) {
        CAPTURE(driver);
        std::string output;
        harness::MachineOptions there;
        there.driver = driver;
        there.boot = rm::BootMode::Warm;
        const harness::hw::HwRunOutcome ran = harness::hw::run_guest_on(harness::hw::model_system(there), options_for(output), 0);
        INFO(output);
        INFO(ran.run.reason);
        CHECK(ran.run.exit_code == 0);
        CHECK(output.find("all checks passed") != std::string::npos);
        CHECK(ran.ending.clean());
    }
    // Stopped anywhere.
    for (u64 crossing = 8; crossing <= 44; crossing += 4) {
        CAPTURE(crossing);
        std::string output;
        harness::MachineOptions there;
        there.boot = rm::BootMode::Warm;
        const harness::hw::HwRunOutcome ran = harness::hw::run_guest_on(harness::hw::model_system(there), options_for(output), crossing);
        CHECK(ran.ending.empty);
        CHECK(ran.ending.problems.empty());
        CHECK(ran.ending.free_after_bytes == ran.ending.free_before_bytes);
    }
}
