// Two traces: the first divergence, what may differ, and the counts.
#include <doctest/doctest.h>

#include "guest_harness/trace/trace_diff.h"
#include "tests/support/trace_samples.h"

using namespace harness;
using namespace harness::trace;

namespace {

TraceDiff diff_of(const Trace& a, const Trace& b, DiffOptions options = {}) {
    Reader left("left", encode(a));
    Reader right("right", encode(b));
    return diff(left, right, options);
}

}  // namespace

TEST_CASE("trace diff: equal traces are the same, other headers are told") {
    Trace a = test_support::sample_trace();
    Trace b = a;
    b.header.seed = 8;
    TraceDiff result = diff_of(a, b);
    CHECK(result.same());
    REQUIRE(result.headers);
    CHECK(*result.headers == "seed 7 and 8");
    b = a;
    b.header.cold_boot = true;
    b.header.faults.clear();
    b.header.time_limit = SimTime::max();
    CHECK(*diff_of(a, b).headers == "boot warm and cold, fault plan intr.late argument=50 and none, time limit 0.022 us and none");
    CHECK(result.counts.at("driver mmio").left == 5);
    CHECK(result.counts.at("work submit").right == 1);
}

TEST_CASE("trace diff: the first divergence comes with what stood before it") {
    Trace a = test_support::sample_trace();
    Trace b = a;
    std::get<MmioRecord>(b.events[5]).value = 1;
    std::get<MmioRecord>(b.events[6]).value = 1;
    DiffOptions options;
    options.context = 2;
    TraceDiff result = diff_of(a, b, options);
    REQUIRE(result.first);
    CHECK(result.first->event == 5);
    CHECK(result.first->before.size() == 2);
    CHECK(result.first->what.find("value") == 0);
    CHECK(result.counts.at("driver mmio").right == 5);  // counting goes on
}

TEST_CASE("trace diff: a shorter trace, other times, other endings") {
    Trace a = test_support::sample_trace();
    Trace b = a;
    b.events.pop_back();
    TraceDiff shorter = diff_of(a, b);
    REQUIRE(shorter.first);
    CHECK(shorter.first->right.empty());
    CHECK(shorter.first->what == "the right trace ends here");

    b = a;
    std::get<CallRecord>(b.events[0]).begin = {900};
    CHECK(diff_of(a, b).same());
    DiffOptions times;
    times.times = true;
    CHECK(!diff_of(a, b, times).same());

    b = a;
    b.closing.memory.low ^= 1;
    CHECK(diff_of(a, b).closing->find("final memory digest") == 0);
    b = a;
    b.complete = false;
    CHECK(*diff_of(a, b).closing == "the right trace is incomplete");
}

TEST_CASE("trace diff: every compared field is compared") {
    const Trace a = test_support::sample_trace();
    auto differs = [&a](auto change) {
        Trace b = a;
        change(b);
        return diff_of(a, b).first.has_value();
    };
    CHECK(differs([](Trace& t) { std::get<CallRecord>(t.events[0]).path = "/dev/nvidia0"; }));
    CHECK(differs([](Trace& t) { std::get<CallRecord>(t.events[1]).accesses[1].data[4000] ^= 1; }));
    CHECK(differs([](Trace& t) { std::get<CallRecord>(t.events[1]).accesses[3].address += 1; }));
    CHECK(differs([](Trace& t) { std::get<CallRecord>(t.events[1]).accesses.pop_back(); }));
    CHECK(differs([](Trace& t) { std::get<CallRecord>(t.events[2]).mapping.extents[1].bytes += 1; }));
    CHECK(differs([](Trace& t) { std::get<StoreBatch>(t.events[3]).stores[1].data[9] ^= 1; }));
    CHECK(differs([](Trace& t) { std::get<StoreBatch>(t.events[3]).stores.pop_back(); }));
    CHECK(differs([](Trace& t) { std::get<PollRecord>(t.events[9]).new_value = 2; }));
    CHECK(!differs([](Trace& t) { std::get<PollRecord>(t.events[9]).count = 2; }));  // how often is a matter of time
    CHECK(differs([](Trace& t) { std::get<Checkpoint>(t.events[10]).memory.high = 2; }));
    CHECK(differs([](Trace& t) { std::get<CallRecord>(t.events[13]).unfinished = false; }));
    CHECK(differs([](Trace& t) { std::get<Step>(t.events[14]).after = "x"; }));
    CHECK(differs([](Trace& t) { std::get<Submit>(t.events[15]).words[2] ^= 1; }));
}
