// Planned faults, each to its end: what the driver says and what the client sees when the hardware fails.
#include <fmt/format.h>

#include <algorithm>

#include "gpu_model/engine/method_table.h"
#include "guest_harness/fault_plan.h"
#include "rm/abi/xid.h"
#include "tests/support/channel_client.h"

using namespace test;

namespace {

constexpr u32 kCopy = abi::NV2080_ENGINE_TYPE_COPY0 + 2;

std::vector<u32> copy_words(u64 from, u64 to, u32 bytes) {
    auto hi = [](u64 offset) { return static_cast<u32>((ChannelClient::kDataVa + offset) >> 32); };
    auto lo = [](u64 offset) { return static_cast<u32>(ChannelClient::kDataVa + offset); };
    constexpr u32 kSubchannel = 4, kPlainPitch = 2 | 1u << 2 | 1u << 7 | 1u << 8;
    return {inc_header(kSubchannel, 0, 1),     abi::TURING_DMA_COPY_A, inc_header(kSubchannel, 0x400, 4), hi(from), lo(from),
            hi(to),  lo(to), inc_header(kSubchannel, 0x418, 1), bytes, inc_header(kSubchannel, 0x300, 1), kPlainPitch};
}

// A channel that copies, with the copy object that gives it a context.
ChannelClient::Channel add_copier(ChannelClient& client) {
    ChannelClient::Channel channel = client.add(kCopy);
    abi::NVB0B5_ALLOCATION_PARAMETERS copy{1, kCopy};
    REQUIRE(client.bench.alloc_with(channel.handle, channel.handle + 5, abi::TURING_DMA_COPY_A, copy) == abi::NV_OK);
    return channel;
}

}  // namespace

TEST_CASE("a lost GPU: Xid 79, then every call that needs it fails, and the machine ends") {
    MachineFixture bench;
    bench.run([&] {
        ChannelClient client(bench);
        ChannelClient::Channel channel = add_copier(client);
        bench.machine.kernel().faults().arm("pci.lost", {});
        CHECK(client.load(channel, 0) == ~u32{0});
        abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS group{};
        group.engineType = kCopy;
        CHECK(bench.alloc_with(MachineFixture::kDevice, 0x7777, abi::KEPLER_CHANNEL_GROUP_A, group) != abi::NV_OK);
        CHECK(bench.noted("Xid (PCI:0000:01:00): 79, GPU has fallen off the bus"));
        bench.free(bench.client);
    });
}

TEST_CASE("one read of all ones is not a lost GPU") {
    MachineFixture bench;
    bench.run([&] {
        ChannelClient client(bench);
        ChannelClient::Channel channel = add_copier(client);
        bench.machine.kernel().faults().arm("pci.read_ones", {.last_visit = 0});
        CHECK(client.load(channel, 0x9000) == ~u32{0});
        CHECK(client.load(channel, 0x9000) == 0);
        client.submit(channel, ChannelClient::release(0, 5));
        client.sleep(SimTime::from_ms(2));
        CHECK(client.data(0) == 5);
        CHECK_FALSE(bench.noted("Xid"));
    });
}

TEST_CASE("a firmware that stops answering is Xid 119, one that halts is Xid 120") {
    for (bool halts : {false, true}) {
        MachineFixture bench;
        bench.run([&] {
            ChannelClient client(bench);
            bench.machine.kernel().faults().arm(halts ? "gsp.halt" : "gsp.silent", {});
            abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS group{};
            group.engineType = kCopy;
            CHECK(bench.alloc_with(MachineFixture::kDevice, 0x7777, abi::KEPLER_CHANNEL_GROUP_A, group) != abi::NV_OK);
            CHECK(bench.noted("Xid (PCI:0000:01:00): 119,"));
            CHECK(bench.noted("Xid (PCI:0000:01:00): 120,") == halts);
            // Later calls fail at once.
            SimTime before = bench.machine.kernel().now();
            bench.alloc_with(MachineFixture::kDevice, 0x7778, abi::KEPLER_CHANNEL_GROUP_A, group);
            CHECK(bench.machine.kernel().now() - before < SimTime::from_s(1));
        });
    }
}

