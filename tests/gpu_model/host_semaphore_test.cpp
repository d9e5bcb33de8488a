// Semaphores of the host engine: releases, reductions, acquires and what ends them, the legacy form.
#include <doctest/doctest.h>

#include "tests/support/graphics_bench.h"
#include "tests/support/seeds.h"

using namespace bench;
using namespace gpu;

namespace {

constexpr u32 kRelease = nvc46f::SEM_EXECUTE_OPERATION_RELEASE;
constexpr u32 k64Bit = 1u << 24;
constexpr u32 kTimestamp = 1u << 25;
constexpr u32 kSwitch = 1u << 12;

}  // namespace

TEST_CASE("releases write exactly their bytes") {
    struct Row {
        u32 execute;
        u64 bytes;
    };
    for (Row row : {Row{kRelease, 4}, Row{kRelease | k64Bit, 8}, Row{kRelease | kTimestamp, 16},
                    Row{kRelease | k64Bit | kTimestamp, 16}}) {
        CAPTURE(row.execute);
        GrBench gr;
        ChipBench::Buffer buffer = gr.bench.make_buffer(4096);
        gr.bench.write(buffer, 0, std::vector<u8>(64, 0xAA));
        gr.bench.submit(gr.channel, semaphore(buffer.va + 16, 0x1122334455667788, row.execute));
        gr.bench.run();
        CHECK(gr.bench.errors.empty());
        std::vector<u8> bytes = gr.bench.read(buffer, 0, 64);
        for (std::size_t i = 0; i < 64; ++i) {
            if (i < 16 || i >= 16 + row.bytes) CHECK(bytes[i] == 0xAA);
        }
        CHECK(gr.bench.read32(buffer, 16) == 0x55667788);
        if (row.bytes >= 8) CHECK(gr.bench.read32(buffer, 20) == ((row.execute & k64Bit) != 0 ? 0x11223344u : 0u));
        if (row.bytes == 16) {
            u64 time = gr.bench.read64(buffer, 24);
            CHECK(time % 32 == 0);
            CHECK(time > 0);
            CHECK(time <= gr.bench.kernel.now().ns());
        }
    }
}

TEST_CASE("misaligned and undefined semaphore operations are SEMAPHORE errors") {
    GrBench gr;
    ChipBench::Buffer buffer = gr.bench.make_buffer(4096);
    u32 seen = 0;
    auto expect = [&](u64 va, u32 execute) {
        gr.bench.submit(gr.channel, semaphore(va, 0, execute));
        gr.bench.run();
        REQUIRE(gr.bench.errors.size() == ++seen);
        CHECK(gr.bench.errors.back().info == pbdma_intr::SEMAPHORE);
        gr.bench.host.write(0x40108, ~0u);
        gr.bench.run();
        CHECK(gr.bench.idle(gr.channel));
    };
    expect(buffer.va + 4, kRelease | k64Bit);
    expect(buffer.va + 8, kRelease | kTimestamp);
    expect(buffer.va, 7);
    expect(buffer.va, 6 | k64Bit | 6u << 27 | 1u << 31);  // 64-bit INC
    expect(buffer.va, 6 | k64Bit | 5u << 27);             // 64-bit signed IADD
    expect(buffer.va, 6 | 6u << 27);                      // signed INC
    expect(buffer.va, 6 | 9u << 27 | 1u << 31);           // undefined
}

TEST_CASE("reductions") {
    struct Row {
        u32 op;
        bool is_unsigned, wide;
        u64 memory, payload, expected;
    };
    const Row rows[] = {
        {0, false, false, 5, 0xFFFFFFFF, 0xFFFFFFFF},
        {0, true, false, 5, 0xFFFFFFFF, 5},
        {1, false, false, 5, 0xFFFFFFFF, 5},
        {1, true, false, 5, 0xFFFFFFFF, 0xFFFFFFFF},
        {2, true, false, 0xF0, 0xFF, 0x0F},
        {3, true, false, 0xF0, 0x3C, 0x30},
        {4, true, false, 0xF0, 0x0F, 0xFF},
        {5, true, false, 0xFFFFFFFF, 2, 1},
        {6, true, false, 5, 5, 0},
        {6, true, false, 4, 5, 5},
        {7, true, false, 0, 5, 5},
        {7, true, false, 6, 5, 5},
        {7, true, false, 5, 5, 4},
        {5, true, true, 0xFFFFFFFF, 1, 0x100000000},
        {1, false, true, 1, ~u64{0}, 1},
    };
    for (const Row& row : rows) {
        CAPTURE(row.op);
        CAPTURE(row.memory);
        GrBench gr;
        ChipBench::Buffer buffer = gr.bench.make_buffer(4096);
        gr.bench.write32(buffer, 0, static_cast<u32>(row.memory));
        gr.bench.write32(buffer, 4, static_cast<u32>(row.memory >> 32));
        u32 execute = nvc46f::SEM_EXECUTE_OPERATION_REDUCTION | row.op << 27 | (row.is_unsigned ? 1u << 31 : 0) |
                      (row.wide ? k64Bit : 0);
        gr.bench.submit(gr.channel, semaphore(buffer.va, row.payload, execute));
        gr.bench.run();
        CHECK(gr.bench.errors.empty());
        CHECK((row.wide ? gr.bench.read64(buffer, 0) : gr.bench.read32(buffer, 0)) == row.expected);
    }
}

