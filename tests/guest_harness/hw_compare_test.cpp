// One trace on two machines: equal where they are, and the first different byte named where they are not.
#include "guest_harness/hw/compare.h"

#include <doctest/doctest.h>

#include "tests/guest_harness/record_guest.h"

namespace harness::hw {
namespace {

using test_support::record_guest;

// A model in place of the hardware that stores one word of its own accord: every copy of it shows.
class Faulty final : public System {
public:
    Faulty(std::unique_ptr<System> below, u64 store_number) : below_(std::move(below)), left_(store_number) {}
    i64 open(const std::string& path) override { return below_->open(path); }
    i64 close(int fd) override { return below_->close(fd); }
    i64 ioctl(int fd, u64 request, void* argument) override { return below_->ioctl(fd, request, argument); }
    i64 mmap(int fd, u64 bytes, bool writable, u64 offset) override { return below_->mmap(fd, bytes, writable, offset); }
    i64 mmap_at(int fd, u64 address, u64 bytes, bool writable, u64 offset) override {
        return below_->mmap_at(fd, address, bytes, writable, offset);
    }
    void munmap(u64 address, u64 bytes) override { below_->munmap(address, bytes); }
    u16 poll(int fd, u16 events) override { return below_->poll(fd, events); }
    u64 load(u64 address, unsigned bytes) override { return below_->load(address, bytes); }
    void store(u64 address, unsigned bytes, u64 value) override {
        if (bytes == sizeof(u64) && left_ != 0 && --left_ == 0) value ^= u64{0x40} << 16;
        below_->store(address, bytes, value);
    }
    std::span<u8> window(u64 address, u64 bytes) override { return below_->window(address, bytes); }
    void* hole() override { return below_->hole(); }
    u64 now_ns() override { return below_->now_ns(); }
    void pause(u64 ns) override { below_->pause(ns); }
    u64 memory_block_bytes() override { return below_->memory_block_bytes(); }
    const std::string& gpu_node() const override { return below_->gpu_node(); }
    bool real() const override { return below_->real(); }

private:
    std::unique_ptr<System> below_;
    u64 left_;
};

std::unique_ptr<System> model(const std::string& driver, const std::string& chip = "t4") {
    MachineOptions options;
    options.driver = driver;
    options.chip = chip;
    options.boot = rm::BootMode::Warm;
    return model_system(options);
}

Comparison compare_bytes(const std::string& bytes, std::unique_ptr<System> system, CompareOptions options = {}) {
    return compare("test", [&] { return std::make_unique<trace::Reader>("test", bytes); }, std::move(system), options);
}

}  // namespace

TEST_CASE("the shipped client's trace is equal on a driver of its version and on a younger one, whose layouts differ") {
    const std::string bytes = record_guest("rm_client");
    for (const char* driver : {"570.144", "580.95.05"}) {
        const Comparison result = compare_bytes(bytes, model(driver));
        INFO(comparison_text(result));
        CHECK(result.equal());
        CHECK(result.exit_code() == 0);
        CHECK(result.real.points == 3);
        CHECK(result.bytes > 3 * 128 * 1024);
        CHECK(result.unread_ranges == 0);
    }
}

TEST_CASE("the work of a client that speaks a younger version is found and compared") {
    const Comparison result = compare_bytes(record_guest("rm_client", {}, "580.95.05"), model("580.95.05"));
    INFO(comparison_text(result));
    CHECK(result.equal());
    CHECK(result.real.points == 3);
    CHECK(result.bytes > 3 * 128 * 1024);
}

TEST_CASE("random pieces of work are equal at every release") {
    const Comparison result = compare_bytes(record_guest("copies_client", {"150", "11", "lprtbBis"}), model("580.95.05", "rtx2080"));
    INFO(comparison_text(result));
    CHECK(result.equal());
    CHECK(result.real.submissions_awaited == 151);
    CHECK(result.real.points == 152);
    CHECK(result.real.unsettled == 0);
}

TEST_CASE("work in a space of UVM's is equal, its pool polled") {
    const Comparison result = compare_bytes(record_guest("uvm_client"), model("580.95.05"));
    INFO(comparison_text(result));
    CHECK(result.equal());
    CHECK(result.real.points == 2);
    CHECK(result.bytes > 2 * 100 * 1024);
}

TEST_CASE("after kernels all memory that the GPU sees is compared") {
    const Comparison result = compare_bytes(record_guest("kernel_client"), model("570.144"));
    INFO(comparison_text(result));
    CHECK(result.equal());
    CHECK(result.real.unsettled == 0);
    CHECK(result.bytes > 2 * 512 * 1024);
}

TEST_CASE("a byte that differs is found, with the work that wrote it") {
    // The source of the second half's copies: 20 KiB of pattern, stored in pieces of 8 bytes after the ring's entry and USERD.
    const Comparison result = compare_bytes(record_guest("rm_client"), std::make_unique<Faulty>(model("570.144"), 500));
    INFO(comparison_text(result));
    CHECK_FALSE(result.equal());
    CHECK(result.exit_code() == 1);
    REQUIRE(result.difference.has_value());
    CHECK((result.difference->model ^ result.difference->hardware) == 0x40);
    CHECK(result.difference->writer == "copy engine launch");
    CHECK(result.difference->doorbell_event < result.difference->event);
    CHECK(result.ending.clean());
    CHECK(comparison_text(result).find("first difference") != std::string::npos);
    CHECK(comparison_json(result).find("\"first_difference\"") != std::string::npos);
    CHECK(comparison_html(result).find("<h1>Model and hardware: different</h1>") != std::string::npos);
}

TEST_CASE("a comparison that is aborted gives everything back and is not equal") {
    CompareOptions options;
    options.abort_after = 60;
    const Comparison result = compare_bytes(record_guest("rm_client"), model("570.144"), options);
    CHECK_FALSE(result.equal());
    CHECK(result.exit_code() == 1);
    CHECK(result.stopped.find("forced abort") != std::string::npos);
    CHECK(result.ending.clean());
}

}  // namespace harness::hw
