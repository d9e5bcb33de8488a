// Methods of the compute class that order, check and tell: conditions for launches, invalidations, sequences, versions,
// notifications.
#include <doctest/doctest.h>

#include "gpu_model/regs/regs.h"
#include "tests/support/launch_bench.h"

using namespace bench;
using namespace nvc5c0;
namespace code = test_support::code;

namespace {

constexpr u32 kEndlessRounds = 100'000;

// A kernel that is busy for a while and then stores.
void slow_program(LaunchBench& bench) {
    bench.program({code::mov(6, kEndlessRounds), code::iadd(6, 6, 0xffff'ffff), code::isetp(0, 6, 5, 0),
                   code::bra(-3).guard(0), code::s2r(0, kTidX), code::mov_constant(2, 0, 0x160),
                   code::mov_constant(3, 0, 0x164), code::iadd(5, 0, 7), code::stg(2, 5, 4 * 31), code::exit()});
    bench.write_qmd();
}

void submit(LaunchBench& bench, const std::vector<u32>& words) {
    bench.gr.bench.submit(bench.gr.channel, words);
    bench.gr.bench.run(SimTime::from_ms(20));
}

// A report that does not wait by itself, with the time: it tells when the method before it was over.
std::vector<u32> report(u64 va) {
    constexpr u32 flush_disable = 1 << 2;
    return inc(1, SET_REPORT_SEMAPHORE_A, {hi(va), lo(va), 1, flush_disable});
}

}  // namespace

TEST_CASE("launches need both conditions, unless the override says always or never") {
    struct Row {
        u32 local, global, override_mode;
        bool launches;
    };
    constexpr Row rows[] = {{1, 1, 0, true},  {0, 1, 0, false}, {1, 0, 0, false},
                            {0, 0, 1, true}, {1, 1, 2, false}, {0, 1, 1, true}};
    for (const Row& row : rows) {
        CAPTURE(row.local);
        CAPTURE(row.global);
        CAPTURE(row.override_mode);
        LaunchBench bench;
        bench.store_program();
        bench.write_qmd();
        submit(bench, inc(1, SET_RENDER_ENABLE_C, {row.local}) + inc(1, SET_GLOBAL_RENDER_ENABLE_C, {row.global}) +
                          inc(1, SET_RENDER_ENABLE_OVERRIDE, {row.override_mode}) + bench.send());
        CHECK(bench.gr.bench.errors.empty());
        CHECK(bench.stored() == row.launches);
    }
    LaunchBench bench;
    bench.store_program();
    bench.write_qmd();
    submit(bench, inc(1, SET_RENDER_ENABLE_OVERRIDE, {3}) + bench.send());
    REQUIRE(bench.gr.bench.errors.size() == 1);
    CHECK(bench.gr.bench.errors[0].info2 == gpu::class_error::INVALID_ENUM);
}

TEST_CASE("invalidations wait for the grids before them, and those named NO_WFI do not") {
    struct Row {
        u32 method;
        bool waits;
    };
    constexpr Row rows[] = {{INVALIDATE_SHADER_CACHES, true},
                            {INVALIDATE_SHADER_CACHES_NO_WFI, false},
                            {INVALIDATE_SAMPLER_CACHE, true},
                            {INVALIDATE_SAMPLER_CACHE_NO_WFI, false},
                            {INVALIDATE_TEXTURE_HEADER_CACHE, true},
                            {INVALIDATE_TEXTURE_HEADER_CACHE_NO_WFI, false},
                            {INVALIDATE_TEXTURE_DATA_CACHE, true},
                            {INVALIDATE_TEXTURE_DATA_CACHE_NO_WFI, false},
                            {PM_TRIGGER_WFI, true},
                            {PM_TRIGGER, false}};
    for (const Row& row : rows) {
        CAPTURE(row.method);
        LaunchBench bench;
        slow_program(bench);
        bench.set_release(bench.data.va + 4096, 1, false);
        bench.write_qmd();
        submit(bench, bench.send() + inc(1, row.method, {1}) + report(bench.data.va + 4160));
        CHECK(bench.gr.bench.errors.empty());
        const u64 kernel_end = bench.gr.bench.read64(bench.data, 4096 + 8);
        const u64 reported = bench.gr.bench.read64(bench.data, 4160 + 8);
        REQUIRE(kernel_end != 0);
        REQUIRE(reported != 0);
        CHECK((reported >= kernel_end) == row.waits);
    }
}

TEST_CASE("atomic sequences begin before they end, and do not nest") {
    const auto errors_of = [](const std::vector<u32>& words) {
        LaunchBench bench;
        submit(bench, words);
        return bench.gr.bench.errors;
    };
    const auto begin = inc(1, FE_ATOMIC_SEQUENCE_BEGIN, {0}), end = inc(1, FE_ATOMIC_SEQUENCE_END, {0});
    CHECK(errors_of(begin + end + begin + end).empty());
    for (const auto& words : {end, begin + begin}) {
        const auto errors = errors_of(words);
        REQUIRE(errors.size() == 1);
        CHECK(errors[0].address == gpu::regs::NV_PGRAPH_PRI_FE_HWW_ESR);
        CHECK((errors[0].info2 & gpu::regs::NV_PGRAPH_PRI_FE_HWW_ESR_ILLEGAL_FE_ATOMIC_SEQ::make(1)) != 0);
    }
}

TEST_CASE("a version check compares what each side speaks and still takes") {
    const auto version = [](u32 current, u32 oldest) { return current | oldest << 16; };
    struct Row {
        u32 set, check;
        bool fits;
    };
    const Row rows[] = {{version(2, 1), version(2, 1), true},
                        {version(3, 2), version(2, 1), true},
                        {version(3, 3), version(2, 1), false},
                        {version(2, 1), version(4, 3), false},
                        {0, version(4, 3), true}};
    for (const auto& [set_method, check_method] :
         {std::pair{SET_QMD_VERSION, CHECK_QMD_VERSION}, std::pair{SET_COMPUTE_CLASS_VERSION, CHECK_COMPUTE_CLASS_VERSION}}) {
        for (const Row& row : rows) {
            LaunchBench bench;
            const auto set = row.set == 0 ? std::vector<u32>{} : inc(1, set_method, {row.set});
            submit(bench, set + inc(1, check_method, {row.check}));
            CHECK(bench.gr.bench.errors.empty() == row.fits);
            if (!row.fits && !bench.gr.bench.errors.empty())
                CHECK(bench.gr.bench.errors[0].info2 == gpu::class_error::INVALID_VALUE);
        }
    }
}

TEST_CASE("NOTIFY writes its record when the work before it is over") {
    LaunchBench bench;
    slow_program(bench);
    bench.set_release(bench.data.va + 4096, 1, false);
    bench.write_qmd();
    const u64 va = bench.data.va + 4160;
    bench.gr.bench.write32(bench.data, 4160 + 12, 0xffff'ffff);
    submit(bench, bench.send() + inc(1, SET_NOTIFY_A, {hi(va), lo(va), NOTIFY_TYPE_WRITE_ONLY}));
    CHECK(bench.gr.bench.errors.empty());
    CHECK(bench.gr.bench.read64(bench.data, 4160) >= bench.gr.bench.read64(bench.data, 4096 + 8));
    CHECK(bench.gr.bench.read32(bench.data, 4160 + 12) == 0);
    SUBCASE("an unknown type") {
        submit(bench, inc(1, NOTIFY, {2}));
        REQUIRE(bench.gr.bench.errors.size() == 1);
        CHECK(bench.gr.bench.errors[0].info2 == gpu::class_error::INVALID_ENUM);
    }
    SUBCASE("an address that is not aligned") {
        submit(bench, inc(1, SET_NOTIFY_B, {lo(va) + 4, NOTIFY_TYPE_WRITE_ONLY}));
        REQUIRE(bench.gr.bench.errors.size() == 1);
        CHECK(bench.gr.bench.errors[0].info2 == gpu::class_error::INVALID_ALIGNMENT);
    }
    SUBCASE("an address that nobody has mapped") {
        submit(bench, inc(1, SET_NOTIFY_A, {0xff, 0, NOTIFY_TYPE_WRITE_ONLY}));
        REQUIRE(bench.gr.bench.errors.size() == 1);
        CHECK(bench.gr.bench.errors[0].source == gpu::ChipError::Source::MmuFault);
    }
}

namespace {

bool has_effect(u32 method) {
#define EFFECT(name, effect) \
    if (method == name) return true;
#include "gpu_model/engine/compute/effects.def"
#undef EFFECT
    return method == SET_OBJECT;
}

}  // namespace

TEST_CASE("every method of the class is state, or has an effect by its row") {
    LaunchBench bench;
    u32 states = 0, effects = 0;
    for (const MethodDef& row : find_method_table(gpu::cls::TURING_COMPUTE_A)->rows()) {
        if (row.kind != MethodDef::Kind::Method) continue;
        if (has_effect(row.first)) {
            ++effects;
            continue;
        }
        ++states;
        CAPTURE(row.first);
        for (u32 i = 0; i < row.second; ++i) {
            const u32 method = row.element(i), value = 0x0101'0001 * (i + 1);
            bench.gr.bench.submit(bench.gr.channel, inc(1, method, {value}));
            bench.gr.bench.run(SimTime::from_us(50));
            REQUIRE(bench.gr.state(method) == value);
        }
    }
    CHECK(bench.gr.bench.errors.empty());
    CHECK(bench.gr.bench.kernel.unmodelled().entries().empty());
    CHECK(states > 100);
    CHECK(effects > 20);
}

TEST_CASE("a grid takes the cycles of its instructions on the SMs' clock, and no time to speak of without timing") {
    const auto end_ns = [](u32 rounds, bool timing) {
        LaunchBench bench(timing);
        bench.program({code::mov(6, rounds), code::iadd(6, 6, 0xffff'ffff), code::isetp(0, 6, 5, 0), code::bra(-3).guard(0),
                       code::exit()});
        bench.set_release(bench.data.va + 4096, 1, false);
        bench.write_qmd();
        submit(bench, bench.send());
        return bench.gr.bench.read64(bench.data, 4096 + 8);
    };
    // Two cycles each for IADD3 and ISETP, nine for the branch taken; 1.59 GHz; the clock counts 32 ns.
    constexpr u64 rounds = 10'000, cycles = 13, khz = 1'590'000, tolerance_ns = 64;
    const u64 expected = rounds * cycles * 1'000'000 / khz;
    const u64 took = end_ns(11'000, true) - end_ns(1'000, true);
    CHECK(took >= expected - tolerance_ns);
    CHECK(took <= expected + tolerance_ns);
    CHECK(end_ns(11'000, false) - end_ns(1'000, false) <= 32);
}
