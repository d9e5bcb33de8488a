// Tests of guest_harness/trace/minimizer.{h,cpp}: what a predicate needs stays, all else goes.
#include "guest_harness/trace/minimizer.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace harness;
using namespace harness::trace;

namespace {

Event mmio(u64 address, u64 value) {
    MmioRecord record;
    record.address = address;
    record.store = true;
    record.value = value;
    return record;
}

Trace hundred() {
    Trace trace;
    trace.header.chip = "t4";
    for (u64 i = 0; i < 100; ++i) trace.events.push_back(mmio(4 * i, i));
    trace.complete = true;
    return trace;
}

bool holds(const Trace& trace, u64 value) {
    return std::any_of(trace.events.begin(), trace.events.end(), [value](const Event& event) {
        return kind_of(event) == EventKind::Mmio && std::get<MmioRecord>(event).value == value;
    });
}

}  // namespace

TEST_CASE("minimize: exactly the events that a failure needs stay, in order, with where they came from") {
    u64 tries = 0;
    MinimizeOptions options;
    options.fails = [&](const Trace& trace, const Origins& origins) {
        ++tries;
        REQUIRE(trace.events.size() == origins.size());
        REQUIRE(!trace.complete);
        for (std::size_t i = 0; i < origins.size(); ++i)
            REQUIRE(std::get<MmioRecord>(trace.events[i]).value == origins[i]);
        return holds(trace, 3) && holds(trace, 64) && holds(trace, 97);
    };
    const Minimized small = minimize(hundred(), options);
    CHECK(small.origins == Origins{3, 64, 97});
    CHECK(small.trace.events.size() == 3);
    CHECK(small.complete);
    CHECK(small.tries == tries);
    CHECK(tries < 200);
}

TEST_CASE("minimize: a failure of nothing leaves nothing; a limit on tries is kept") {
    MinimizeOptions options;
    options.fails = [](const Trace&, const Origins&) { return true; };
    CHECK(minimize(hundred(), options).trace.events.empty());
    options.tries_max = 5;
    options.fails = [](const Trace& trace, const Origins&) { return holds(trace, 3) && holds(trace, 97); };
    const Minimized small = minimize(hundred(), options);
    CHECK(small.tries == 5);
    CHECK(!small.complete);
    CHECK(holds(small.trace, 3));
    CHECK(holds(small.trace, 97));
}

TEST_CASE("minimize: stores that do not matter go, bytes that do not matter become zero") {
    Trace trace;
    StoreBatch batch;
    for (u64 i = 0; i < 16; ++i) batch.stores.push_back({0x1000 * i, std::vector<u8>(64, static_cast<u8>(i + 1))});
    trace.events.push_back(batch);
    MinimizeOptions options;
    options.fails = [](const Trace& candidate, const Origins&) {
        if (candidate.events.empty()) return false;
        const auto& stores = std::get<StoreBatch>(candidate.events[0]).stores;
        return std::any_of(stores.begin(), stores.end(),
                           [](const auto& store) { return store.address == 0x5000 && store.data[9] == 6; });
    };
    const Minimized small = minimize(trace, options);
    const StoreBatch& left = std::get<StoreBatch>(small.trace.events[0]);
    REQUIRE(left.stores.size() == 1);
    CHECK(left.stores[0].address == 0x5000);
    std::vector<u8> expected(64);
    std::fill_n(expected.begin() + 8, 4, u8{6});
    CHECK(left.stores[0].data == expected);
}

TEST_CASE("minimize: rules of the fault plan that do not matter go, visits are narrowed") {
    Trace trace = hundred();
    trace.events.resize(1);
    trace.header.faults = "pci.read_ones ratio=1/2\nintr.drop from=0 to=63\nintr.late argument=5us\n";
    MinimizeOptions options;
    options.fails = [](const Trace& candidate, const Origins&) {
        const std::string& plan = candidate.header.faults;
        const std::size_t at = plan.find("intr.drop");
        if (at == std::string::npos) return false;
        u64 first = 0, last = ~u64{0};
        if (std::size_t f = plan.find("from=", at); f != std::string::npos) first = std::stoull(plan.substr(f + 5));
        if (std::size_t t = plan.find("to=", at); t != std::string::npos) last = std::stoull(plan.substr(t + 3));
        return first <= 41 && last >= 41;
    };
    const Minimized small = minimize(trace, options);
    CHECK(small.trace.events.empty());
    CHECK(small.trace.header.faults.find("intr.drop") != std::string::npos);
    CHECK(small.trace.header.faults.find("from=41 to=41") != std::string::npos);
    CHECK(small.trace.header.faults.find("intr.late") == std::string::npos);
}
