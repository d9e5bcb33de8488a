// Preemption in the middle of a grid, and grids of two channels side by side.
#include <doctest/doctest.h>

#include "tests/support/launch_bench.h"
#include "tests/support/sm_bench.h"

using namespace bench;
namespace code = test_support::code;

namespace {

constexpr u32 kPreempt = 0x2634, kRunlistPreempt = 0x2638, kSchedDisable = 0x2630, kPfifoIntr = 0x2100;
constexpr u32 kPending = 1u << 20, kTypeTsg = 1u << 24, kTsgPreemptComplete = 1u << 28;
constexpr u32 kEnableSet = 1u << 10, kEnableClear = 1u << 11;

// A kernel that counts in data[0] until nobody needs it any more.
struct CountingBench : LaunchBench {
    CountingBench() {
        program({code::mov_constant(2, 0, 0x160), code::mov_constant(3, 0, 0x164), code::mov(5, 0), code::iadd(5, 5, 1),
                 code::stg(2, 5), code::bra(-3)});
        write_qmd();
        gr.bench.submit(gr.channel, send());
        gr.bench.run(SimTime::from_us(300));
        REQUIRE(count() > 0);
    }
    u32 count() { return gr.bench.read32(data, 0); }
    // Whether the kernel counts within a time that is long beside a slice of a grid.
    bool counts() {
        const u32 before = count();
        gr.bench.run(SimTime::from_ms(3));
        return count() != before;
    }
    void write_channel(u32 value) { gr.bench.host.write(0x80'0004 + gr.channel.chid * 8, value); }
};

}  // namespace

TEST_CASE("preempting a group stops its grid between two instructions, and enabling its channel lets it go on") {
    CountingBench bench;
    bench.write_channel(kEnableClear);
    bench.gr.bench.host.write(kPreempt, bench.gr.channel.options.tsgid | kTypeTsg);
    CHECK((bench.gr.bench.host.read(kPreempt) & kPending) != 0);
    bench.gr.bench.run(SimTime::from_us(50));
    CHECK((bench.gr.bench.host.read(kPreempt) & kPending) == 0);
    CHECK((bench.gr.bench.host.read(kPfifoIntr) & kTsgPreemptComplete) != 0);
    CHECK_FALSE(bench.counts());
    CHECK_FALSE(bench.gr.bench.compute->idle(bench.gr.channel.chid));
    CHECK(bench.gr.bench.compute->preempted(bench.gr.channel.chid));
    bench.write_channel(kEnableSet);
    CHECK(bench.counts());
    CHECK_FALSE(bench.gr.bench.compute->preempted(bench.gr.channel.chid));
}

TEST_CASE("an enabled channel that is preempted goes on as soon as the preemption is complete") {
    CountingBench bench;
    bench.gr.bench.host.write(kPreempt, bench.gr.channel.options.tsgid | kTypeTsg);
    bench.gr.bench.run(SimTime::from_us(50));
    CHECK((bench.gr.bench.host.read(kPreempt) & kPending) == 0);
    CHECK(bench.counts());
}

TEST_CASE("preempting a runlist that may not schedule stops its grids until it may") {
    CountingBench bench;
    bench.gr.bench.host.write(kSchedDisable, 1);
    bench.gr.bench.host.write(kRunlistPreempt, 1);
    bench.gr.bench.run(SimTime::from_us(50));
    CHECK(bench.gr.bench.host.read(kRunlistPreempt) == 0);
    CHECK_FALSE(bench.counts());
    bench.gr.bench.host.write(kSchedDisable, 0);
    CHECK(bench.counts());
}

TEST_CASE("a preempted grid loses nothing: its threads all finish") {
    LaunchBench bench;
    bench.store_program();
    bench.set_grid(64, 32);
    bench.set_release(bench.data.va + 8000, 9, true);
    bench.write_qmd();
    bench.gr.bench.submit(bench.gr.channel, bench.send());
    for (int round = 0; round < 20; ++round) {
        bench.gr.bench.run(SimTime::from_ns(700));
        bench.gr.bench.host.write(kPreempt, bench.gr.channel.options.tsgid | kTypeTsg);
    }
    bench.gr.bench.run();
    CHECK(bench.gr.bench.errors.empty());
    CHECK(bench.gr.bench.read32(bench.data, 8000) == 9);
    for (u32 thread = 0; thread < 1800; ++thread)
        REQUIRE(bench.gr.bench.read32(bench.data, 4 * thread) == thread % 32 + 7);
}

TEST_CASE("a channel that is unbound while its grid is preempted leaves nothing behind") {
    CountingBench bench;
    bench.write_channel(kEnableClear);
    bench.gr.bench.host.write(kPreempt, bench.gr.channel.options.tsgid | kTypeTsg);
    bench.gr.bench.run(SimTime::from_us(50));
    bench.gr.bench.host.write(0x80'0000 + bench.gr.channel.chid * 8, 0);
    CHECK(bench.gr.bench.compute->idle(bench.gr.channel.chid));
    CHECK_FALSE(bench.counts());
}

TEST_CASE("kernels of two channels that wait for each other both finish") {
    LaunchBench bench;
    BenchChannel& other = bench.gr.add({});
    bench.gr.bench.submit_runlist(0);
    // Stores 1 at c[0x170], then waits until the word at c[0x178] is not zero.
    bench.program({code::mov_constant(2, 0, 0x170), code::mov_constant(3, 0, 0x174), code::mov(5, 1), code::stg(2, 5),
                   code::mov_constant(6, 0, 0x178), code::mov_constant(7, 0, 0x17c), code::ldg(4, 6),
                   code::isetp(0, 4, 2, 0), code::bra(-3).guard(0), code::exit()});
    const u64 flags[] = {bench.data.va + 64, bench.data.va + 128};
    const auto constants = bench.gr.bench.make_buffer(4096);
    const auto set_flags = [&](const ChipBench::Buffer& to, u64 own, u64 foreign) {
        bench.gr.bench.write32(to, 0x170, lo(own));
        bench.gr.bench.write32(to, 0x174, hi(own));
        bench.gr.bench.write32(to, 0x178, lo(foreign));
        bench.gr.bench.write32(to, 0x17c, hi(foreign));
    };
    set_flags(bench.constants, flags[0], flags[1]);
    set_flags(constants, flags[1], flags[0]);
    bench.set_release(bench.data.va + 4096, 1, true);
    bench.write_qmd();
    bench.set_release(bench.data.va + 4160, 2, true);
    bench.qmd.set(QmdField::CONSTANT_BUFFER_ADDR_LOWER, lo(constants.va), 0);
    bench.qmd.set(QmdField::CONSTANT_BUFFER_ADDR_UPPER, hi(constants.va), 0);
    for (u32 i = 0; i < Qmd::kWords; ++i) bench.gr.bench.write32(bench.qmd_memory, 512 + 4 * i, bench.qmd.words[i]);
    bench.gr.bench.submit(bench.gr.channel, bench.send());
    bench.gr.bench.submit(other, LaunchBench::windows() +
                                     inc(1, nvc5c0::SEND_PCAS_A, {static_cast<u32>((bench.qmd_memory.va + 512) >> 8)}) +
                                     inc(1, nvc5c0::SEND_SIGNALING_PCAS_B, {3}));
    bench.gr.bench.run(SimTime::from_ms(20));
    CHECK(bench.gr.bench.errors.empty());
    CHECK(bench.gr.bench.read32(bench.data, 4096) == 1);
    CHECK(bench.gr.bench.read32(bench.data, 4160) == 2);
}
