// Save and load of the host engine and its engines in the middle of everything, reset, and orders that seeds choose.
#include <doctest/doctest.h>

#include <algorithm>

#include "sim/state_visitors.h"
#include "tests/support/chip_bench.h"
#include "tests/support/seeds.h"

using namespace bench;
using namespace gpu;

namespace {

constexpr u32 kScratch = nvc5c0::SET_MME_SHADOW_SCRATCH;
constexpr u32 kRelease = nvc46f::SEM_EXECUTE_OPERATION_RELEASE;
constexpr u32 kPlainCopy = 1 | 1u << 7 | 1u << 8;

std::vector<u32> copy_words(u64 src, u64 dst, u32 bytes) {
    return inc(4, nvc5b5::OFFSET_IN_UPPER,
               {static_cast<u32>(src >> 32), static_cast<u32>(src), static_cast<u32>(dst >> 32),
                static_cast<u32>(dst)}) +
           inc(4, nvc5b5::LINE_LENGTH_IN, {bytes}) + inc(4, nvc5b5::LAUNCH_DMA, {kPlainCopy});
}

std::vector<u8> saved(ChipBench& bench) {
    sim::SaveVisitor visitor;
    bench.visit(visitor);
    return visitor.saved();
}

// A copy, an acquire that it ends, a second group, a doorbell on its way and an error.
struct Scene {
    ChipBench bench;
    BenchChannel& copier = bench.add_channel({.runlist = 1});
    BenchChannel& waiter = bench.add_channel({.runlist = 0});
    BenchChannel& worker = bench.add_channel({.runlist = 0});
    BenchChannel& broken = bench.add_channel({.runlist = 2});
    ChipBench::Buffer src = bench.make_buffer(4 << 20);
    ChipBench::Buffer dst = bench.make_buffer(4 << 20);
    ChipBench::Buffer sem = bench.make_buffer(4096);

    explicit Scene(u64 seed = 0) : bench(seed) {
        for (u32 runlist : {0u, 1u, 2u}) bench.submit_runlist(runlist);
    }
    void start() {
        bench.write32(src, 1234, 0xFEED);
        bench.submit(copier, copy_words(src.va, dst.va, 4 << 20) + semaphore(sem.va, 3, kRelease | 1u << 20));
        bench.submit(waiter, semaphore(sem.va, 3, 0) + inc(1, kScratch, {5}));
        bench.submit(worker, non_inc(1, kScratch, std::vector<u32>(8000, 6)));
        bench.submit(broken, inc(4, nvc46f::ILLEGAL, {0}));
    }
};

}  // namespace

TEST_CASE("a run saved anywhere goes on the same in a fresh machine") {
    for (u64 at_ns : {u64{100}, u64{2'600}, u64{9'000}, u64{40'000}, u64{200'000}}) {
        CAPTURE(at_ns);
        Scene first;
        first.start();
        first.bench.run(SimTime::from_ns(at_ns));
        std::vector<u8> image = saved(first.bench);
        ChipBench second;
        sim::LoadVisitor loader(image);
        second.visit(loader);
        loader.finish();
        REQUIRE_MESSAGE(loader.error().empty(), loader.error());
        CHECK(saved(second) == image);
        first.bench.run();
        second.run();
        CHECK(saved(second) == saved(first.bench));
        CHECK(second.kernel.journal().chain() == first.bench.kernel.journal().chain());
        CHECK(first.bench.read32(first.dst, 1234) == 0xFEED);
        CHECK(first.bench.compute->state(first.waiter.chid, kScratch) == 5);
        CHECK(first.bench.errors.size() == 1);
    }
}

TEST_CASE("the same machine and input give the same journal; a change is seen") {
    Scene first, second;
    first.start();
    second.start();
    first.bench.run();
    second.bench.run();
    CHECK(first.bench.kernel.journal().chain() == second.bench.kernel.journal().chain());
    CHECK(saved(first.bench) == saved(second.bench));
    second.bench.submit(second.worker, inc(1, kScratch, {7}));
    second.bench.run();
    CHECK(saved(first.bench) != saved(second.bench));
}

