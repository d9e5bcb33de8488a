// Dependent QMDs: the grid that a finished grid's QMD names.
#include <doctest/doctest.h>

#include "gpu_model/regs/regs.h"
#include "tests/support/launch_bench.h"

using namespace bench;

namespace {

using enum QmdField;

constexpr u64 kFirstRelease = 4096, kSecondRelease = 4160, kThirdRelease = 4224;

// A bench whose page of QMDs holds several, 256 bytes each.
struct DependentBench : LaunchBench {
    DependentBench() { store_program(); }

    // The bench's QMD with another release, at place `index`; `next`: the place of its dependent.
    Qmd& make(u32 index, u64 release, std::optional<u32> next) {
        made[index] = qmd;
        Qmd& made_qmd = made[index];
        made_qmd.set(SEMAPHORE_RELEASE_ENABLE0, 1);
        made_qmd.set(RELEASE0_ADDRESS_LOWER, lo(data.va + release));
        made_qmd.set(RELEASE0_ADDRESS_UPPER, hi(data.va + release));
        made_qmd.set(RELEASE0_PAYLOAD, index + 1);
        if (next) point_at(made_qmd, qmd_memory.va + u64{*next} * Qmd::kBytes);
        return made_qmd;
    }
    static void point_at(Qmd& from, u64 va) {
        from.set(DEPENDENT_QMD_SCHEDULE_ENABLE, 1);
        from.set(DEPENDENT_QMD_TYPE, 1);
        from.set(DEPENDENT_QMD_POINTER, static_cast<u32>(va >> 8));
    }
    void start() {
        for (u32 index = 0; index < made.size(); ++index) {
            for (u32 i = 0; i < Qmd::kWords; ++i)
                gr.bench.write32(qmd_memory, u64{index} * Qmd::kBytes + u64{4} * i, made[index].words[i]);
        }
        gr.bench.submit(gr.channel, send());
    }
    u32 released(u64 at) { return gr.bench.read32(data, at); }
    u64 released_at(u64 at) { return gr.bench.read64(data, at + 8); }

    std::array<Qmd, 3> made{};
};

}  // namespace

TEST_CASE("a chain of dependent QMDs runs in order, each with its own release") {
    DependentBench bench;
    bench.make(0, kFirstRelease, 1);
    bench.make(1, kSecondRelease, 2);
    bench.make(2, kThirdRelease, std::nullopt);
    bench.start();
    bench.gr.bench.run();
    CHECK(bench.gr.bench.errors.empty());
    CHECK(bench.stored());
    CHECK(bench.released(kFirstRelease) == 1);
    CHECK(bench.released(kSecondRelease) == 2);
    CHECK(bench.released(kThirdRelease) == 3);
    CHECK(bench.released_at(kFirstRelease) < bench.released_at(kSecondRelease));
    CHECK(bench.released_at(kSecondRelease) < bench.released_at(kThirdRelease));
    CHECK(bench.gr.bench.compute->idle(bench.gr.channel.chid));
}

TEST_CASE("a dependent QMD runs before the launch that its channel has queued") {
    DependentBench bench;
    bench.make(0, kFirstRelease, 1);
    bench.make(1, kSecondRelease, std::nullopt);
    bench.make(2, kThirdRelease, std::nullopt);
    bench.start();
    bench.gr.bench.submit(bench.gr.channel, inc(1, nvc5c0::SEND_PCAS_A,
                                                {static_cast<u32>((bench.qmd_memory.va + 2 * Qmd::kBytes) >> 8)}) +
                                                inc(1, nvc5c0::SEND_SIGNALING_PCAS_B, {3}));
    bench.gr.bench.run();
    CHECK(bench.gr.bench.errors.empty());
    CHECK(bench.released(kThirdRelease) == 3);
    CHECK(bench.released_at(kSecondRelease) < bench.released_at(kThirdRelease));
}

TEST_CASE("what is wrong with a dependent QMD ends the channel after the first grid's release") {
    DependentBench bench;
    bench.make(0, kFirstRelease, 1);
    SUBCASE("a field") {
        bench.make(1, kSecondRelease, std::nullopt).set(CTA_THREAD_DIMENSION0, 0);
        bench.start();
        bench.gr.bench.run();
        REQUIRE(bench.gr.bench.errors.size() == 1);
        CHECK(bench.gr.bench.errors[0].source == ChipError::Source::Gr);
        CHECK(gpu::regs::NV_PGRAPH_INTR_EXCEPTION::get(bench.gr.bench.errors[0].info) == 1);
        CHECK(bench.last_stop().find("CTA_THREAD_DIMENSION0") != std::string::npos);
    }
    SUBCASE("a queue in its place") {
        bench.make(1, kSecondRelease, std::nullopt).set(IS_QUEUE, 1);
        bench.start();
        bench.gr.bench.run();
        REQUIRE(bench.gr.bench.errors.size() == 1);
        CHECK(bench.last_stop() == "QMD IS_QUEUE = 0x1 is not modelled");
    }
    SUBCASE("the need of a scheduling PCAS of its own") {
        bench.make(1, kSecondRelease, std::nullopt).set(REQUIRE_SCHEDULING_PCAS, 1);
        bench.start();
        bench.gr.bench.run();
        REQUIRE(bench.gr.bench.errors.size() == 1);
        CHECK(bench.last_stop() == "QMD REQUIRE_SCHEDULING_PCAS = 0x1 is not modelled");
    }
    SUBCASE("no memory at its address") {
        DependentBench::point_at(bench.made[0], 0x1'0000);
        bench.start();
        bench.gr.bench.run();
        REQUIRE(bench.gr.bench.errors.size() == 1);
        CHECK(bench.gr.bench.errors[0].source == ChipError::Source::MmuFault);
        CHECK(bench.gr.bench.errors[0].address == 0x1'0000);
    }
    CHECK(bench.released(kFirstRelease) == 1);
    CHECK(bench.released(kSecondRelease) == 0);
    CHECK(bench.gr.bench.compute->idle(bench.gr.channel.chid));
}

TEST_CASE("a QMD that names a queue as its dependent is refused before it runs") {
    DependentBench bench;
    Qmd& first = bench.make(0, kFirstRelease, 1);
    bench.make(1, kSecondRelease, std::nullopt);
    SUBCASE("type QUEUE") {
        first.set(DEPENDENT_QMD_TYPE, 0);
    }
    SUBCASE("fields to copy") {
        first.set(DEPENDENT_QMD_FIELD_COPY, 1);
    }
    bench.start();
    bench.gr.bench.run();
    REQUIRE(bench.gr.bench.errors.size() == 1);
    CHECK(bench.last_stop().find("DEPENDENT_QMD") != std::string::npos);
    CHECK(bench.released(kFirstRelease) == 0);
}

TEST_CASE("a QMD that names itself goes round until its channel is taken away") {
    DependentBench bench;
    bench.make(0, kFirstRelease, 0);
    bench.start();
    bench.gr.bench.run(SimTime::from_us(2000));
    CHECK(bench.released(kFirstRelease) == 1);
    CHECK_FALSE(bench.gr.bench.compute->idle(bench.gr.channel.chid));
    const u64 once = bench.released_at(kFirstRelease);
    bench.gr.bench.run(SimTime::from_us(2000));
    CHECK(bench.released_at(kFirstRelease) > once);
}
