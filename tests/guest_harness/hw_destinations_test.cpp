// Which memory a trace's work writes, and when it is settled.
#include "guest_harness/hw/destinations.h"

#include <doctest/doctest.h>

#include "guest_harness/run.h"

namespace harness::hw {
namespace {

using Range = RangeSet::Range;

// Everything that a guest did, in memory.
struct Recording final : CrossingSink {
    std::vector<trace::Event> events;
    void on_call(const CallRecord& call) override { events.emplace_back(call); }
    void on_stores(const StoreBatch& batch) override { events.emplace_back(batch); }
    void on_mmio(const MmioRecord& access) override { events.emplace_back(access); }
    void on_poll(const PollRecord& poll) override { events.emplace_back(poll); }
};

u64 bytes_of(const std::vector<Range>& ranges) {
    u64 bytes = 0;
    for (const Range& range : ranges) bytes += range.end - range.begin;
    return bytes;
}

}  // namespace

TEST_CASE("a set of ranges joins what touches and splits what is cut") {
    RangeSet set;
    set.add({10, 20});
    set.add({30, 40});
    set.add({20, 25});
    CHECK(set.ranges() == std::vector<Range>{{10, 25}, {30, 40}});
    set.add({24, 31});
    CHECK(set.ranges() == std::vector<Range>{{10, 40}});
    set.remove({15, 20});
    set.remove({0, 11});
    CHECK(set.ranges() == std::vector<Range>{{11, 15}, {20, 40}});
    set.remove({12, 12});
    set.remove({0, 100});
    CHECK(set.empty());
}

TEST_CASE("the shipped client's copies are settled by its poll and by its event") {
    Recording recording;
    RunOptions options{.guest_path = std::string(TU104SIM_BINARY_DIR) + "/guests/rm_client", .sink = &recording};
    REQUIRE(run_guest(options).exit_code == 0);
    Destinations destinations;
    u64 polled_bytes = 0, woken_bytes = 0, number = 0;
    for (const trace::Event& event : recording.events) {
        destinations.add(event, number++);
        if (const auto* poll = std::get_if<PollRecord>(&event)) {
            CHECK(destinations.saw(poll->address, poll->new_value));
            CHECK_FALSE(destinations.saw(poll->address, poll->new_value + 1));
            polled_bytes += bytes_of(destinations.take_settled());
        }
        const auto* call = std::get_if<CallRecord>(&event);
        if (call != nullptr && call->kind == CallRecord::Kind::PollWait) {
            CHECK(destinations.unsettled() != 0);
            destinations.woken();
            woken_bytes += bytes_of(destinations.take_settled());
        }
    }
    // A fill and a copy of 128 KiB each with one word of semaphore; then 40 lines of 512, 40 of 300 and 128 KiB, and the word again.
    CHECK(polled_bytes == 2 * 128 * 1024 + 4);
    CHECK(woken_bytes == 40 * 512 + 40 * 300 + 128 * 1024 + 4);
    CHECK(destinations.unsettled() == 0);
    const std::vector<Range> all = destinations.settled();
    REQUIRE_FALSE(all.empty());
    REQUIRE(destinations.writer(all.front().begin) != nullptr);
    CHECK(destinations.writer(0) == nullptr);
}

}  // namespace harness::hw
