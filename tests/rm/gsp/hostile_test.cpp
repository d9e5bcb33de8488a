// Hostile records: whatever the driver's side writes, the firmware answers, refuses or waits; it never crashes or hangs.
#include <doctest/doctest.h>

#include "sim/rng.h"
#include "tests/rm/gsp_fixture.h"
#include "tests/support/hostile_scale.h"

using namespace test;

namespace {

constexpr u32 kClient = 0xC1D00001, kDevice = 0x80, kSubdevice = 0x2080;

// A bench whose driver never waits: it sends, lets a little time pass, and throws replies away.
struct Flood : Bench {
    explicit Flood(u64 seed) : random(seed, "test.gsp", "records") {
        REQUIRE(boot());
        make_client(kClient, kDevice, kSubdevice);
    }
    void drain() {
        run(SimTime::from_us(40));
        msgq::Record record;
        while (status.receive(record) == msgq::Outcome::Ok) ++answers;
    }
    u32 small(u32 bound) { return static_cast<u32>(random.below(bound)); }
    u32 handle() {
        const u32 known[] = {kClient, kDevice, kSubdevice, 0xC1E00004, 0xABCD2080, 0, 1, 2, 3, 0x90F1, 0xA06C};
        return random.chance(1, 12) ? static_cast<u32>(random.next()) : known[small(11)];
    }
    void noise(std::vector<u8>& bytes, std::size_t from) {
        for (std::size_t i = from; i < bytes.size(); ++i) bytes[i] = random.chance(1, 3) ? static_cast<u8>(random.next()) : u8{0};
    }
    sim::RandomStream random;
    u64 answers = 0;
};

}  // namespace