TEST_CASE("a flipped bit in a status record is refused three times, and the call times out") {
    MachineFixture bench;
    bench.run([&] {
        ChannelClient client(bench);
        bench.machine.kernel().faults().arm("dma.flip", {.last_visit = 0, .argument = 8 * 100 + 3});
        abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS group{};
        group.engineType = kCopy;
        CHECK(bench.alloc_with(MachineFixture::kDevice, 0x7777, abi::KEPLER_CHANNEL_GROUP_A, group) != abi::NV_OK);
        CHECK(bench.noted("status queue refused after 3 attempts"));
        CHECK(bench.noted("checkSum"));
        CHECK(bench.noted("Xid (PCI:0000:01:00): 119,"));
    });
}

TEST_CASE("dropped and late interrupts cost time, never an answer") {
    for (const char* point : {"intr.drop", "intr.late"}) {
        MachineFixture bench;
        bench.run([&] {
            ChannelClient client(bench);
            bench.machine.kernel().faults().arm(point, {.argument = SimTime::from_us(300).ps});
            ChannelClient::Channel channel = add_copier(client);  // every RPC waits for a message that is late, or polls
            client.submit(channel, ChannelClient::release(0, 5));
            client.sleep(SimTime::from_ms(2));
            CHECK(client.data(0) == 5);
            CHECK_FALSE(bench.noted("Xid"));
        });
    }
}

TEST_CASE("an uncorrectable memory error under a copy is Xid 48, for its channel only") {
    MachineFixture bench;
    bench.run([&] {
        ChannelClient client(bench);
        ChannelClient::Channel bad = add_copier(client), good = add_copier(client);
        bench.machine.kernel().faults().arm("vram.ecc", {.last_visit = 0});
        client.submit(bad, copy_words(0, 0x1000, 64));
        client.sleep(SimTime::from_ms(5));
        CHECK(bench.noted("Xid (PCI:0000:01:00): 48,"));
        CHECK(client.notifier_info(bad) == abi::ROBUST_CHANNEL_GPU_ECC_DBE);
        client.submit(good, copy_words(0, 0x2000, 64) + ChannelClient::release(0, 5));
        client.sleep(SimTime::from_ms(5));
        CHECK(client.data(0) == 5);
        CHECK(client.notifier_status(good) == 0);
    });
}

TEST_CASE("a PTE whose VALID bit flips is an MMU fault, Xid 31") {
    MachineFixture bench;
    bench.run([&] {
        ChannelClient client(bench);
        ChannelClient::Channel channel = add_copier(client);
        client.submit(channel, copy_words(0, 0x1000, 64));
        // After the client's own stores, which go through the MMU too.
        bench.machine.kernel().faults().arm("mmu.pte_flip", {.argument = 0});
        client.sleep(SimTime::from_ms(5));
        CHECK(bench.noted("Xid (PCI:0000:01:00): 31,"));
        CHECK(client.notifier_status(channel) == 0xFFFF);
    });
}

TEST_CASE("a stuck channel advances no more and says why; the others do") {
    MachineFixture bench;
    bench.run([&] {
        ChannelClient client(bench);
        ChannelClient::Channel stuck = add_copier(client), good = add_copier(client);
        bench.machine.kernel().faults().arm("host.stuck", {.last_visit = 0});
        client.submit(stuck, ChannelClient::release(0, 1));
        client.sleep(SimTime::from_us(50));
        client.submit(good, ChannelClient::release(4, 2));
        client.sleep(SimTime::from_ms(5));
        CHECK(client.data(0) == 0);
        CHECK(client.data(4) == 2);
        CHECK(client.gp_get(stuck) == 0);
        CHECK(bench.machine.kernel().watchdog().report().find("stuck by the fault plan") != std::string::npos);
        CHECK(bench.free(stuck.handle) == abi::NV_OK);
    });
}

