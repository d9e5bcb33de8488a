// The recording of a real compute client on a real Hopper GPU, retargeted and replayed: every RM call with the recorded status, every
// other reply with the rule that forces it. The trace was made by `tu104sim import --without-work` from the smallest complete client.
#include <doctest/doctest.h>

#include <fstream>

#include "guest_harness/trace/import_player.h"
#include "guest_harness/trace/retarget.h"
#include "rm/abi/classes.h"
#include "tests/support/trace_samples.h"

using namespace harness;
using namespace harness::trace;

namespace {

const std::string kTrace = TU104SIM_SOURCE_DIR "/tests/guest_harness/data/compute_client_580.trace";

ImportOutcome replay(const std::string& chip = "") {
    OpenTrace open = [&chip] {
        std::unique_ptr<Reader> reader = std::make_unique<Reader>(kTrace);
        if (chip.empty()) return reader;
        // The same calls on another board.
        Header header = reader->header();
        header.chip = chip;
        Writer writer(header);
        Event event;
        while (reader->next(event)) writer.add(event);
        writer.close({});
        return std::make_unique<Reader>("retargeted", writer.bytes());
    };
    return play_import(open, {});
}

std::string joined(const std::vector<std::string>& lines) {
    std::string out;
    for (const std::string& line : lines) out += line + "\n";
    return out;
}

}  // namespace

TEST_CASE("import player: every recorded RM call gets the recorded status, every difference has its rule") {
    ImportOutcome outcome = replay();
    INFO(joined(outcome.status_differences));
    INFO(outcome.rm.text());
    CHECK(outcome.rm.calls() == 362);
    CHECK(outcome.rm.same_status() == outcome.rm.calls());
    CHECK(outcome.rm.unexplained() == 0);
    INFO(joined(outcome.uvm_differences));
    CHECK(outcome.uvm.calls() == 129);
    CHECK(outcome.uvm.same_status() == outcome.uvm.calls());
    CHECK(outcome.uvm_set_apart == 0);
    CHECK(!outcome.any_invented);
    CHECK(outcome.stuck.empty());
    CHECK(outcome.as_expected());
    for (const auto& entry : outcome.unmodelled) {
        const std::string& key = entry.first;
        CAPTURE(key);
        CHECK(!key.starts_with("class"));
        CHECK(!key.starts_with("ioctl"));
    }
    // What the client consumes of the chip is TU104's, not the recorded chip's.
    CHECK(outcome.rm.rows().at("NV2080_CTRL_CMD_MC_GET_ARCH_INFO").fields.count("architecture") == 1);
    CHECK(outcome.rm.rows().at("NV01_DEVICE_0").same_reply == 1);
    CHECK(outcome.rm.rows().at("NV_ESC_RM_FREE").same_reply == outcome.rm.rows().at("NV_ESC_RM_FREE").calls);
    CHECK(outcome.rm.rows().count("HOPPER_CHANNEL_GPFIFO_A") == 0);
    CHECK(outcome.rm.rows().at("TURING_CHANNEL_GPFIFO_A").calls == 4);
}

TEST_CASE("import player: the same client on every board, and twice the same") {
    ImportOutcome first = replay();
    ImportOutcome again = replay();
    CHECK(first.summary.digest == again.summary.digest);
    CHECK(first.summary.time == again.summary.time);
    for (const char* chip : {"rtx2080", "rtx5000"}) {
        ImportOutcome outcome = replay(chip);
        CAPTURE(chip);
        INFO(joined(outcome.status_differences));
        CHECK(outcome.rm.same_status() == outcome.rm.calls());
        CHECK(outcome.rm.unexplained() == 0);
    }
}

TEST_CASE("import player: a reply that no rule explains is an unexplained difference") {
    ReplyReport report;
    report.count("NV01_DEVICE_0", true);
    report.differs("NV01_DEVICE_0", "deviceId");
    report.count("NV2080_CTRL_CMD_GR_GET_GPC_MASK", true);
    report.differs("NV2080_CTRL_CMD_GR_GET_GPC_MASK", "gpcMask");
    CHECK(report.unexplained() == 1);
    CHECK(report.text().find("deviceId: UNEXPLAINED") != std::string::npos);
    CHECK(report.text().find("gpcMask: chip: GPCs") != std::string::npos);
    CHECK(report.calls() == 2);
}

TEST_CASE("retarget: classes by table, parameters cut to what the class takes") {
    CHECK(retargeted_class(rm::abi::HOPPER_CHANNEL_GPFIFO_A) == rm::abi::TURING_CHANNEL_GPFIFO_A);
    CHECK(retargeted_class(rm::abi::HOPPER_DMA_COPY_A) == rm::abi::TURING_DMA_COPY_A);
    CHECK(retargeted_class(rm::abi::HOPPER_COMPUTE_A) == rm::abi::TURING_COMPUTE_A);
    CHECK(retargeted_class(rm::abi::NV01_DEVICE_0) == rm::abi::NV01_DEVICE_0);
    CHECK(class_param_bytes("580.159.04", rm::abi::TURING_USERMODE_A) == 0U);
    CHECK(class_param_bytes("580.159.04", rm::abi::TURING_CHANNEL_GPFIFO_A) == 368U);
    CHECK(!class_param_bytes("no version", rm::abi::NV01_DEVICE_0));
}

TEST_CASE("retarget: the descriptors that a recorder leaves out") {
    RecordedDescriptors descriptors;
    CHECK(!descriptors.open("/dev/nvidiactl", 10));
    CHECK(!descriptors.open("/dev/nvidia0", 13));
    std::vector<u8> control_fd = {10, 0, 0, 0};
    CHECK(descriptors.ioctl("/dev/nvidia0", 0xc00446c9, control_fd) == 13);  // REGISTER_FD
    CHECK(!descriptors.open("/dev/nvidia0", 17));                            // for a mapping: never registered
    CHECK(descriptors.ioctl("/dev/nvidia0", 0xc0384627, {}) == 13);          // ALLOC_MEMORY: of a registered one
    CHECK(descriptors.ioctl("/dev/nvidiactl", 0xc020462a, {}) == 10);
    std::optional<CallRecord> close = descriptors.open("/dev/nvidiactl", 17);  // the number came back
    REQUIRE(close);
    CHECK(close->kind == CallRecord::Kind::Close);
    CHECK(close->fd == 17);
    CHECK(descriptors.ioctl("/dev/nvidiactl", 0xc020462a, {}) == 10);
    CHECK(descriptors.ioctl("/dev/nowhere", 0xc020462a, {}) == -1);
}
