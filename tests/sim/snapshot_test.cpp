// Tests of sim/snapshot.{h,cpp}: a change alters the snapshot, a load undoes it, damage is refused.
#include "sim/snapshot.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/kernel.h"
#include "sim/sparse_memory.h"

namespace {

using sim::Snapshot;
using sim::StateList;
using sim::u32;
using sim::u64;
using sim::u8;

constexpr u32 kOpTick = 1;
constexpr sim::RecordType kTick{1, "tick", {}};

// A device that ticks at random intervals, counts and writes memory.
class Ticker final : public sim::EventTarget {
public:
    Ticker(sim::Kernel& kernel, sim::SparseMemory& memory)
        : kernel_(kernel), memory_(memory), random_(kernel.stream("ticker", "interval")),
          id_(kernel.events().add_target("ticker", *this)) {}
    void start() { next_ = kernel_.events().schedule(kernel_.now(), sim::Phase::Device, id_, kOpTick); }
    void on_event(u32, u64) override {
        memory_.write_u64(random_.below(memory_.size() / 8) * 8, ++ticks_);
        kernel_.journal().append(kTick, kernel_.now(), {});
        if (kernel_.faults().fires("ticker.skip")) ++skipped_;
        next_ = kernel_.events().schedule({kernel_.now().ps + 1 + random_.below(50)}, sim::Phase::Device, id_, kOpTick);
    }
    void visit(sim::StateVisitor& v) {
        v.field("random", random_);
        v.field("next", next_);
        v.field("ticks", ticks_);
        v.field("skipped", skipped_);
    }

private:
    sim::Kernel& kernel_;
    sim::SparseMemory& memory_;
    sim::RandomStream random_;
    sim::TargetId id_;
    sim::EventHandle next_;
    u64 ticks_ = 0;
    u64 skipped_ = 0;
};

struct Machine {
    sim::Kernel kernel{{.seed = 3}};
    sim::SparseMemory memory{"memory", 1 << 20};
    Ticker ticker{kernel, memory};
    StateList parts;

    Machine() {
        kernel.faults().arm("ticker.skip", {.numerator = 1, .denominator = 3});
        parts.add("kernel", kernel);
        parts.add("memory", memory);
        parts.add("ticker", ticker);
    }
};

TEST_CASE("a machine loaded mid-run ends as the original does") {
    Machine original;
    original.ticker.start();
    original.kernel.run({5'000});
    Snapshot snapshot = Snapshot::save(original.parts);

    std::string error;
    Snapshot read = Snapshot::parse(snapshot.serialize(), error);
    CHECK(error == "");
    Machine copy;
    CHECK(read.load(copy.parts) == "");
    CHECK(copy.parts.digest() == original.parts.digest());
    CHECK(snapshot.diff_with(copy.parts).empty());

    original.kernel.run({20'000});
    copy.kernel.run({20'000});
    CHECK(copy.kernel.journal().count() > 300);
    CHECK(copy.kernel.journal().chain() == original.kernel.journal().chain());
    CHECK(copy.parts.digest() == original.parts.digest());
    CHECK_FALSE(snapshot.diff_with(copy.parts).empty());

    // Back in time, and again to the same end.
    CHECK(read.load(copy.parts) == "");
    CHECK(Snapshot::save(copy.parts).serialize() == snapshot.serialize());
    copy.kernel.run({20'000});
    CHECK(copy.parts.digest() == original.parts.digest());
}

TEST_CASE("two snapshots are compared without the machine") {
    Machine machine;
    machine.ticker.start();
    Snapshot before = Snapshot::save(machine.parts);
    machine.kernel.run({0});
    std::vector<std::string> lines = Snapshot::diff(before, Snapshot::save(machine.parts));
    auto has = [&](const std::string& line) { return std::find(lines.begin(), lines.end(), line) != lines.end(); };
    CHECK(has("ticker.ticks: 0x0 -> 0x1"));
    CHECK(has("kernel.events.dispatched: 0x0 -> 0x1"));
    CHECK(has("kernel.journal.count: 0x0 -> 0x1"));
}

TEST_CASE("files that are no whole snapshot of this format are refused with a sentence") {
    Machine machine;
    std::vector<u8> file = Snapshot::save(machine.parts).serialize();
    auto error_of = [](std::vector<u8> bytes) {
        std::string error;
        Snapshot::parse(bytes, error);
        return error;
    };
    CHECK(error_of(file) == "");
    CHECK(error_of({}) == "this is not a snapshot");
    std::vector<u8> other_version = file;
    other_version[8] = 9;
    CHECK(error_of(other_version) == "the snapshot has format 9; this program reads 1");
    for (std::size_t at = 0; at < file.size(); ++at) {
        std::vector<u8> damaged = file;
        damaged[at] ^= 0x40;
        CHECK(error_of(damaged) != "");
        CHECK(error_of({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(at)}) != "");
    }
}

TEST_CASE("a load into another machine names the component or field") {
    Machine machine;
    Snapshot snapshot = Snapshot::save(machine.parts);
    sim::SparseMemory smaller("memory", 4096);
    StateList other;
    other.add("kernel", machine.kernel);
    other.add("memory", smaller);
    other.add("ticker", machine.ticker);
    CHECK(snapshot.load(other) == "memory.size: this machine's memory has another size");
    StateList fewer;
    fewer.add("kernel", machine.kernel);
    CHECK(snapshot.load(fewer) == "state: \"memory\" follows the last field");
}

}  // namespace
