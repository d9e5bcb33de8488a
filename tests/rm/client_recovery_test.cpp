// Robust channels: what a client sees when its graphics work is wrong, who is taken down with it and who is not; and
// channels that are freed, made again or overrun while work is under way.
#include <cstdlib>

#include <fmt/format.h>

#include "gpu_model/engine/method_table.h"
#include "gpu_model/regs/regs.h"
#include "rm/abi/xid.h"
#include "tests/support/channel_client.h"

using namespace test;
using namespace gpu;

namespace {

constexpr u32 kGr = abi::NV2080_ENGINE_TYPE_GR0;
constexpr u32 kCopy = abi::NV2080_ENGINE_TYPE_COPY0 + 2;

std::vector<u32> method(u32 offset, u32 data) { return {inc_header(1, offset, 1), data}; }

struct GraphicsError {
    const char* what;
    std::vector<u32> words;
    u32 xid;
    const char* text;  // of the driver's line
};

}  // namespace

TEST_CASE("graphics errors: the class's own error, the Xid, the notifier, and registers read and cleared by the firmware") {
    using namespace nvc5c0;
    std::vector<u32> extra = method(LOAD_INLINE_DATA, 7);
    const GraphicsError errors[] = {
        {"a method that the class does not have", method(0x2C0, 9), abi::ROBUST_CHANNEL_GR_CLASS_ERROR,
         "Class 0000c5c0, Offset 000002c0, Data 00000009, ErrorCode 00000006"},
        {"an undefined operation", method(SET_REPORT_SEMAPHORE_D, 1), abi::ROBUST_CHANNEL_GR_CLASS_ERROR,
         "Offset 00001b0c, Data 00000001, ErrorCode 00000005"},
        {"inline data without a launch", extra, abi::ROBUST_CHANNEL_GR_EXCEPTION, "Graphics Exception: ESR 0x404600=0x80000001"},
        {"a macro that is not there", method(CALL_MME_MACRO, 0), abi::ROBUST_CHANNEL_GR_EXCEPTION,
         "Graphics Exception: ESR 0x404490=0x80000020"},
        {"a class that the engine does not know", {inc_header(1, 0, 1), 0x1234}, abi::ROBUST_CHANNEL_GR_EXCEPTION,
         "Graphics Exception: ChID"},
    };
    for (const GraphicsError& error : errors) {
        CAPTURE(std::string(error.what));
        MachineFixture bench;
        bench.run([&] {
            ChannelClient client(bench);
            ChannelClient::Channel channel = client.add(kGr);
            client.submit(channel, error.words);
            client.submit(channel, ChannelClient::release(0, 0xBAD));
            client.sleep(SimTime::from_ms(5));
            CHECK(bench.noted(fmt::format("Xid (PCI:0000:01:00): {},", error.xid)));
            CHECK(bench.noted(error.text));
            CHECK(client.notifier_status(channel) == 0xFFFF);
            CHECK(client.notifier_info(channel) == error.xid);
            CHECK(client.data(0) == 0);  // nothing after the error ran
            auto& pci = bench.machine.gpu().pci();
            CHECK(pci.bar_read(Bar::Bar0, regs::NV_PGRAPH_INTR, 4) == 0);
            CHECK(pci.bar_read(Bar::Bar0, regs::NV_PGRAPH_EXCEPTION, 4) == 0);
            // The engine serves the next channel.
            ChannelClient::Channel next = client.add(kGr);
            client.submit(next, method(SET_MME_SHADOW_SCRATCH, 1) + ChannelClient::release(4, 0x600D));
            client.sleep(SimTime::from_ms(5));
            CHECK(client.data(4) == 0x600D);
        });
    }
}

TEST_CASE("recovery takes down the channel's group and nobody else") {
    MachineFixture bench;
    bench.run([&] {
        ChannelClient client(bench);
        ChannelClient::Channel bad = client.add(kGr);
        ChannelClient::Channel sibling = client.add(kGr, bad.group);
        ChannelClient::Channel neighbour = client.add(kGr);  // same runlist, another group
        ChannelClient::Channel copier = client.add(kCopy);
        client.submit(bad, method(0x2C0, 9));
        client.sleep(SimTime::from_ms(5));
        for (const ChannelClient::Channel* down : {&bad, &sibling}) {
            CHECK(client.notifier_status(*down) == 0xFFFF);
            CHECK(client.notifier_info(*down) == abi::ROBUST_CHANNEL_GR_CLASS_ERROR);
        }
        for (const ChannelClient::Channel* up : {&neighbour, &copier}) CHECK(client.notifier_status(*up) == 0);
        client.submit(sibling, ChannelClient::release(0, 1));
        client.submit(neighbour, ChannelClient::release(4, 2));
        client.submit(copier, ChannelClient::release(8, 3));
        client.sleep(SimTime::from_ms(5));
        CHECK(client.data(0) == 0);
        CHECK(client.data(4) == 2);
        CHECK(client.data(8) == 3);
        // One line for the error; the dead sibling's doorbell says nothing more.
        u32 lines = 0;
        for (const std::string& note : bench.notes) lines += note.find("Xid") != std::string::npos;
        CHECK(lines == 1);
        CHECK(bench.free(bad.group) == abi::NV_OK);
        client.submit(neighbour, ChannelClient::release(12, 4));
        client.sleep(SimTime::from_ms(5));
        CHECK(client.data(12) == 4);
    });
}

