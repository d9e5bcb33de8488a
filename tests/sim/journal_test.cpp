// Tests of sim/journal.{h,cpp}: the chain from its definition, sinks, recent records.
#include "sim/journal.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "sim/state_visitors.h"

namespace {

using sim::Digest128;
using sim::Journal;
using sim::u64;
using sim::u8;

constexpr std::array<std::string_view, 2> kFields = {"token", "address"};
constexpr sim::RecordType kDoorbell{3, "doorbell", kFields};
constexpr sim::RecordType kRelease{4, "release", {}};

class Sink final : public sim::JournalSink {
public:
    void on_record(const sim::JournalRecord& record, std::span<const u8> payload) override {
        lines.push_back(Journal::format(record));
        payload_bytes += payload.size();
    }
    void on_note(sim::SimTime, std::string_view text) override { lines.emplace_back(text); }
    std::vector<std::string> lines;
    std::size_t payload_bytes = 0;
};

TEST_CASE("the chain is the hash of the chain before and the record's words") {
    Journal journal;
    std::vector<u8> payload = {1, 2, 3};
    journal.append(kDoorbell, {77}, {5, 0x2000}, payload);
    Digest128 digest = sim::digest_bytes(payload);
    u64 first[] = {0, 0, 0, 77, 3, 2, 5, 0x2000, digest.low, digest.high};
    Digest128 chain = sim::digest_bytes({reinterpret_cast<const u8*>(first), sizeof first});
    CHECK(journal.chain() == chain);
    journal.append(kRelease, {78}, {});
    u64 second[] = {chain.low, chain.high, 1, 78, 4, 0, 0, 0};
    CHECK(journal.chain() == sim::digest_bytes({reinterpret_cast<const u8*>(second), sizeof second}));
    CHECK(journal.count() == 2);
}

TEST_CASE("every part of a record reaches the chain; sinks and notes do not") {
    auto chain_of = [](u64 time, u64 word, u8 byte, bool noisy) {
        Journal journal;
        Sink sink;
        if (noisy) journal.add_sink(sink);
        if (noisy) journal.note({1}, "for people");
        std::vector<u8> payload = {byte};
        journal.append(kDoorbell, {time}, {word, 0}, payload);
        return journal.chain();
    };
    Digest128 chain = chain_of(1, 2, 3, false);
    CHECK(chain == chain_of(1, 2, 3, true));
    CHECK(chain != chain_of(9, 2, 3, false));
    CHECK(chain != chain_of(1, 9, 3, false));
    CHECK(chain != chain_of(1, 2, 9, false));
}

TEST_CASE("sinks see records and notes in order, until removed") {
    Journal journal;
    Sink sink;
    journal.add_sink(sink);
    std::vector<u8> payload(10, 1);
    journal.append(kDoorbell, sim::SimTime::from_ns(41'003), {5, 0x200000}, payload);
    journal.note({}, "hello");
    journal.remove_sink(sink);
    journal.append(kRelease, {}, {});
    CHECK(sink.lines == std::vector<std::string>{"#0 41.003 us doorbell token=5 address=0x200000 payload=" +
                                                     sim::digest_bytes(payload).hex(),
                                                 "hello"});
    CHECK(sink.payload_bytes == 10);
}

TEST_CASE("the last records are kept, oldest first") {
    Journal journal;
    for (u64 i = 0; i < 100; ++i) journal.append(kDoorbell, {i}, {i, i});
    CHECK(journal.recent().size() == Journal::kRecentRecords);
    CHECK(journal.recent().front().index == 68);
    CHECK(journal.recent().back().index == 99);
    CHECK(journal.recent().back().words == std::vector<u64>{99, 99});
    CHECK(journal.recent().back().chain == journal.chain());
}

TEST_CASE("a loaded journal goes on with the chain") {
    Journal a;
    a.append(kDoorbell, {1}, {2, 3});
    sim::SaveVisitor save;
    a.visit(save);
    Journal b;
    b.append(kRelease, {9}, {});
    sim::LoadVisitor load(save.saved());
    b.visit(load);
    load.finish();
    CHECK(load.error() == "");
    a.append(kRelease, {5}, {});
    b.append(kRelease, {5}, {});
    CHECK(a.chain() == b.chain());
    CHECK(b.recent().size() == 1);
}

}  // namespace