TEST_CASE("a damaged state is refused, not trusted") {
    Scene scene;
    scene.start();
    scene.bench.run(SimTime::from_us(9));
    sim::SaveVisitor visitor;
    scene.bench.host.visit(visitor);
    std::vector<u8> image = visitor.saved();
    sim::RandomStream random(5, "tests", "damage");
    u32 refused = 0;
    for (int round = 0; round < 300; ++round) {
        std::vector<u8> damaged = image;
        for (u64 i = 0; i <= random.below(3); ++i)
            damaged[random.below(damaged.size())] = static_cast<u8>(random.next());
        Scene other;
        sim::LoadVisitor loader(damaged);
        other.bench.host.visit(loader);
        loader.finish();
        if (!loader.error().empty()) ++refused;
        other.bench.run(SimTime::from_us(200));
    }
    CHECK(refused > 50);
}

TEST_CASE("reset in mid-flight leaves nothing open") {
    Scene scene;
    scene.start();
    scene.bench.run(SimTime::from_us(9));
    scene.bench.host.reset();
    for (std::unique_ptr<Engine>& engine : scene.bench.engines) engine->reset();
    sim::SaveVisitor after, fresh;
    scene.bench.run();
    scene.bench.host.visit(after);
    ChipBench clean;
    clean.host.reset();
    clean.host.visit(fresh);
    CHECK(after.saved() == fresh.saved());
    CHECK(scene.bench.kernel.events().empty());
}

TEST_CASE("P14: a channel number used again runs its first submit exactly once, whatever the order") {
    for (u64 seed = 0; seed < test_support::seed_count(60); ++seed) {
        CAPTURE(seed);
        ChipBench bench(seed);
        sim::RandomStream random(seed, "tests", "reuse");
        BenchChannel& channel = bench.add_channel({.runlist = 0});
        ChipBench::Buffer counter = bench.make_buffer(4096);
        bench.submit_runlist(0);
        constexpr u32 kAddOne = nvc46f::SEM_EXECUTE_OPERATION_REDUCTION | 5u << 27 | 1u << 31;
        bench.submit(channel, semaphore(counter.va, 1, kAddOne));
        if (random.chance(1, 2)) bench.ring_doorbell(channel);  // one more than needed, perhaps late
        bench.run(SimTime::from_us(random.below(12)));
        // Free: disable, preempt, unbind. Then the same number with a fresh ring whose first GP_PUT is the old one.
        u32 ccsr = 0x800000 + channel.chid * 8;
        bench.host.write(ccsr + 4, 1u << 11);
        bench.host.write(0x2634, channel.options.tsgid | 1u << 24);
        while ((bench.host.read(0x2634) >> 20 & 1) != 0) REQUIRE(bench.kernel.events().run_one());
        u32 before = bench.read32(counter, 0);
        CHECK(before <= 1);
        bench.host.write(ccsr, 0);
        CHECK(bench.host.read(ccsr) == 0);
        for (u32 word : {ramfc::GP_PUT, ramfc::GP_GET, ramfc::GP_FETCH, ramfc::PB_GET, ramfc::PB_GET_HI, ramfc::PB_PUT,
                         ramfc::PB_PUT_HI, ramfc::PB_COUNT}) {
            bench.vram.write_u32(channel.instance + word * 4, 0);
        }
        channel.gp_put = 0;
        bench.vram.write_u32(channel.userd + ramuserd::GP_PUT, 0);
        bench.vram.write_u32(channel.userd + ramuserd::GP_GET, 0);
        bench.host.write(ccsr, 1u << 31 | static_cast<u32>(channel.instance >> 12));
        bench.host.write(ccsr + 4, 1u << 10);
        bench.submit(channel, semaphore(counter.va, 1, kAddOne));
        bench.run();
        CHECK(bench.read32(counter, 0) == before + 1);
        CHECK(bench.errors.empty());
    }
}

TEST_CASE("final memory does not depend on the seed when the work is ordered by semaphores") {
    sim::Digest128 expected;
    for (u64 seed = 0; seed < 12; ++seed) {
        Scene scene(seed);
        scene.start();
        scene.bench.run();
        CHECK(scene.bench.read32(scene.dst, 1234) == 0xFEED);
        CHECK(scene.bench.compute->state(scene.waiter.chid, kScratch) == 5);
        sim::Digest128 copied = sim::digest_bytes(scene.bench.read(scene.dst, 0, 4 << 20));
        if (seed == 0) expected = copied;
        CHECK(copied == expected);
    }
}
