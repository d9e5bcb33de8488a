// The firmware's state: what is saved in the middle of a request goes on the same in another machine; a change shows.
#include <doctest/doctest.h>

#include "sim/state_visitors.h"
#include "tests/rm/gsp_fixture.h"

using namespace test;

namespace {

constexpr u32 kClient = 0xC1D00001, kDevice = 0x80, kSubdevice = 0x2080;

void visit_all(Bench& bench, sim::StateVisitor& visitor) {
    bench.kernel.visit(visitor);
    bench.gsp->visit(visitor);
    bench.bus.system.visit(visitor);
    bench.bus.fb.visit(visitor);
}

std::vector<u8> save(Bench& bench) {
    sim::SaveVisitor visitor;
    visit_all(bench, visitor);
    return visitor.saved();
}

}  // namespace

TEST_CASE("saved in the middle of a large request, loaded elsewhere, both end alike") {
    Bench first;
    REQUIRE(first.boot());
    first.make_client(kClient, kDevice, kSubdevice);
    abi::NV_VASPACE_ALLOCATION_PARAMETERS space{};
    REQUIRE(first.alloc(kClient, kDevice, 0x90F1, abi::FERMI_VASPACE_A, space) == abi::NV_OK);
    abi::rpc_gsp_rm_control_v03_00 control{};
    control.hClient = kClient;
    control.hObject = kSubdevice;
    control.cmd = 0x2080FFFF;
    control.paramsSize = 150'000;
    std::vector<u8> payload(sizeof(control) + control.paramsSize, 0x5A);
    abi::store(std::span<u8>(payload), control);
    REQUIRE(first.send(abi::NV_VGPU_MSG_FUNCTION_GSP_RM_CONTROL, payload) == msgq::Outcome::Ok);
    first.run(SimTime::from_us(3));  // the first record is taken, the others wait

    std::vector<u8> saved = save(first);
    Bench second;
    sim::LoadVisitor load(saved);
    visit_all(second, load);
    load.finish();
    CHECK(load.error() == "");
    CHECK(save(second) == saved);

    first.run(SimTime::from_ms(1));
    CHECK(save(first) != saved);
    second.run(SimTime::from_ms(1));
    CHECK(save(second) == save(first));
    CHECK(second.kernel.journal().chain() == first.kernel.journal().chain());
    CHECK(second.bus.interrupts == 1);
}

TEST_CASE("the same calls give the same journal") {
    auto chain = [] {
        Bench bench;
        REQUIRE(bench.boot());
        bench.make_client(kClient, kDevice, kSubdevice);
        bench.free(kClient, kClient);
        return bench.kernel.journal().chain();
    };
    CHECK(chain() == chain());
}

TEST_CASE("damaged saved state is refused, never believed") {
    Bench first;
    REQUIRE(first.boot());
    std::vector<u8> saved;
    {
        sim::SaveVisitor visitor;
        first.gsp->visit(visitor);
        saved = visitor.saved();
    }
    for (std::size_t cut = 0; cut < saved.size(); cut += 37) {
        Bench second;
        sim::LoadVisitor load(std::span<const u8>(saved).first(cut));
        second.gsp->visit(load);
        load.finish();
        CHECK(!load.error().empty());
    }
}
