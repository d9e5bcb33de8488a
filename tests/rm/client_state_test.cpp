// The driver's state: what is saved between two calls goes on the same in another machine; damage is refused.
#include "sim/rng.h"
#include "sim/state_visitors.h"
#include "tests/support/machine_fixture.h"

namespace abi = test::abi;
using namespace sim;
using Fixture = test::MachineFixture;

namespace {

std::vector<u8> save(Fixture& bench) {
    sim::SaveVisitor visitor;
    bench.machine.visit(visitor);
    return visitor.saved();
}

// A little of everything that has state.
void first_half(Fixture& bench) {
    bench.bring_up();
    abi::NV_MEMORY_ALLOCATION_PARAMS memory{};
    memory.size = 0x30000;
    REQUIRE(bench.alloc_with(Fixture::kDevice, 0x40, abi::NV01_MEMORY_LOCAL_USER, memory) == abi::NV_OK);
    abi::NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS range{};
    REQUIRE(bench.alloc_with(Fixture::kDevice, 0x70, abi::NV01_MEMORY_VIRTUAL, range) == abi::NV_OK);
    abi::NVOS46_PARAMETERS map{};
    map.hClient = bench.client;
    map.hDevice = Fixture::kDevice;
    map.hDma = 0x70;
    map.hMemory = 0x40;
    map.length = 0x30000;
    REQUIRE(bench.escape(bench.control_fd, abi::NV_ESC_RM_MAP_MEMORY_DMA, map) == 0);
    REQUIRE(map.status == abi::NV_OK);
    REQUIRE(bench.map_memory(Fixture::kDevice, 0x40, 0, 0x30000, 20, "/dev/nvidia0").error == 0);
    abi::nv_ioctl_alloc_os_event_t key{bench.client, Fixture::kDevice, 9, 0};
    REQUIRE(bench.escape(bench.gpu_fd, abi::NV_ESC_ALLOC_OS_EVENT, key) == 0);
    abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS group{};
    REQUIRE(bench.alloc_with(Fixture::kDevice, 0xA06C, abi::KEPLER_CHANNEL_GROUP_A, group) == abi::NV_OK);
    abi::NV_CHANNEL_ALLOC_PARAMS channel{};
    channel.gpFifoEntries = 32;
    REQUIRE(bench.alloc_with(0xA06C, 0xC46F, abi::TURING_CHANNEL_GPFIFO_A, channel) == abi::NV_OK);
}

void second_half(Fixture& bench) {
    abi::NV_GR_ALLOCATION_PARAMETERS gr{};
    CHECK(bench.alloc_with(0xC46F, 0xC5C0, abi::TURING_COMPUTE_A, gr) == abi::NV_OK);
    CHECK(bench.free(0x40) == abi::NV_OK);
    CHECK(bench.free(Fixture::kDevice) == abi::NV_OK);
    CHECK(bench.driver().close(bench.caller, 20) == 0);
    CHECK(bench.driver().close(bench.caller, bench.gpu_fd) == 0);
    CHECK(bench.driver().close(bench.caller, bench.control_fd) == 0);
}

}  // namespace

TEST_CASE("saved with objects alive, loaded into a fresh machine, both go on and end alike") {
    Fixture first;
    first.run([&] { first_half(first); });
    std::vector<u8> saved = save(first);

    Fixture second;
    sim::LoadVisitor load(saved);
    second.machine.visit(load);
    load.finish();
    REQUIRE(load.error() == "");
    CHECK(save(second) == saved);
    second.client = first.client;
    first.run([&] { second_half(first); });
    second.run([&] { second_half(second); });
    CHECK(first.machine.summary().line() == second.machine.summary().line());
    CHECK(save(first) == save(second));
    CHECK(first.notes == second.notes);
}

TEST_CASE("a damaged driver state is refused or harmless") {
    Fixture first;
    first.run([&] { first_half(first); });
    std::vector<u8> saved = save(first);
    sim::RandomStream random(3, "test.client_state", "damage");
    Fixture second;
    u32 refused = 0;
    constexpr u32 kRounds = 40;
    for (u32 i = 0; i < kRounds; ++i) {
        std::vector<u8> damaged(saved.begin(), saved.begin() + static_cast<std::ptrdiff_t>(random.below(saved.size())));
        sim::LoadVisitor load(damaged);
        second.machine.visit(load);
        load.finish();
        if (!load.error().empty()) ++refused;
    }
    CHECK(refused == kRounds);  // every cut is noticed
}