TEST_CASE("P17: every acquire blocks, is released by another channel, with and without SWITCH_TSG, 32 and 64 bits") {
    for (u64 seed = 0; seed < test_support::seed_count(10); ++seed) {
        CAPTURE(seed);
        struct Row {
            u32 op;
            u64 before, payload, after;
        };
        const Row rows[] = {
            {nvc46f::SEM_EXECUTE_OPERATION_ACQUIRE, 1, 7, 7},
            {nvc46f::SEM_EXECUTE_OPERATION_ACQ_STRICT_GEQ, 6, 7, 9},
            {nvc46f::SEM_EXECUTE_OPERATION_ACQ_CIRC_GEQ, 0xFFFFFFF0, 3, 5},  // across the 32-bit wrap (32-bit form)
            {nvc46f::SEM_EXECUTE_OPERATION_ACQ_AND, 8, 7, 1},
            {nvc46f::SEM_EXECUTE_OPERATION_ACQ_NOR, 0xFFFFFFFF, 0, 0xFFFFFFFE},
        };
        for (const Row& row : rows) {
            for (bool wide : {false, true}) {
                for (bool switch_tsg : {false, true}) {
                    CAPTURE(row.op);
                    CAPTURE(wide);
                    CAPTURE(switch_tsg);
                    u64 before = row.before;
                    if (wide && row.op == nvc46f::SEM_EXECUTE_OPERATION_ACQ_CIRC_GEQ) before = ~u64{0xF};
                    if (wide && row.op == nvc46f::SEM_EXECUTE_OPERATION_ACQ_NOR) before = ~u64{0};
                    GrBench gr({}, true, seed);
                    BenchChannel& other = gr.add({});
                    gr.bench.submit_runlist(0);
                    ChipBench::Buffer buffer = gr.bench.make_buffer(4096);
                    gr.bench.write32(buffer, 0, static_cast<u32>(before));
                    gr.bench.write32(buffer, 4, static_cast<u32>(before >> 32));
                    u32 size = wide ? k64Bit : 0;
                    gr.bench.submit(gr.channel,
                                    semaphore(buffer.va, row.payload, row.op | size | (switch_tsg ? kSwitch : 0)) +
                                        inc(1, kScratch, {99}));
                    gr.bench.run(SimTime::from_ms(3));
                    CHECK(gr.state(kScratch) == 0);
                    CHECK(gr.bench.kernel.watchdog().report().find("semaphore acquire") != std::string::npos);
                    gr.bench.submit(other, semaphore(buffer.va, row.after, kRelease | size));
                    gr.bench.run(SimTime::from_ms(3));
                    CHECK(gr.bench.errors.empty());
                    CHECK(gr.bench.idle(other));
                    CHECK(gr.bench.idle(gr.channel));
                    CHECK(gr.state(kScratch) == 99);
                }
            }
        }
    }
}

TEST_CASE("a store by the CPU ends an acquire too, and a time limit ends it with an error") {
    GrBench gr({.acquire = 0x00000102 | 1u << 31 | 4u << 11 | 100u << 15});  // 100 << 4 units of 1024 ns
    ChipBench::Buffer buffer = gr.bench.make_buffer(4096);
    gr.bench.submit(gr.channel, semaphore(buffer.va, 5, 0) + inc(1, kScratch, {1}));
    gr.bench.run(SimTime::from_ms(1));
    gr.bench.write32(buffer, 0, 5);
    gr.bench.run(SimTime::from_us(20));
    CHECK(gr.state(kScratch) == 1);
    gr.bench.submit(gr.channel, semaphore(buffer.va, 6, 0));
    gr.bench.run(SimTime::from_us(1500));
    CHECK(gr.bench.errors.empty());
    gr.bench.run(SimTime::from_us(500));
    REQUIRE(gr.bench.errors.size() == 1);
    CHECK(gr.bench.errors[0].info == pbdma_intr::ACQUIRE);
}

