// Timing of the SMs: latencies by stall counts and scoreboards, barriers, units, hazards, and that no value depends on it.
#include "gpu_model/sm/timing.h"

#include <doctest/doctest.h>

#include "sim/state_visitors.h"
#include "tests/support/sm_bench.h"

namespace {

using namespace gpu::sm;
using namespace test_support;
using namespace test_support::code;

constexpr u32 kDataLow = static_cast<u32>(SmBench::kData);
constexpr u32 kClockLo = 0x50;

// Control bits: stall count; scoreboards that are told of the result, and waited for.
Asm stall(Asm word, u32 cycles) {
    return word.set(108, 105, cycles).set(109, 109, 1).set(112, 110, 7).set(115, 113, 7);
}
Asm tells(Asm word, u32 board) {
    return word.set(112, 110, board);
}
Asm waits(Asm word, u32 mask) {
    return word.set(121, 116, mask);
}
Asm read_clock(u32 rd) {
    return Asm(0x805).set(23, 16, rd).set(79, 72, kClockLo);
}
Asm imad(u32 rd, u32 ra) {
    return Asm(0x224).set(23, 16, rd).set(31, 24, ra).set(39, 32, 3).set(71, 64, 4).set(83, 81, pt).set(90, 87, 0xf);
}
Asm popc(u32 rd, u32 rb) {
    return Asm(0x309).set(23, 16, rd).set(39, 32, rb);
}

Asm dadd(u32 rd, u32 ra) {
    return Asm(0x229).set(23, 16, rd).set(31, 24, ra).set(71, 64, ra);
}
Asm dfma(u32 rd, u32 ra) {
    return Asm(0x22b).set(23, 16, rd).set(31, 24, ra).set(39, 32, ra).set(71, 64, ra);
}
Asm lds(u32 rd, u32 ra) {
    return Asm(0x984).set(23, 16, rd).set(31, 24, ra).set(75, 73, 4).set(83, 81, pt);
}

struct TimingBench : SmBench {
    GridState run_timed() {
        grid.emplace(launch, memory, cache, clock);
        grid->enable_timing();
        return grid->run(1'000'000);
    }
    u64 cycles() const { return grid->timing()->elapsed(); }
    const std::vector<Hazard>& hazards() const { return grid->timing()->hazards(); }
    // Clock readings around `words`, less what two readings in a row take.
    u32 measure(const std::vector<Word>& words) {
        u64 at = 0;
        put(at++, stall(mov(2, kDataLow), 6));
        put(at++, stall(mov(3, 0), 6));
        put(at++, stall(mov(4, 0), 6));
        put(at++, stall(read_clock(8), 8));
        for (const Word& word : words) put(at++, word);
        put(at++, waits(stall(read_clock(9), 8), 1));
        put(at++, stall(stg(2, 8), 4));
        put(at++, stall(stg(2, 9, 4), 4));
        put(at++, stall(exit(), 5));
        REQUIRE(run_timed() == GridState::Done);
        constexpr u32 pair = 8;
        return word(1) - word(0) - pair;
    }
};

}  // namespace

TEST_CASE("V01 V04 a dependent chain takes its stall counts; V09 two clock readings are 8 cycles apart") {
    TimingBench bench;
    CHECK(bench.measure({}) == 0);
    CHECK(bench.measure(std::vector<Word>(32, stall(iadd(5, 5, 1), 4))) == 32 * 4);
    CHECK(bench.measure(std::vector<Word>(32, stall(imad(5, 5), 5))) == 32 * 5);
    CHECK(bench.hazards().empty());
}

TEST_CASE("V06 a scoreboard is waited for: POPC takes about 15 cycles; V30 a load from L1 32") {
    TimingBench bench;
    std::vector<Word> chain(16, waits(tells(stall(popc(5, 5), 1), 0), 1));
    CHECK(bench.measure(chain) >= 16 * 13);
    CHECK(bench.measure(chain) <= 16 * 17);
    chain.assign(16, waits(tells(stall(ldg(6, 2), 1), 0), 1));
    const u32 loads = bench.measure(chain);
    CHECK(loads >= 16 * 31);
    CHECK(loads <= 16 * 33);
    CHECK(bench.hazards().empty());
}