TEST_CASE("a slow link only takes longer") {
    auto boot_time = [](u64 slow_us) {
        MachineFixture bench;
        if (slow_us != 0) bench.machine.kernel().faults().arm("pci.slow", {.argument = SimTime::from_us(slow_us).ps});
        bench.run([&] { bench.bring_up(); });
        return bench.machine.kernel().now();
    };
    CHECK(boot_time(100) > boot_time(0));
}

namespace {

// The status of NV_ESC_RM_MAP_MEMORY of one page for a new descriptor of the GPU.
u32 map_status(MachineFixture& bench, u32 memory, int fd) {
    struct {
        abi::NVOS33_PARAMETERS params;
        i32 fd;
        u32 pad;
    } with_fd{};
    REQUIRE(bench.open("/dev/nvidia0", fd) == 0);
    with_fd.params.hClient = bench.client;
    with_fd.params.hDevice = MachineFixture::kDevice;
    with_fd.params.hMemory = memory;
    with_fd.params.length = 0x1000;
    with_fd.fd = fd;
    REQUIRE(bench.escape(bench.control_fd, abi::NV_ESC_RM_MAP_MEMORY, with_fd) == 0);
    return with_fd.params.status;
}

}  // namespace

TEST_CASE("P23: all ones at step n of a mapping: a directory entry is a bus error, never a table, and the same n says the same") {
    constexpr u64 kStepsMax = 64;
    u32 bus_errors = 0;
    u64 steps = 0;
    for (u64 n = 0; n < kStepsMax && steps == 0; ++n) {
        std::string first;
        for (int round = 0; round < 2; ++round) {
            MachineFixture bench;
            std::string said;
            bench.run([&] {
                bench.bring_up();
                abi::NV_MEMORY_ALLOCATION_PARAMS memory{};
                memory.size = 0x10000;
                REQUIRE(bench.alloc_with(MachineFixture::kDevice, 0x200, abi::NV01_MEMORY_LOCAL_USER, memory) == abi::NV_OK);
                bench.notes.clear();
                bench.machine.kernel().faults().arm("pci.read_ones", {.first_visit = n, .last_visit = n});
                const u32 status = map_status(bench, 0x200, 20);
                const std::string counts = bench.machine.kernel().faults().describe();
                bench.machine.kernel().faults().disarm_all();
                for (const std::string& note : bench.notes) said += note + "\n";
                const bool bus_error = bench.noted("bus error: the page directory entry");
                CHECK((status != abi::NV_OK) == bus_error);  // any other read of a mapping is only looked at
                bus_errors += bus_error ? 1 : 0;
                if (round == 0 && counts.find("fired 0") != std::string::npos) steps = n;
                // The device answers again: the same mapping works, and reaches the memory.
                CHECK(map_status(bench, 0x200, 21) == abi::NV_OK);
                said += fmt::format("{}\n", status);
            });
            if (round == 0) first = said;
            CHECK(said == first);
        }
    }
    CHECK(steps > 0);
    CHECK(bus_errors >= 2);  // each n twice
}

// A new point is a new way to fail: here stands who shows what its end looks like.
TEST_CASE("every fault point has a scenario that shows what it ends in") {
    constexpr std::string_view kShown[] = {
        "pci.lost", "pci.read_ones", "pci.slow", "dma.flip", "intr.drop", "intr.late", "mmu.pte_flip", "vram.ecc", "host.stuck",
        "gsp.silent", "gsp.halt",
        "gsp.core_switch",  // client_suspend_test.cpp
    };
    for (const harness::FaultPointRow& row : harness::fault_points()) {
        CAPTURE(row.name);
        CHECK(std::count(std::begin(kShown), std::end(kShown), row.name) == 1);
    }
    CHECK(harness::fault_points().size() == std::size(kShown));
}
