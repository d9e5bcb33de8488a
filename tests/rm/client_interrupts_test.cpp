// Interrupts as the driver and the firmware serve them: a copy engine that stalls, levels that nobody clears, storms of
// pulses, and channels that go while their work is under way.
#include "gpu_model/engine/method_table.h"
#include "gpu_model/intr/intr_vectors.h"
#include "tests/support/channel_client.h"

using namespace test;

namespace {

constexpr u32 kCopyEngine = abi::NV2080_ENGINE_TYPE_COPY0 + 2;
constexpr u32 kBlocking = 1u << 5;
constexpr u32 kPlain = 2 | 1u << 2 | 1u << 7 | 1u << 8;

std::vector<u32> copy_call(u64 from, u64 to, u32 bytes, u32 flags = 0) {
    auto hi = [](u64 offset) { return static_cast<u32>((ChannelClient::kDataVa + offset) >> 32); };
    auto lo = [](u64 offset) { return static_cast<u32>(ChannelClient::kDataVa + offset); };
    constexpr u32 kSubchannel = 4;
    return {inc_header(kSubchannel, 0, 1),     abi::TURING_DMA_COPY_A, inc_header(kSubchannel, 0x400, 4), hi(from), lo(from),
            hi(to),  lo(to), inc_header(kSubchannel, 0x418, 1), bytes, inc_header(kSubchannel, 0x300, 1), kPlain | flags};
}

ChannelClient::Channel add_copy_channel(ChannelClient& client) {
    ChannelClient::Channel channel = client.add(kCopyEngine);
    abi::NVB0B5_ALLOCATION_PARAMETERS copy{1, kCopyEngine};
    REQUIRE(client.bench.alloc_with(channel.handle, channel.handle + 5, abi::TURING_DMA_COPY_A, copy) == abi::NV_OK);
    return channel;
}

// An OS event on the engine's notifier, armed to repeat.
void listen(MachineFixture& bench, u32 notifier) {
    abi::nv_ioctl_alloc_os_event_t key{bench.client, MachineFixture::kDevice, 30, 0};
    REQUIRE(bench.escape(bench.gpu_fd, abi::NV_ESC_ALLOC_OS_EVENT, key) == 0);
    abi::NV0005_ALLOC_PARAMETERS event{};
    event.hSrcResource = MachineFixture::kSubdevice;
    event.hClass = abi::NV01_EVENT_OS_EVENT;
    event.notifyIndex = notifier;
    event.data = 30;
    REQUIRE(bench.alloc_with(MachineFixture::kSubdevice, 0x500, abi::NV01_EVENT_OS_EVENT, event) == abi::NV_OK);
    abi::NV2080_CTRL_EVENT_SET_NOTIFICATION_PARAMS action{};
    action.event = notifier;
    action.action = 2;
    REQUIRE(bench.control_with(MachineFixture::kSubdevice, abi::NV2080_CTRL_CMD_EVENT_SET_NOTIFICATION, action) == abi::NV_OK);
}

u32 wakes(MachineFixture& bench) { return bench.driver().poll(bench.caller, bench.gpu_fd, 0x1) & 0x1; }

}  // namespace

TEST_CASE("a copy with a BLOCKING interrupt stops its engine until the firmware has served it, and the event arrives") {
    MachineFixture bench;
    bench.run([&] {
        ChannelClient client(bench);
        ChannelClient::Channel channel = add_copy_channel(client), other = add_copy_channel(client);
        listen(bench, abi::NV2080_NOTIFIERS_CE2);
        CHECK(wakes(bench) == 0);
        SimTime start = bench.machine.kernel().now();
        client.submit(channel, copy_call(0, 0x1000, 64, kBlocking) + copy_call(0, 0x2000, 64) + ChannelClient::release(0, 1));
        client.sleep(SimTime::from_us(5));
        client.submit(other, copy_call(0, 0x3000, 64) + ChannelClient::release(4, 2));
        while (client.data(4) == 0 && bench.machine.kernel().now() - start < SimTime::from_ms(5)) client.sleep(SimTime::from_us(1));
        // The other channel's copy waits on the same engine for as long as the service takes.
        CHECK(bench.machine.kernel().now() - start >= SimTime::from_us(20));
        client.sleep(SimTime::from_ms(1));
        CHECK(client.data(0) == 1);
        CHECK(client.data(4) == 2);
        CHECK(wakes(bench) == 1);
        CHECK_FALSE(bench.noted("Xid"));
        // Many of them, one after the other.
        for (u32 i = 0; i < 20; ++i) client.submit(channel, copy_call(0, 0x1000, 64, kBlocking));
        client.submit(channel, ChannelClient::release(8, 3));
        client.sleep(SimTime::from_ms(5));
        CHECK(client.data(8) == 3);
    });
}