TEST_CASE("V10 a unit takes a warp instruction every second cycle of a sub-core, however many warps there are") {
    TimingBench bench;
    constexpr u32 kCount = 400;
    for (u32 i = 0; i < kCount; ++i) bench.put(i, stall(imad(5 + i % 8, 3), 1));
    bench.put(kCount, stall(exit(), 1));
    bench.launch.block = {32, 1, 1};
    REQUIRE(bench.run_timed() == GridState::Done);
    CHECK(bench.cycles() >= 2 * kCount);
    CHECK(bench.cycles() < 2 * kCount + 32);
    bench.launch.block = {1024, 1, 1};
    REQUIRE(bench.run_timed() == GridState::Done);
    // Eight warps on each of four sub-cores.
    CHECK(bench.cycles() >= 8 * 2 * kCount);
    CHECK(bench.cycles() < 8 * 2 * kCount + 64);
}

TEST_CASE("V07 V08 V44 V58 dependent chains of doubles, shared loads and wide loads take their latencies") {
    TimingBench bench;
    bench.launch.shared_bytes = 256;
    constexpr u32 kCount = 16;
    const auto chain = [&](const Asm& word) {
        const u32 cycles = bench.measure(std::vector<Word>(kCount, waits(tells(stall(word, 1), 0), 1)));
        return (cycles + kCount / 2) / kCount;
    };
    CHECK(chain(dadd(10, 10)) == 48);
    CHECK(chain(dfma(10, 10)) == 54);
    CHECK(chain(lds(6, rz)) == 22);
    CHECK(chain(ldg(12, 2, 0, 5)) == 34);
    CHECK(chain(ldg(12, 2, 0, 6)) == 38);
}

TEST_CASE("V12 an SM has two lanes for doubles, whatever its warps do") {
    TimingBench bench;
    constexpr u32 kCount = 50, kWarps = 32, kCyclesOfWarp = 16;
    for (u32 i = 0; i < kCount; ++i) bench.put(i, stall(dfma(10 + 2 * (i % 8), 4), 1));
    bench.put(kCount, stall(exit(), 1));
    bench.launch.block = {kWarps * kLanes, 1, 1};
    REQUIRE(bench.run_timed() == GridState::Done);
    CHECK(bench.cycles() >= kWarps * kCount * kCyclesOfWarp);
    CHECK(bench.cycles() < kWarps * kCount * kCyclesOfWarp + 100);
}

TEST_CASE("loads complete in order: a later one's scoreboard covers an earlier one, also when no lane executes the later") {
    TimingBench bench;
    bench.launch.shared_bytes = 256;
    bench.program({stall(mov(2, kDataLow), 6), stall(mov(3, 0), 6), stall(lds(4, rz), 4),
                   tells(stall(lds(5, rz).guard(0), 2), 0), waits(stall(iadd(6, 4, 1), 4), 1), stall(stg(2, 6), 2),
                   stall(exit(), 5)});
    REQUIRE(bench.run_timed() == GridState::Done);
    CHECK(bench.hazards().empty());
    CHECK(bench.word(0) == 1);
}

TEST_CASE("a lane that has not written a register does not wait for the lane that has") {
    // Lane 0 loads; then the other lanes, which have not, use the register.
    TimingBench bench;
    bench.launch.block = {32, 1, 1};
    bench.program({stall(s2r(0, 0x21), 4), stall(isetp(0, 0, 2, 0), 13), stall(mov(2, kDataLow), 6), stall(mov(3, 0), 6),
                   stall(ldg(4, 2).guard(0), 2), stall(iadd(5, 4, 1), 4).guard(0, true), stall(exit(), 5)});
    REQUIRE(bench.run_timed() == GridState::Done);
    for (const Hazard& hazard : bench.hazards()) CHECK(hazard.what == "R0");  // S2R is not waited for
}

TEST_CASE("a barrier holds the quick warp until the slow one has come") {
    TimingBench bench;
    // Warp 1 stalls 15 cycles four times before the barrier.
    bench.program({stall(s2r(0, 0x21), 13), stall(isetp(0, 0, 1, 32), 13), stall(bra(4).guard(0), 5),
                   stall(mov(5, 0), 15), stall(mov(5, 0), 15), stall(mov(5, 0), 15), stall(mov(5, 0), 15),
                   stall(bar_sync(0), 5), stall(read_clock(8), 8), stall(mov(2, kDataLow), 5), stall(mov(3, 0), 5),
                   stall(stg(2, 8), 2).guard(0), stall(stg(2, 8, 4), 2).guard(0, true), stall(exit(), 5)});
    bench.launch.block = {64, 1, 1};
    REQUIRE(bench.run_timed() == GridState::Done);
    CHECK(bench.word(0) == bench.word(1));
    CHECK(bench.word(0) >= 4 * 15 + 20);
}