TEST_CASE("100,000 records with plausible heads and random bodies, and memory stays flat") {
    const u32 rounds = hostile_rounds(100'000);
    constexpr u64 kGrowthMax = u64{24} << 20;
    u64 resident = 0;
    Flood flood(1);
    const u32 classes[] = {abi::NV01_ROOT, abi::NV01_DEVICE_0, abi::NV20_SUBDEVICE_0, abi::FERMI_VASPACE_A, abi::KEPLER_CHANNEL_GROUP_A,
                           abi::FERMI_CONTEXT_SHARE_A, abi::TURING_CHANNEL_GPFIFO_A, abi::TURING_COMPUTE_A, abi::TURING_DMA_COPY_A,
                           abi::NV01_EVENT, 0xFFFF};
    for (u32 round = 0; round < rounds; ++round) {
        if (round == rounds / 2) resident = resident_bytes();
        std::vector<u8> payload;
        std::vector<u8> tail;
        u32 function = 0;
        switch (flood.small(5)) {
            case 0: {
                function = abi::NV_VGPU_MSG_FUNCTION_GSP_RM_ALLOC;
                abi::rpc_gsp_rm_alloc_v03_00 fixed{};
                fixed.hClient = flood.handle();
                fixed.hParent = flood.handle();
                fixed.hObject = flood.handle();
                fixed.hClass = classes[flood.small(11)];
                u32 right = rm::alloc_bytes(flood.version, fixed.hClass).value_or(16);
                tail.resize(flood.random.chance(1, 4) ? flood.small(600) : right);
                flood.noise(tail, 0);
                fixed.paramsSize = flood.random.chance(1, 8) ? static_cast<u32>(flood.random.next()) : static_cast<u32>(tail.size());
                payload.resize(sizeof(fixed));
                abi::store(std::span<u8>(payload), fixed);
                break;
            }
            case 1: {
                function = abi::NV_VGPU_MSG_FUNCTION_GSP_RM_CONTROL;
                abi::rpc_gsp_rm_control_v03_00 fixed{};
                fixed.hClient = flood.handle();
                fixed.hObject = flood.handle();
                const u32 ids[] = {0x20801112, 0x20800a5c, 0x20800a61, 0x2080110b, 0xa06f0103, 0xa06c0101, 0xa06c0103, 0xa06f0104,
                                   0xc36f0108, 0x90f10106, 0x20800a9b, 0x20800a9c, 0x20803801, 0x20802a07, 0x20800a26, 0xa06c0105};
                fixed.cmd = flood.random.chance(1, 10) ? static_cast<u32>(flood.random.next()) : ids[flood.small(16)];
                u32 right = rm::control_bytes(flood.version, fixed.cmd).value_or(8);
                fixed.paramsSize = flood.random.chance(1, 8) ? static_cast<u32>(flood.random.next()) : right;
                fixed.flags = flood.small(4);
                payload.resize(sizeof(fixed) + right);
                flood.noise(payload, sizeof(fixed));
                abi::store(std::span<u8>(payload), fixed);
                break;
            }
            case 2:
                function = abi::NV_VGPU_MSG_FUNCTION_FREE;
                payload.resize(16);
                abi::store(std::span<u8>(payload), flood.handle(), 0);
                abi::store(std::span<u8>(payload), flood.handle(), 8);
                break;
            case 3:
                function = flood.small(220);
                if (function == abi::NV_VGPU_MSG_FUNCTION_UNLOADING_GUEST_DRIVER) function = 0;
                payload.resize(flood.small(300));
                flood.noise(payload, 0);
                break;
            default:
                function = abi::NV_VGPU_MSG_FUNCTION_DUP_OBJECT;
                payload.resize(28);
                for (u64 i = 0; i < 5; ++i) abi::store(std::span<u8>(payload), flood.handle(), i * 4);
                break;
        }
        flood.send(function, payload, tail);
        flood.drain();
        // A client that was freed comes back, so that later records find something.
        if (round % 64 == 0) flood.make_client(kClient, kDevice, kSubdevice);
        if (round % 1024 == 0) {
            flood.events.clear();
            flood.notes.notes.clear();
        }
    }
    CHECK(flood.answers > rounds / 5 * 4);
    CHECK(resident_bytes() <= resident + kGrowthMax);
    CHECK(!flood.kernel.unmodelled().any_invented());
}

TEST_CASE("random bytes in slots and headers") {
    Flood flood(2);
    for (u32 round = 0; round < 5'000; ++round) {
        u64 slot = msgq::kCmdQueueOffset + msgq::kEntryOffset + flood.random.below(63) * msgq::kElementBytes;
        for (u64 i = 0; i < 80; i += 4) {
            std::vector<u8> word(4);
            abi::store(std::span<u8>(word), static_cast<u32>(flood.random.next() >> flood.random.below(64)));
            flood.pages.write(slot + i, word);
        }
        std::vector<u8> index(4);
        abi::store(std::span<u8>(index), flood.small(70));
        flood.pages.write(msgq::kCmdQueueOffset + 16, index);
        if (flood.random.chance(1, 20)) {
            abi::store(std::span<u8>(index), static_cast<u32>(flood.random.next()));
            flood.pages.write(msgq::kStatQueueOffset + flood.random.below(10) * 4, index);
            flood.pages.write(msgq::kCmdQueueOffset + 32, index);
        }
        flood.gsp->firmware().on_queue_doorbell(0);
        flood.gsp->firmware().on_queue_doorbell(flood.small(9));
        flood.run(SimTime::from_us(30));
    }
    CHECK(flood.kernel.events().pending_count() < 100);
}

TEST_CASE("random argument pages never start anything wrong") {
    for (u64 seed = 0; seed < 200; ++seed) {
        Bench bench;
        bench.prepare();
        bench.send_preboot();
        sim::RandomStream random(seed, "test.gsp", "arguments");
        for (u32 i = 0; i < 3; ++i) {
            u64 where[] = {kLibosPage + random.below(1024) * 4, kArgumentPage + random.below(18) * 4, kSharedBase + random.below(258) * 4,
                           DriverPages::page(1) + random.below(9) * 4};
            bench.bus.system.write_u32(where[random.below(4)], static_cast<u32>(random.next() >> random.below(32)));
        }
        bench.start();
    }
}

TEST_CASE("P05: the firmware names a driver whose read index stands inside a record") {
    Bench bench;
    REQUIRE(bench.boot());
    // A refused control comes back with its parameters, which take more than one element.
    std::vector<u8> params(8000);
    const u32 before = bench.status.read_index();
    bench.control_bytes(1, 1, 0x20801fff, params);
    REQUIRE((bench.status.read_index() + msgq::kSlotCount - before) % msgq::kSlotCount > 1);
    bench.control_bytes(1, 1, 0x20801fff, params);
    REQUIRE(!bench.notes.has("stands inside a record"));
    std::vector<u8> index(4);
    abi::store(std::span<u8>(index), before + 1);
    REQUIRE(bench.pages.write(msgq::kCmdQueueOffset + msgq::kTxHeaderBytes, index));
    bench.control_bytes(1, 1, 0x20801fff, params);
    CHECK(bench.notes.has("stands inside a record"));
}

TEST_CASE("a driver that does not read loses events, not the firmware") {
    Flood flood(3);
    for (u32 i = 0; i < 3'000; ++i) {
        gpu::ChipError error;
        error.source = gpu::ChipError::Source::Ecc;
        flood.gsp->firmware().on_chip_error(error);
        flood.run(SimTime::from_us(100));
    }
    CHECK(flood.notes.has("dropped"));
    flood.collect_events();
    flood.run(SimTime::from_ms(1));
    flood.collect_events();
    CHECK(flood.events.size() > 62);
}