TEST_CASE("a ring overrun by GP_PUT stops its channel only") {
    MachineFixture bench;
    bench.run([&] {
        ChannelClient client(bench);
        ChannelClient::Channel bad = client.add(kGr);
        ChannelClient::Channel good = client.add(kGr);
        client.set_put(bad, 64);  // the ring has entries 0..63
        client.ring(bad);
        client.submit(good, ChannelClient::release(4, 2));
        client.sleep(SimTime::from_ms(5));
        CHECK(bench.noted("Xid (PCI:0000:01:00): 32,"));
        CHECK(client.notifier_status(bad) == 0xFFFF);
        CHECK(client.data(4) == 2);
    });
}

TEST_CASE("P14: a channel freed and made again on the same token runs its first work exactly once, for every seed") {
    // TU104SIM_SEEDS sets how many schedules are tried: 1000 by hand.
    const char* text = std::getenv("TU104SIM_SEEDS");
    u64 seeds = text == nullptr ? 12 : std::strtoull(text, nullptr, 10);
    for (u64 seed = 0; seed < seeds; ++seed) {
        CAPTURE(seed);
        MachineFixture bench({.seed = seed});
        bench.run([&] {
            ChannelClient client(bench);
            ChannelClient::Channel channel = client.add(kGr);
            u32 token = channel.token;
            // Each run of this adds one: lost and phantom work both show.
            auto count = [](u64 offset) {
                u64 va = ChannelClient::kDataVa + offset;
                constexpr u32 kReductionAdd =
                    nvc46f::SEM_EXECUTE_REDUCTION::set(nvc46f::SEM_EXECUTE_OPERATION::make(nvc46f::SEM_EXECUTE_OPERATION_REDUCTION),
                                                       nvc46f::SEM_EXECUTE_REDUCTION_IADD);
                return std::vector<u32>{inc_header(0, 0x5C, 5), static_cast<u32>(va), static_cast<u32>(va >> 32), 1, 0,
                                        kReductionAdd};
            };
            client.submit(channel, count(0));
            if (seed % 3 != 0) client.sleep(SimTime::from_us(1 + seed % 7));  // freed before, in or after the fetch
            CHECK(bench.free(channel.handle) == abi::NV_OK);
            CHECK(client.data(0) <= 1);
            u32 before = client.data(0);
            channel.put = 0;
            channel.push_used = 0;
            client.store(channel, 0x8088, 0);
            client.set_put(channel, 0);
            client.allocate(channel, kGr);
            CHECK(channel.token == token);
            client.ring(channel);  // a doorbell of the old life, still on its way
            client.submit(channel, count(4));
            client.sleep(SimTime::from_ms(3));
            CHECK(client.data(0) == before);
            CHECK(client.data(4) == 1);
            CHECK(client.gp_get(channel) == 1);
            CHECK_FALSE(bench.noted("Xid"));
        });
    }
}

TEST_CASE("channels that share an engine pay for the switch, and both finish") {
    MachineFixture bench;
    bench.run([&] {
        ChannelClient client(bench);
        ChannelClient::Channel first = client.add(kGr);
        ChannelClient::Channel second = client.add(kGr);
        client.submit(first, method(nvc5c0::SET_MME_SHADOW_SCRATCH, 1) + ChannelClient::release(0, 1));
        client.sleep(SimTime::from_ms(1));
        SimTime start = bench.machine.kernel().now();
        client.submit(second, method(nvc5c0::SET_MME_SHADOW_SCRATCH, 1) + ChannelClient::release(4, 1));
        while (client.data(4) == 0 && bench.machine.kernel().now() - start < SimTime::from_ms(10)) client.sleep(SimTime::from_us(1));
        u64 switch_us = (bench.machine.kernel().now() - start).us();
        CHECK(client.data(4) == 1);
        start = bench.machine.kernel().now();
        client.submit(second, method(nvc5c0::SET_MME_SHADOW_SCRATCH, 2) + ChannelClient::release(8, 1));
        while (client.data(8) == 0 && bench.machine.kernel().now() - start < SimTime::from_ms(10)) client.sleep(SimTime::from_us(1));
        u64 stay_us = (bench.machine.kernel().now() - start).us();
        // The context of the engine changes once, then stays: about 20 us (class C).
        CHECK(switch_us >= stay_us + 10);
        CHECK(switch_us < stay_us + 60);
    });
}