TEST_CASE("blocks follow each other on an SM when it is full") {
    TimingBench bench;
    bench.program({stall(mov(5, 0), 15), stall(mov(5, 0), 15), stall(exit(), 5)});
    bench.launch.sm_count = 1;
    bench.launch.block = {1024, 1, 1};
    REQUIRE(bench.run_timed() == GridState::Done);
    const u64 one = bench.cycles();
    bench.launch.grid = {4, 1, 1};
    REQUIRE(bench.run_timed() == GridState::Done);
    CHECK(bench.cycles() == 4 * one);
}

TEST_CASE("a stall that is too short for its producer is a named hazard, and the value is right all the same") {
    TimingBench bench;
    SUBCASE("a fixed latency") {
        bench.program({stall(mov(2, kDataLow), 6), stall(mov(3, 0), 6), stall(mov(4, 7), 1), stall(stg(2, 4), 2),
                       stall(exit(), 5)});
        REQUIRE(bench.run_timed() == GridState::Done);
        REQUIRE(bench.hazards().size() == 1);
        const Hazard& hazard = bench.hazards()[0];
        CHECK(hazard.producer_pc == 0x20);
        CHECK(hazard.consumer_pc == 0x30);
        CHECK(hazard.what == "R4");
        CHECK(hazard.missing_cycles == 3);
        CHECK(hazard.describe().find("the stall counts are too short") != std::string::npos);
        CHECK(bench.word(0) == 7);
    }
    SUBCASE("a scoreboard that nobody waits for") {
        bench.program({stall(mov(2, kDataLow), 6), stall(mov(3, 0), 6), tells(stall(ldg(4, 2), 4), 0),
                       stall(iadd(5, 4, 1), 4), waits(stall(exit(), 5), 1)});
        REQUIRE(bench.run_timed() == GridState::Done);
        REQUIRE(bench.hazards().size() == 1);
        CHECK(bench.hazards()[0].no_wait);
    }
    SUBCASE("a predicate") {
        bench.program({stall(isetp(2, 5, 2, 0), 2), stall(mov(4, 7), 4).guard(2), stall(exit(), 5)});
        REQUIRE(bench.run_timed() == GridState::Done);
        REQUIRE(bench.hazards().size() == 1);
        CHECK(bench.hazards()[0].what == "P2");
    }
    SUBCASE("long enough") {
        bench.program({stall(mov(2, kDataLow), 6), stall(mov(3, 0), 6), stall(mov(4, 7), 4), stall(stg(2, 4), 2),
                       stall(exit(), 5)});
        REQUIRE(bench.run_timed() == GridState::Done);
        CHECK(bench.hazards().empty());
    }
}

TEST_CASE("DEPBAR waits until no more than its count are outstanding") {
    // Three loads tell scoreboard 0; what follows waits for the first, then for all.
    const auto depbar = [](u32 count) { return Asm(0x91a).set(46, 44, 0).set(43, 38, count).set(47, 47, 1); };
    TimingBench bench;
    const std::vector<Word> loads(3, tells(stall(ldg(6, 2), 10), 0));
    auto one = loads, all = loads;
    one.push_back(stall(depbar(2), 4));
    all.push_back(stall(depbar(0), 4));
    // The closing clock reading waits for scoreboard 0 in both; the time between shows in the order of the cycles alone.
    CHECK(bench.measure(one) == bench.measure(loads));
    CHECK(bench.measure(all) >= bench.measure(loads));
}

TEST_CASE("timing goes on where a saved grid stood") {
    TimingBench bench;
    bench.program({stall(mov(5, 100), 4), stall(iadd(5, 5, 0xffff'ffff), 4), stall(isetp(0, 5, 5, 0), 13),
                   stall(bra(-3).guard(0), 5), stall(exit(), 5)});
    bench.launch.block = {96, 1, 1};
    bench.launch.grid = {50, 1, 1};
    REQUIRE(bench.run_timed() == GridState::Done);
    const u64 whole = bench.cycles();
    bench.grid.emplace(bench.launch, bench.memory, bench.cache, bench.clock);
    bench.grid->enable_timing();
    REQUIRE(bench.grid->run(9000) == GridState::Running);
    sim::SaveVisitor save;
    bench.grid->visit(save);
    GridRun other(bench.launch, bench.memory, bench.cache, bench.clock);
    other.enable_timing();
    sim::LoadVisitor load(save.saved());
    other.visit(load);
    REQUIRE_FALSE(load.failed());
    REQUIRE(other.run(1'000'000) == GridState::Done);
    CHECK(other.timing()->elapsed() == whole);
}
