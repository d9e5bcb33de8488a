// PTIMER: steps of 32 ns, copies agree, software sets it, the alarm.
#include "gpu_model/time/ptimer.h"

#include <doctest/doctest.h>

#include "gpu_model/time/timing_params.h"
#include "tests/support/gpu_fixture.h"

using namespace test;

namespace {

u64 time_of(GpuFixture& f, u32 low = 0x9400, u32 high = 0x9410) { return u64{f.reg(high)} << 32 | f.reg(low); }

}  // namespace

TEST_CASE("ptimer: monotone, in steps of 32 ns, the same in every copy") {
    GpuFixture f;
    f.enable();
    u64 last = 0;
    for (u64 ps = 0; ps < 10'000'000'000'000; ps += 123'456'789'012) {
        f.kernel.events().advance_to(sim::SimTime{ps});
        u64 now = time_of(f);
        CHECK(now == ps / 1000 / 32 * 32);
        CHECK(now >= last);
        CHECK(time_of(f, 0xBB0080, 0xBB0084) == now);
        CHECK(time_of(f, 0x810080, 0x810084) == now);
        CHECK(f.units().ptimer.timestamp_ns() == now);
        last = now;
    }
}

TEST_CASE("ptimer: software sets it, high word then low") {
    GpuFixture f;
    f.enable();
    f.kernel.events().advance_to(sim::SimTime::from_ms(5));
    f.set_reg(0x9410, 0x12345);
    f.set_reg(0x9400, 0xFFFFFFFF);
    CHECK(time_of(f) == 0x12345FFFFFFE0);
    f.kernel.events().advance_to(sim::SimTime::from_ms(5) + sim::SimTime::from_ns(64));
    CHECK(time_of(f) == 0x1234600000000 + 0x20);
    f.gpu.reset();
    f.enable();
    CHECK(time_of(f) == 5'000'064);
}

TEST_CASE("ptimer: an armed alarm raises vector 148 once") {
    GpuFixture f;
    f.enable();
    f.set_reg(0x9100, 1);  // pending at reset, says the manual
    CHECK(f.reg(0x9100) == 0);
    f.set_reg(0x9420, 1'000'000);
    f.run();
    CHECK(f.reg(0x9100) == 0);
    f.set_reg(0x9140, 1);
    f.set_reg(0x9420, 2'000'000);
    f.run();
    CHECK(f.kernel.now() == sim::SimTime::from_ns(2'000'000 / 32 * 32));
    CHECK(f.reg(0x9100) == 1);
    CHECK(f.reg(0xB81010) == u32{1} << 20);
}

TEST_CASE("timing: every parameter has a class and a value, and transfer times neither overflow nor round down") {
    for (const gpu::TimingRow& row : gpu::timing_rows()) {
        CHECK((row.evidence >= 'A' && row.evidence <= 'C'));
        for (std::string_view chip : gpu::chip_names()) CHECK(gpu::timing_for(chip).*row.member > 0);
    }
    CHECK(gpu::transfer_time(12'000, 12'000).ps == 1'000'000);
    CHECK(gpu::transfer_time(1, 12'000).ps == 84);
    CHECK(gpu::transfer_time(u64{1} << 40, 1).us() == u64{1} << 40);
}
