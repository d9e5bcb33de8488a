// Tests of sim/rng.{h,cpp}. Known answers: the reference C sources of xoshiro256** 1.0 (state 1, 2, 3, 4) and
// splitmix64 (state 0).
#include "sim/rng.h"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <vector>

#include "sim/state_visitors.h"

namespace {

using sim::RandomStream;
using sim::u64;

TEST_CASE("the generators give their published outputs") {
    RandomStream stream(std::array<u64, 4>{1, 2, 3, 4});
    for (u64 expected : {u64{11520}, u64{0}, u64{1509978240}, u64{1215971899390074240}}) {
        CHECK(stream.next() == expected);
    }
    u64 state = 0;
    for (u64 expected : {0xe220a8397b1dcdafu, 0x6e789e6aa1b965f4u, 0x06c45d188009454fu, 0xf88bb8a8724c81ecu}) {
        CHECK(sim::splitmix64(state) == expected);
    }
}

TEST_CASE("a named stream is the same for ever") {
    // Pinned: traces and fault plans in the field depend on these.
    RandomStream stream(7, "gpu.host.runlist0", "order");
    CHECK(stream.next() == 0x89966a7de23d0a14);
    CHECK(stream.next() == 0x650b5d167639c0a5);
}

TEST_CASE("seed, path and purpose each give another stream, also where their concatenation is the same") {
    u64 first = RandomStream(1, "ab", "c").next();
    CHECK(first == RandomStream(1, "ab", "c").next());
    CHECK(first != RandomStream(2, "ab", "c").next());
    CHECK(first != RandomStream(1, "a", "bc").next());
    CHECK(first != RandomStream(1, "abc", "").next());
}

TEST_CASE("below() is uniform and stays below its bound") {
    RandomStream stream(3, "test", "below");
    CHECK(stream.below(1) == 0);
    std::map<u64, unsigned> counts;
    for (int i = 0; i < 60000; ++i) ++counts[stream.below(6)];
    CHECK(counts.size() == 6);
    for (auto [value, count] : counts) {
        CHECK(value < 6);
        CHECK(count > 9600);
        CHECK(count < 10400);
    }
    // A bound just above half the range rejects about half of the draws.
    u64 bound = (u64{1} << 63) + 1;
    for (int i = 0; i < 1000; ++i) CHECK(stream.below(bound) < bound);
}

TEST_CASE("chance() follows its ratio") {
    RandomStream stream(3, "test", "chance");
    unsigned hits = 0;
    for (int i = 0; i < 30000; ++i) hits += stream.chance(1, 3) ? 1u : 0u;
    CHECK(hits > 9600);
    CHECK(hits < 10400);
    CHECK_FALSE(stream.chance(0, 5));
    CHECK(stream.chance(5, 5));
}

TEST_CASE("a loaded stream goes on where the saved one was, and an impossible state is refused") {
    RandomStream stream(3, "test", "save");
    stream.next();
    sim::SaveVisitor save;
    stream.visit(save);
    RandomStream other(4, "test", "save");
    sim::LoadVisitor load(save.saved());
    other.visit(load);
    load.finish();
    CHECK(load.error() == "");
    CHECK(other.next() == stream.next());

    sim::StateWriter zeros;
    zeros.list("state", 4);
    for (int i = 0; i < 4; ++i) zeros.word("", 0);
    zeros.end();
    sim::LoadVisitor bad(zeros.written());
    other.visit(bad);
    CHECK(bad.error() == "state: all zero");
}

}  // namespace
