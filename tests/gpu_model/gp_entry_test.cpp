// The fields of a GP entry besides address, length and opcode: LEVEL, SYNC and FETCH, alone and together, wherever a ring wraps.
#include <doctest/doctest.h>

#include "tests/support/graphics_bench.h"
#include "tests/support/seeds.h"

using namespace bench;
using namespace gpu;

namespace {

constexpr u32 kSubroutine = GpEntry::LEVEL::make(1);
constexpr u32 kWait = GpEntry::SYNC::make(1);

u64 top_level_get(GrBench& gr) {
    return gr.bench.vram.read_u32(gr.channel.userd + ramuserd::TOP_LEVEL_GET) |
           u64{gr.bench.vram.read_u32(gr.channel.userd + ramuserd::TOP_LEVEL_GET_HI)} << 32;
}

}  // namespace

TEST_CASE("a subroutine's segment runs like any other and leaves TOP_LEVEL_GET in the main one") {
    for (u64 seed = 0; seed < test_support::seed_count(20); ++seed) {
        CAPTURE(seed);
        GrBench gr({}, true, seed);
        const u64 main_va = gr.channel.push_va;
        gr.bench.push(gr.channel, inc(1, kScratch, {1}));
        gr.bench.push(gr.channel, inc(1, kScratch + 4, {2}), kSubroutine);
        gr.bench.push(gr.channel, inc(1, kScratch + 8, {3}), kSubroutine | kWait);
        gr.bench.ring_doorbell(gr.channel);
        gr.bench.run();
        CHECK(gr.bench.errors.empty());
        CHECK(gr.bench.idle(gr.channel));
        for (u32 i = 0; i < 3; ++i) CHECK(gr.state(kScratch + 4 * i) == i + 1);
        CHECK(top_level_get(gr) == main_va);
        u32 header = gr.bench.vram.read_u32(gr.channel.instance + ramfc::PB_HEADER * 4);
        CHECK(ramfc::PB_HEADER_LEVEL::get(header) == 1);
        // Back at the main level it follows again.
        const u64 next_va = gr.channel.push_va + gr.channel.push_used;
        gr.bench.submit(gr.channel, inc(1, kScratch, {4}));
        gr.bench.run();
        CHECK(top_level_get(gr) == next_va);
        header = gr.bench.vram.read_u32(gr.channel.instance + ramfc::PB_HEADER * 4);
        CHECK(ramfc::PB_HEADER_LEVEL::get(header) == 0);
    }
}

// Each entry releases the word that the next one's data word lies in: with SYNC the next is fetched only after the segment before it.
TEST_CASE("an entry with SYNC sees what the segment before it has stored, under every seed") {
    for (u64 seed = 0; seed < test_support::seed_count(50); ++seed) {
        CAPTURE(seed);
        GrBench gr({}, true, seed);
        const u64 second = gr.channel.push_va + 0x1000;
        gr.bench.vram.write_u32(gr.channel.push + 0x1000, header(1, 1, kScratch, 1));
        gr.bench.vram.write_u32(gr.channel.push + 0x1004, 0xBAD);
        gr.bench.push(gr.channel, semaphore(second + 4, 0x600D, nvc46f::SEM_EXECUTE_OPERATION_RELEASE));
        gr.bench.push_entry(gr.channel, static_cast<u32>(second), static_cast<u32>(second >> 32) | GpEntry::LENGTH::make(2) | kWait);
        gr.bench.ring_doorbell(gr.channel);
        gr.bench.run();
        CHECK(gr.bench.errors.empty());
        CHECK(gr.state(kScratch) == 0x600D);
    }
}

// The same without SYNC: Host may have fetched the second segment before the first one was parsed. Both are what hardware may do,
// and seed 0 is the one without.
TEST_CASE("an entry without SYNC sees what the segment before it has stored, or what was there before, by the seed") {
    u32 early = 0, late = 0;
    for (u64 seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        GrBench gr({}, true, seed);
        const u64 second = gr.channel.push_va + 0x1000;
        gr.bench.vram.write_u32(gr.channel.push + 0x1000, header(1, 1, kScratch, 1));
        gr.bench.vram.write_u32(gr.channel.push + 0x1004, 0xBAD);
        gr.bench.push(gr.channel, semaphore(second + 4, 0x600D, nvc46f::SEM_EXECUTE_OPERATION_RELEASE));
        gr.bench.push_entry(gr.channel, static_cast<u32>(second), static_cast<u32>(second >> 32) | GpEntry::LENGTH::make(2));
        gr.bench.ring_doorbell(gr.channel);
        gr.bench.run();
        CHECK(gr.bench.errors.empty());
        CHECK(gr.bench.idle(gr.channel));
        const bool saw_old = gr.state(kScratch) == 0xBAD;
        if (!saw_old) CHECK(gr.state(kScratch) == 0x600D);
        if (seed == 0) CHECK_FALSE(saw_old);
        ++(saw_old ? early : late);
    }
    CHECK(early >= 5);
    CHECK(late >= 5);
}

// Nothing is fetched that GP_PUT does not cover, and what was fetched ahead is in order, however long the segments are.
TEST_CASE("what is fetched ahead runs once and in order, under every seed") {
    for (u64 seed = 0; seed < test_support::seed_count(40); ++seed) {
        CAPTURE(seed);
        GrBench gr({.ring_log2 = 4}, true, seed);
        u32 expected = 0;
        for (u32 round = 0; round < 6; ++round) {
            for (u32 i = 0; i < 9; ++i) {
                std::vector<u32> words;
                // One word, a few, and more than are fetched ahead.
                const u32 repeats = i % 3 == 0 ? 1 : i % 3 == 1 ? 5 : 90;
                for (u32 repeat = 0; repeat < repeats; ++repeat) {
                    const std::vector<u32> one = inc(1, kScratch, {++expected});
                    words.insert(words.end(), one.begin(), one.end());
                }
                gr.bench.push(gr.channel, words, i % 4 == 3 ? kWait : 0);
            }
            gr.bench.ring_doorbell(gr.channel);
            gr.bench.run(SimTime::from_ms(1));
            CHECK(gr.bench.errors.empty());
            CHECK(gr.bench.idle(gr.channel));
            CHECK(gr.state(kScratch) == expected);
        }
    }
}

TEST_CASE("control entries may say SYNC and LEVEL, and a ring wraps through all of them") {
    for (u64 seed = 0; seed < test_support::seed_count(20); ++seed) {
        CAPTURE(seed);
        GrBench gr({.ring_log2 = 3}, true, seed);
        u32 expected = 0;
        for (u32 round = 0; round < 20; ++round) {
            // Seven entries fill a ring of eight.
            for (u32 i = 0; i < 7; ++i) {
                const u32 flags = (i & 1 ? kSubroutine : 0) | (i & 2 ? kWait : 0);
                if (i % 3 == 2)
                    gr.bench.push_entry(gr.channel, 0, flags);  // NOP
                else
                    gr.bench.push(gr.channel, inc(1, kScratch, {++expected}), flags, i % 3 == 1);
            }
            gr.bench.ring_doorbell(gr.channel);
            gr.bench.run(SimTime::from_ms(1));
            CHECK(gr.bench.idle(gr.channel));
            CHECK(gr.bench.errors.empty());
            CHECK(gr.state(kScratch) == expected);
        }
    }
}