// A ring that is full of waits for what nobody releases, and what the watchdog says of it.
static void check_stuck_ring(GrBench& gr, u64 events_max) {
    ChipBench::Buffer buffer = gr.bench.make_buffer(4096);
    constexpr u32 kEntries = 63;  // as many as a ring of 64 holds
    for (u32 i = 0; i < kEntries; ++i) gr.bench.push(gr.channel, semaphore(buffer.va, 5, 0));
    gr.bench.ring_doorbell(gr.channel);
    u64 before = gr.bench.kernel.events().dispatched();
    sim::Kernel::RunResult result = gr.bench.kernel.run(SimTime::from_s(60));
    CHECK(result.reason == sim::Kernel::StopReason::Watchdog);
    CHECK(gr.bench.kernel.events().dispatched() - before < events_max);
    for (std::string_view part : {"channel 1:", "GP_GET 0", "GP_PUT 63", "SEM_EXECUTE", "blocked on semaphore acquire"}) {
        CHECK_MESSAGE(result.text.find(part) != std::string::npos, part, result.text);
    }
    CHECK(gr.bench.gp_get(gr.channel) == 0);
    CHECK(gr.bench.errors.empty());
}

TEST_CASE("P13: a channel that never advances is named by the watchdog, at bounded cost") {
    GrBench gr;
    check_stuck_ring(gr, 3'000'000);
}

TEST_CASE("P13: the same under every seed, with a watchdog that bites sooner") {
    for (u64 seed = 0; seed < test_support::seed_count(20); ++seed) {
        CAPTURE(seed);
        GrBench gr({}, true, seed);
        gr.bench.kernel.watchdog().set_limit(SimTime::from_ms(5));
        check_stuck_ring(gr, 2'000);
    }
}

TEST_CASE("a blocked acquire keeps nobody else from running") {
    for (bool switch_tsg : {false, true}) {
        GrBench gr;
        BenchChannel& same_runlist = gr.add({});
        gr.bench.submit_runlist(0);
        BenchChannel& other_runlist = gr.bench.add_channel({.runlist = 1});
        gr.bench.submit_runlist(1);
        ChipBench::Buffer buffer = gr.bench.make_buffer(4096);
        gr.bench.submit(gr.channel, semaphore(buffer.va, 1, switch_tsg ? kSwitch : 0));
        gr.bench.run(SimTime::from_us(50));
        gr.bench.submit(same_runlist, inc(1, kScratch, {4}));
        gr.bench.submit(other_runlist, inc(4, nvc5b5::NOP, {0}));
        gr.bench.run(SimTime::from_us(50));
        CHECK(gr.bench.idle(other_runlist));
        CHECK(gr.bench.idle(same_runlist) ==
              switch_tsg);  // without the switch it waits for the timeslice of about 1 ms
        gr.bench.run(SimTime::from_ms(3));
        CHECK(gr.bench.idle(same_runlist));
        CHECK(!gr.bench.idle(gr.channel));
        u32 status = gr.bench.host.read(0x800004 + gr.channel.chid * 8) >> 24 & 0xF;
        CHECK((status == 3 || status == 5));  // PENDING_ACQUIRE or ON_PBDMA
    }
}

TEST_CASE("legacy semaphores: sizes and WFI are inverted") {
    GrBench gr;
    ChipBench::Buffer buffer = gr.bench.make_buffer(4096);
    gr.bench.write(buffer, 0, std::vector<u8>(64, 0xAA));
    u32 hi = static_cast<u32>(buffer.va >> 32);
    u32 lo = static_cast<u32>(buffer.va);
    gr.bench.submit(gr.channel, inc(0, nvc46f::SEMAPHOREA, {hi, lo, 0x1234, 2u | 1u << 24}) +
                                    inc(0, nvc46f::SEMAPHOREA, {hi, lo + 16, 0x5678, 2u}) +
                                    inc(0, nvc46f::SEMAPHOREA, {hi, lo, 0x1234, 1u}) +
                                    inc(0, nvc46f::SEMAPHOREA, {hi, lo, 0x1000, 4u}) +
                                    inc(0, nvc46f::SEMAPHOREA, {hi, lo, 0x30, 8u}) +
                                    inc(0, nvc46f::SEMAPHOREA, {hi, lo, 1, 0x10u | 5u << 27 | 1u << 31}));
    gr.bench.run();
    CHECK(gr.bench.errors.empty());
    CHECK(gr.bench.idle(gr.channel));
    CHECK(gr.bench.read32(buffer, 0) == 0x1235);
    CHECK(gr.bench.read32(buffer, 4) == 0xAAAAAAAA);
    CHECK(gr.bench.read32(buffer, 16) == 0x5678);
    CHECK(gr.bench.read32(buffer, 20) == 0);
    CHECK(gr.bench.read32(buffer, 32) == 0xAAAAAAAA);
    gr.bench.submit(gr.channel, inc(0, nvc46f::SEMAPHOREA, {hi, lo, 0, 3u}));  // not one-hot
    gr.bench.run();
    REQUIRE(gr.bench.errors.size() == 1);
    CHECK(gr.bench.errors[0].info == pbdma_intr::SEMAPHORE);
}
