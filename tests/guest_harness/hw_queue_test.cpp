// A trace's work on queues: copies, fills, inline data, semaphores and kernels do on a memory without a GPU what the model does with the
// pushbuffers themselves.
#include "guest_harness/hw/queue_side.h"

#include <doctest/doctest.h>

#include "sim/check.h"
#include "tests/guest_harness/memory_queues.h"
#include "tests/guest_harness/record_guest.h"

namespace harness::hw {
namespace {

using test_support::record_guest;

constexpr const char* kCompanions = TU104SIM_SOURCE_DIR "/examples/companions";

class MemorySource final : public QueueSource {
public:
    explicit MemorySource(u64 wrong_copy = 0) : wrong_copy_(wrong_copy) {}
    Hardware hardware() override {
        Hardware out;
        out.name = "plain memory";
        return out;
    }
    u64 granule() const override { return u64{64} << 10; }
    GpuQueues& open(const std::vector<GpuRange>& ranges) override {
        queues_ = std::make_unique<MemoryQueues>(ranges, wrong_copy_);
        return *queues_;
    }
    Ending end() override {
        Ending out;
        out.empty = true;
        return out;
    }

private:
    u64 wrong_copy_;
    std::unique_ptr<MemoryQueues> queues_;
};

Comparison compare_on_memory(const std::string& bytes, const Companions& companions = {}, u64 wrong_copy = 0) {
    MemorySource source(wrong_copy);
    return compare("test", [&] { return std::make_unique<trace::Reader>("test", bytes); }, *queue_side(source, companions), {});
}

}  // namespace

TEST_CASE("the shipped client's copies, fills, inline data and semaphores are equal on queues") {
    const Comparison result = compare_on_memory(record_guest("rm_client"));
    INFO(comparison_text(result));
    CHECK(result.equal());
    CHECK(result.exit_code() == 0);
    CHECK(result.real.points == 3);
    CHECK(result.bytes > 3 * 128 * 1024);
    CHECK(comparison_text(result).find("on streams of plain memory") != std::string::npos);
    CHECK(comparison_json(result).find("\"work_became\"") != std::string::npos);
}

TEST_CASE("random pieces of work become copies and fills of queues and are equal at every release") {
    for (const char* seed : {"3", "4"}) {
        const Comparison result = compare_on_memory(record_guest("copies_client", {"200", seed, "lprbBis"}));
        INFO(comparison_text(result));
        CHECK(result.equal());
        CHECK(result.real.submissions_awaited == 201);
        CHECK(result.real.points == 202);
        CHECK(result.unread_ranges == 0);
    }
}

TEST_CASE("a byte that a queue copies wrong is found, with the work that wrote it") {
    const Comparison result = compare_on_memory(record_guest("copies_client", {"20", "5", "l"}), {}, 8);
    INFO(comparison_text(result));
    CHECK(result.exit_code() == 1);
    REQUIRE(result.difference.has_value());
    CHECK((result.difference->model ^ result.difference->hardware) == 0x40);
    CHECK(result.difference->writer == "copy engine launch");
}

TEST_CASE("kernels run as their companions, and all memory that the GPU sees is compared after them") {
    const std::string bytes = record_guest("kernel_client");
    const Companions companions(kCompanions);
    CHECK(companions.count() == 2);
    const Comparison result = compare_on_memory(bytes, companions);
    INFO(comparison_text(result));
    CHECK(result.equal());
    CHECK(result.work_text.find("2 kernels") != std::string::npos);
    CHECK(result.bytes > 2 * 512 * 1024);
    const Comparison wrong = compare_on_memory(bytes, companions, 1);
    CHECK(wrong.exit_code() == 1);
    REQUIRE(wrong.difference.has_value());
    CHECK(wrong.difference->writer == "kernel launch");
}

TEST_CASE("a kernel without a companion is named, and the replay stops there") {
    const Comparison result = compare_on_memory(record_guest("kernel_client"));
    CHECK(result.exit_code() == 3);
    CHECK(result.refused);
    CHECK(result.stopped.find("no companion image has its code") != std::string::npos);
    CHECK(result.stopped.find("grid 157x1x1") != std::string::npos);
}

TEST_CASE("what no queue does is refused by name") {
    const Comparison result = compare_on_memory(record_guest("uvm_client"));
    CHECK(result.exit_code() == 3);
    CHECK(result.stopped.find("UVM is not forwarded") != std::string::npos);
    const Comparison three = compare_on_memory(record_guest("copies_client", {"20", "5", "t"}));
    CHECK(three.exit_code() == 3);
    CHECK(three.stopped.find("3-byte components") != std::string::npos);
}

TEST_CASE("a folder without companions says what is missing") {
    CHECK_THROWS_AS(Companions("/nowhere/at/all"), HostError);
    CHECK_THROWS_AS(Companions(TU104SIM_SOURCE_DIR "/docs"), HostError);
    const Companions companions(kCompanions);
    const std::vector<u8> other(192);
    CHECK(companions.find(other) == nullptr);
}

}  // namespace harness::hw
