// Copy engines that work at once share what limits them, and nothing else.
#include <doctest/doctest.h>

#include "tests/support/chip_bench.h"

using namespace bench;
using namespace gpu;

namespace {

constexpr u64 kCopyBytes = u64{64} << 20;
constexpr u32 kCopyWord = 1 | 1u << 3 | 1u << 7 | 1u << 8;  // pipelined, release one word, pitch to pitch

struct Engines {
    explicit Engines(u64 seed = 0) : bench(seed) {
        for (u32 runlist : {1u, 2u}) channels.push_back(&bench.add_channel({.runlist = runlist}));
        for (u32 runlist : {1u, 2u}) bench.submit_runlist(runlist);
        done = bench.make_buffer(4096);
    }
    ChipBench::Buffer buffer(bool sysmem) { return bench.make_buffer(kCopyBytes, sysmem); }
    void start(u32 engine, const ChipBench::Buffer& from, const ChipBench::Buffer& to) {
        u64 release = done.va + 16 * engine;
        auto hi = [](u64 va) { return static_cast<u32>(va >> 32); };
        auto lo = [](u64 va) { return static_cast<u32>(va); };
        bench.submit(*channels[engine],
                     inc(4, nvc5b5::SET_SEMAPHORE_A, {hi(release), lo(release), 1}) +
                         inc(4, nvc5b5::OFFSET_IN_UPPER, {hi(from.va), lo(from.va), hi(to.va), lo(to.va)}) +
                         inc(4, nvc5b5::LINE_LENGTH_IN, {static_cast<u32>(kCopyBytes)}) + inc(4, nvc5b5::LAUNCH_DMA, {kCopyWord}));
    }
    // Runs until the engine has released, and tells when that was, in microseconds.
    u64 end_us(u32 engine) {
        while (bench.read32(done, 16 * engine) == 0) REQUIRE(bench.kernel.events().run_one());
        return bench.kernel.now().us();
    }
    ChipBench bench;
    std::vector<BenchChannel*> channels;
    ChipBench::Buffer done;
};

u64 alone_us(bool from_sysmem, bool to_sysmem) {
    Engines engines;
    ChipBench::Buffer from = engines.buffer(from_sysmem), to = engines.buffer(to_sysmem);
    u64 begin = engines.bench.kernel.now().us();
    engines.start(0, from, to);
    return engines.end_us(0) - begin;
}

bool near(u64 value, u64 expected) { return value * 100 >= expected * 97 && value * 100 <= expected * 103; }

}  // namespace

TEST_CASE("two copies in video memory take twice as long together, and both move every byte") {
    const u64 alone = alone_us(false, false);
    for (u64 seed = 0; seed < 3; ++seed) {
        Engines engines(seed);
        ChipBench::Buffer from = engines.buffer(false), one = engines.buffer(false), two = engines.buffer(false);
        engines.bench.write(from, kCopyBytes - 8, std::vector<u8>(8, 0x5A));
        u64 begin = engines.bench.kernel.now().us();
        engines.start(0, from, one);
        engines.start(1, from, two);
        CHECK(near(engines.end_us(0) - begin, 2 * alone));
        CHECK(near(engines.end_us(1) - begin, 2 * alone));
        for (const ChipBench::Buffer& to : {one, two}) CHECK(engines.bench.read64(to, kCopyBytes - 8) == 0x5A5A5A5A5A5A5A5A);
    }
}

TEST_CASE("a copy that begins half-way slows the first from then on, and has the rest for itself") {
    const u64 alone = alone_us(false, false);
    Engines engines;
    ChipBench::Buffer from = engines.buffer(false), one = engines.buffer(false), two = engines.buffer(false);
    u64 begin = engines.bench.kernel.now().us();
    engines.start(0, from, one);
    engines.bench.run(SimTime::from_us(alone / 2));
    engines.start(1, from, two);
    CHECK(near(engines.end_us(0) - begin, alone * 3 / 2));
    CHECK(near(engines.end_us(1) - begin, alone * 2));
}

TEST_CASE("the two directions of the bus do not share; two copies in one direction do") {
    const u64 up = alone_us(true, false), down = alone_us(false, true);
    {
        Engines engines;
        ChipBench::Buffer host = engines.buffer(true), device = engines.buffer(false), back = engines.buffer(true);
        u64 begin = engines.bench.kernel.now().us();
        engines.start(0, host, device);
        engines.start(1, device, back);
        u64 second = engines.end_us(1) - begin, first = engines.end_us(0) - begin;
        CHECK(near(first, up));
        CHECK(near(second, down));
    }
    Engines engines;
    ChipBench::Buffer host = engines.buffer(true), one = engines.buffer(false), two = engines.buffer(false);
    u64 begin = engines.bench.kernel.now().us();
    engines.start(0, host, one);
    engines.start(1, host, two);
    CHECK(near(engines.end_us(0) - begin, 2 * up));
    CHECK(near(engines.end_us(1) - begin, 2 * up));
}

TEST_CASE("a copy whose channel goes away leaves its share to the other") {
    const u64 alone = alone_us(false, false);
    Engines engines;
    ChipBench::Buffer from = engines.buffer(false), one = engines.buffer(false), two = engines.buffer(false);
    u64 begin = engines.bench.kernel.now().us();
    engines.start(0, from, one);
    engines.start(1, from, two);
    engines.bench.run(SimTime::from_us(alone));
    const u32 ccsr = 0x800000 + engines.channels[1]->chid * 8;
    engines.bench.host.write(ccsr + 4, 1u << 11);  // ENABLE_CLR
    engines.bench.host.write(ccsr, 0);             // unbound: its job is dropped
    CHECK(near(engines.end_us(0) - begin, alone * 3 / 2));
    CHECK(engines.bench.read32(engines.done, 16) == 0);
}