TEST_CASE("a storm of interrupts costs bounded work: a level that nobody clears, and pulses without end") {
    MachineFixture bench;
    bench.run([&] {
        ChannelClient client(bench);
        ChannelClient::Channel channel = add_copy_channel(client);
        gpu::PciDevice& pci = bench.machine.gpu().pci();
        auto reg = [&](u32 offset) { return static_cast<u32>(pci.bar_read(gpu::Bar::Bar0, offset, 4)); };
        auto set_reg = [&](u32 offset, u32 value) { pci.bar_write(gpu::Bar::Bar0, offset, 4, value); };
        // PBUS's software interrupt is a level without a handler in the driver; a client has enabled its vector.
        constexpr u32 kLeaf = gpu::vector::intr_pbus / 32, kBit = 1u << gpu::vector::intr_pbus % 32;
        set_reg(0xB81200 + 4 * kLeaf, kBit);
        set_reg(0x1140, 1u << 26);
        set_reg(0x1150, 1);
        u64 events = bench.machine.kernel().journal().count();
        client.submit(channel, copy_call(0, 0x1000, 64) + ChannelClient::release(0, 1));
        client.sleep(SimTime::from_ms(5));
        CHECK(client.data(0) == 1);
        CHECK(bench.machine.kernel().journal().count() - events < 100);
        CHECK((reg(0xB81000 + 4 * kLeaf) & kBit) != 0);  // still asserted, and the machine goes on
        CHECK((reg(0xB81200 + 4 * kLeaf) & kBit) == 0);
        CHECK(bench.noted("NVRM: Interrupt is stuck. Bailing after 16 iterations"));
        // 10,000 pulses of the copy engine's vector between two looks are one interrupt each at most.
        for (u32 i = 0; i < 10'000; ++i) set_reg(0xB81640, gpu::vector::lce2_nostall);
        client.submit(channel, copy_call(0, 0x2000, 64) + ChannelClient::release(4, 2));
        client.sleep(SimTime::from_ms(5));
        CHECK(client.data(4) == 2);
        CHECK((reg(0xB81000) & 1u << gpu::vector::lce2_nostall) == 0);
        CHECK_FALSE(bench.noted("Xid"));
    });
}

TEST_CASE("a channel freed in flight: its copy ends there, the place is free again, and the others do not notice") {
    for (u64 seed = 0; seed < 8; ++seed) {
        CAPTURE(seed);
        MachineFixture bench({.seed = seed});
        bench.run([&] {
            ChannelClient client(bench);
            ChannelClient::Channel gone = add_copy_channel(client), stays = add_copy_channel(client);
            client.submit(gone, copy_call(0, 0x100000, 0x100000) + ChannelClient::release(0, 1));
            client.submit(stays, copy_call(0, 0x4000, 64) + ChannelClient::release(4, 2));
            client.sleep(SimTime::from_us(2 + seed));
            CHECK(bench.free(gone.handle) == abi::NV_OK);
            client.sleep(SimTime::from_ms(5));
            CHECK(client.data(4) == 2);
            gone.put = 0;
            gone.push_used = 0;
            client.set_put(gone, 0);
            client.allocate(gone, kCopyEngine);
            abi::NVB0B5_ALLOCATION_PARAMETERS copy{1, kCopyEngine};
            REQUIRE(bench.alloc_with(gone.handle, gone.handle + 6, abi::TURING_DMA_COPY_A, copy) == abi::NV_OK);
            client.submit(gone, copy_call(0, 0x5000, 64) + ChannelClient::release(8, 3));
            client.sleep(SimTime::from_ms(5));
            CHECK(client.data(8) == 3);
            CHECK_FALSE(bench.noted("Xid"));
        });
    }
}
