// A client's whole way to work on the GPU and back, and what happens when the work is wrong.
#include <fmt/format.h>

#include "gpu_model/host/gp_entry.h"
#include "tests/support/machine_fixture.h"

namespace abi = test::abi;
using namespace sim;
using Fixture = test::MachineFixture;

namespace {

constexpr u32 kSpace = 0x200, kGroup = 0x201, kShare = 0x202, kRing = 0x203, kNotifier = 0x204, kData = 0x205,
              kRange = 0x206, kChannel = 0x207, kCopy = 0x208, kCompute = 0x209, kUsermode = 0x20A, kEvent = 0x20B;
constexpr u64 kRingVa = 0x200000000, kDataVa = 0x200400000;
constexpr u64 kRingBytes = 0x10000;
constexpr u64 kPushOffset = 0x1000, kUserdOffset = 0x8000;
constexpr u32 kFixed = 1u << 15;
constexpr u64 kGpPut = 0x8C;

u32 inc(u32 subchannel, u32 method, u32 count) {
    return 1u << 29 | count << 16 | subchannel << 13 | method >> 2;
}

class Client {
public:
    explicit Client(Fixture& fixture) : bench(fixture) {}

    void map_dma(u32 memory, u64 length, u64 va) {
        abi::NVOS46_PARAMETERS params{};
        params.hClient = bench.client;
        params.hDevice = Fixture::kDevice;
        params.hDma = kRange;
        params.hMemory = memory;
        params.length = length;
        params.flags = kFixed;
        params.dmaOffset = va;
        REQUIRE(bench.escape(bench.control_fd, abi::NV_ESC_RM_MAP_MEMORY_DMA, params) == 0);
        REQUIRE(params.status == abi::NV_OK);
        REQUIRE(params.dmaOffset == va);
    }

    void set_up(u32 engine) {
        abi::NV_VASPACE_ALLOCATION_PARAMETERS space{};
        REQUIRE(bench.alloc_with(Fixture::kDevice, kSpace, abi::FERMI_VASPACE_A, space) == abi::NV_OK);
        abi::NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS range{};
        range.hVASpace = kSpace;
        REQUIRE(bench.alloc_with(Fixture::kDevice, kRange, abi::NV01_MEMORY_VIRTUAL, range) == abi::NV_OK);
        abi::NV_MEMORY_ALLOCATION_PARAMS ring{};
        ring.size = kRingBytes;
        REQUIRE(bench.alloc_with(Fixture::kDevice, kRing, abi::NV01_MEMORY_LOCAL_USER, ring) == abi::NV_OK);
        abi::NV_MEMORY_ALLOCATION_PARAMS data{};
        data.size = 0x200000;
        REQUIRE(bench.alloc_with(Fixture::kDevice, kData, abi::NV01_MEMORY_LOCAL_USER, data) == abi::NV_OK);
        data_pa = data.offset;
        abi::NV_MEMORY_ALLOCATION_PARAMS notifier{};
        notifier.size = 0x1000;
        notifier.attr = abi::NVOS32_ATTR_LOCATION::make(abi::NVOS32_ATTR_LOCATION_PCI);
        REQUIRE(bench.alloc_with(Fixture::kDevice, kNotifier, abi::NV01_MEMORY_SYSTEM, notifier) == abi::NV_OK);
        map_dma(kRing, kRingBytes, kRingVa);
        map_dma(kData, 0x200000, kDataVa);
        ring_window = bench.map_memory(Fixture::kDevice, kRing, 0, kRingBytes, 20, "/dev/nvidia0");
        notifier_window = bench.map_memory(Fixture::kDevice, kNotifier, 0, 0x1000, 21, "/dev/nvidiactl");
        REQUIRE(ring_window.error == 0);
        REQUIRE(notifier_window.error == 0);
        REQUIRE(bench.alloc(Fixture::kSubdevice, kUsermode, abi::TURING_USERMODE_A) == abi::NV_OK);
        usermode = bench.map_memory(Fixture::kSubdevice, kUsermode, 0, 0x10000, 22, "/dev/nvidia0");

        abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS group{};
        group.engineType = engine;
        group.hVASpace = kSpace;
        REQUIRE(bench.alloc_with(Fixture::kDevice, kGroup, abi::KEPLER_CHANNEL_GROUP_A, group) == abi::NV_OK);
        abi::NV_CTXSHARE_ALLOCATION_PARAMETERS share{};
        share.hVASpace = kSpace;
        share.flags = abi::NV_CTXSHARE_ALLOCATION_FLAGS_SUBCONTEXT_ASYNC;
        REQUIRE(bench.alloc_with(kGroup, kShare, abi::FERMI_CONTEXT_SHARE_A, share) == abi::NV_OK);
        CHECK(share.subctxId == 63);  // handed out from the top
        abi::NV_CHANNEL_ALLOC_PARAMS channel{};
        channel.hObjectError = kNotifier;
        channel.gpFifoOffset = kRingVa;
        channel.gpFifoEntries = 64;
        channel.hContextShare = kShare;
        channel.hUserdMemory[0] = kRing;
        channel.userdOffset[0] = kUserdOffset;
        channel.engineType = engine;
        REQUIRE(bench.alloc_with(kGroup, kChannel, abi::TURING_CHANNEL_GPFIFO_A, channel) == abi::NV_OK);

        abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN_PARAMS submit{};
        REQUIRE(bench.control_with(kChannel, abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN, submit) == abi::NV_OK);
        token = submit.workSubmitToken;
        u64 list = bench.user.put(kChannel);
        u64 answer = bench.user.put(u32{0});
        abi::NV0080_CTRL_FIFO_GET_CHANNELLIST_PARAMS channels{1, list, answer};
        REQUIRE(bench.control_with(Fixture::kDevice, abi::NV0080_CTRL_CMD_FIFO_GET_CHANNELLIST, channels) ==
                abi::NV_OK);
        CHECK(bench.user.get<u32>(answer) == (token & 0xFFF));
        // The token is in the notifier too, where the client asked for none: entry 1.
        CHECK(notifier_u32(16 + 8) == token);
        struct {
            u8 enable = 1;
            u8 skip = 0;
        } schedule;
        REQUIRE(bench.control_with(kGroup, abi::NVA06C_CTRL_CMD_GPFIFO_SCHEDULE, schedule) == abi::NV_OK);
    }

    u32 notifier_u32(u64 offset) {
        return bench.machine.system_memory().read_u32(notifier_window.extents[0].offset + offset);
    }
    void store(u64 offset, u32 value) {
        bench.machine.gpu().pci().bar_write(gpu::Bar::Bar1, ring_window.extents[0].offset + offset, 4, value);
    }
    u32 load(u64 offset) {
        return static_cast<u32>(
            bench.machine.gpu().pci().bar_read(gpu::Bar::Bar1, ring_window.extents[0].offset + offset, 4));
    }
    void submit(const std::vector<u32>& words) {
        u64 at = kPushOffset + push_used;
        for (std::size_t i = 0; i < words.size(); ++i) store(at + i * 4, words[i]);
        u64 va = kRingVa + at;
        push_used += words.size() * 4;
        store(put * 8, static_cast<u32>(va));
        store(put * 8 + 4, gpu::GpEntry::GET_HI::make(va >> 32) | gpu::GpEntry::LENGTH::make(words.size()));
        ++put;
        store(kUserdOffset + kGpPut, put);
        bench.machine.gpu().pci().bar_write(gpu::Bar::Bar0, usermode.extents[0].offset + 0x90, 4, token);
    }

    Fixture& bench;
    rm::Mapping ring_window, notifier_window, usermode;
    u64 data_pa = 0;
    u64 push_used = 0;
    u32 put = 0;
    u32 token = 0;
};

std::vector<u32> copy_words(u64 from, u64 to, u32 bytes, u64 semaphore, u32 payload, u32 interrupt) {
    auto hi = [](u64 va) { return static_cast<u32>(va >> 32); };
    auto lo = [](u64 va) { return static_cast<u32>(va); };
    constexpr u32 kSubchannel = 4;
    u32 launch =
        2 | 1u << 2 | 1u << 3 | interrupt << 5 | 1u << 7 | 1u << 8;  // non-pipelined, flush, one-word release, pitch
    return {inc(kSubchannel, 0x0000, 1),
            abi::TURING_DMA_COPY_A,
            inc(kSubchannel, 0x0240, 3),
            hi(semaphore),
            lo(semaphore),
            payload,
            inc(kSubchannel, 0x0400, 4),
            hi(from),
            lo(from),
            hi(to),
            lo(to),
            inc(kSubchannel, 0x0418, 1),
            bytes,
            inc(kSubchannel, 0x0300, 1),
            launch};
}

}  // namespace

TEST_CASE("a client copies memory with a copy engine and frees everything") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        Client client(bench);
        client.set_up(abi::NV2080_ENGINE_TYPE_COPY0 + 2);
        abi::NVB0B5_ALLOCATION_PARAMETERS copy{1, abi::NV2080_ENGINE_TYPE_COPY0 + 2};
        REQUIRE(bench.alloc_with(kChannel, kCopy, abi::TURING_DMA_COPY_A, copy) == abi::NV_OK);
        // A client that waits for the engine's non-stall interrupt.
        abi::nv_ioctl_alloc_os_event_t key{bench.client, Fixture::kDevice, 30, 0};
        REQUIRE(bench.open("/dev/nvidia0", 30) == 0);
        REQUIRE(bench.escape(30, abi::NV_ESC_ALLOC_OS_EVENT, key) == 0);
        abi::NV0005_ALLOC_PARAMETERS event{};
        event.hSrcResource = Fixture::kSubdevice;
        event.hClass = abi::NV01_EVENT_OS_EVENT;
        event.notifyIndex = (abi::NV2080_NOTIFIERS_CE0 + 2) | 0x08000000;  // NV01_EVENT_NONSTALL_INTR
        event.data = 30;
        REQUIRE(bench.alloc_with(Fixture::kSubdevice, kEvent, abi::NV01_EVENT_OS_EVENT, event) == abi::NV_OK);

        sim::SparseMemory& vram = bench.machine.gpu().vram();
        for (u64 i = 0; i < 0x4000; i += 8) vram.write_u64(client.data_pa + i, i * 0x9E3779B97F4A7C15);
        constexpr u32 kNonBlocking = 2;
        client.submit(copy_words(kDataVa, kDataVa + 0x100000, 0x4000, kRingVa + 0x9000, 0xCAFE, kNonBlocking));
        SimTime start = bench.machine.kernel().now();
        while (client.load(0x9000) != 0xCAFE && bench.machine.kernel().now() - start < SimTime::from_ms(100))
            bench.machine.kernel().fibers().sleep_for(SimTime::from_us(1));
        REQUIRE(client.load(0x9000) == 0xCAFE);
        for (u64 i = 0; i < 0x4000; i += 8)
            REQUIRE(vram.read_u64(client.data_pa + 0x100000 + i) == i * 0x9E3779B97F4A7C15);
        MESSAGE("copy of 16 KiB took " << (bench.machine.kernel().now() - start).ns() << " ns of virtual time");

        bench.machine.kernel().fibers().sleep_for(SimTime::from_us(50));
        CHECK(bench.driver().poll(bench.caller, 30, 0x1) == 0x1);
        u64 out = bench.user.map(16);
        abi::NVOS41_PARAMETERS params{out, 7, 0};
        CHECK(bench.escape(30, abi::NV_ESC_RM_GET_EVENT_DATA, params) == 0);
        CHECK(params.status == abi::NV_OK);
        CHECK(params.MoreEvents == 0);
        CHECK(bench.user.get<u32>(out) == kEvent);
        CHECK(bench.user.get<u32>(out + 4) == abi::NV2080_NOTIFIERS_CE0 + 2);

        for (u32 handle : {kCopy, kChannel, kShare, kGroup, kEvent, kUsermode, kRange, kSpace, kRing, kData, kNotifier})
            CHECK(bench.free(handle) == abi::NV_OK);
        CHECK(bench.free(bench.client) == abi::NV_OK);
        for (int fd : {20, 21, 22, 30, bench.gpu_fd, bench.control_fd})
            CHECK(bench.driver().close(bench.caller, fd) == 0);
    });
    for (const std::string& note : bench.notes) MESSAGE(note);
    CHECK(bench.notes.empty());
    CHECK_FALSE(bench.machine.kernel().unmodelled().any_invented());
    for (const auto& [key, entry] : bench.machine.kernel().unmodelled().entries()) MESSAGE(key);
}

namespace {

// A channel of the graphics engine with a compute object, and the question what that object is.
abi::NV906F_CTRL_GET_CLASS_ENGINEID_PARAMS question_about_compute(Fixture& bench, Client& client) {
    client.set_up(abi::NV2080_ENGINE_TYPE_GR0);
    abi::NV_GR_ALLOCATION_PARAMETERS gr{};
    CHECK(bench.alloc_with(kChannel, kCompute, abi::TURING_COMPUTE_A, gr) == abi::NV_OK);
    abi::NV906F_CTRL_GET_CLASS_ENGINEID_PARAMS engine{};
    engine.hObject = kCompute;
    return engine;
}

}  // namespace

TEST_CASE("a compute channel comes up with its classes") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        Client client(bench);
        auto engine = question_about_compute(bench, client);
        CHECK(bench.control_with(kChannel, abi::NV906F_CTRL_GET_CLASS_ENGINEID, engine) == abi::NV_OK);
        CHECK(engine.classID == abi::TURING_COMPUTE_A);
        abi::NVB0B5_ALLOCATION_PARAMETERS copy{1, abi::NV2080_ENGINE_TYPE_COPY0};
        CHECK(bench.alloc_with(kChannel, kCopy, abi::TURING_DMA_COPY_A, copy) == abi::NV_OK);
    });
}

TEST_CASE("a channel told its objects' classes by a second number, too, until 555") {
    for (const char* driver : {"535.183.01", "550.144.03", "560.35.03", "570.144"}) {
        CAPTURE(driver);
        harness::MachineOptions options;
        options.driver = driver;
        Fixture bench(options);
        bench.run([&] {
            bench.bring_up();
            Client client(bench);
            auto engine = question_about_compute(bench, client);
            const bool there = options.driver < "555";
            CHECK(bench.control_with(kChannel, abi::NVC36F_CTRL_GET_CLASS_ENGINEID, engine) ==
                  (there ? abi::NV_OK : abi::NV_ERR_NOT_SUPPORTED));
            CHECK(engine.classID == (there ? abi::TURING_COMPUTE_A : 0));
            CHECK(engine.engineID == (there ? abi::NV2080_ENGINE_TYPE_GR0 : 0));
        });
    }
}

TEST_CASE("a copy from an unmapped address kills the channel: Xid, notifier, event") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        Client client(bench);
        client.set_up(abi::NV2080_ENGINE_TYPE_COPY0 + 2);
        abi::nv_ioctl_alloc_os_event_t key{bench.client, Fixture::kDevice, 30, 0};
        REQUIRE(bench.escape(bench.gpu_fd, abi::NV_ESC_ALLOC_OS_EVENT, key) == 0);
        abi::NV0005_ALLOC_PARAMETERS event{};
        event.hSrcResource = Fixture::kSubdevice;
        event.hClass = abi::NV01_EVENT_OS_EVENT;
        event.notifyIndex = abi::NV2080_NOTIFIERS_RC_ERROR;
        event.data = 30;
        REQUIRE(bench.alloc_with(Fixture::kSubdevice, kEvent, abi::NV01_EVENT_OS_EVENT, event) == abi::NV_OK);
        abi::NV2080_CTRL_EVENT_SET_NOTIFICATION_PARAMS set{};
        set.event = abi::NV2080_NOTIFIERS_RC_ERROR;
        set.action = 2;
        REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_EVENT_SET_NOTIFICATION, set) ==
                abi::NV_OK);
        client.submit(copy_words(0x300000000, kDataVa, 0x1000, kRingVa + 0x9000, 1, 0));
        bench.machine.kernel().fibers().sleep_for(SimTime::from_ms(5));
        CHECK(client.load(0x9000) == 0);
        CHECK(bench.noted("NVRM: Xid (PCI:0000:01:00): 31,"));
        // The error notifier's status half word is set by the firmware.
        CHECK((client.notifier_u32(12) >> 16) != 0);
        CHECK(bench.driver().poll(bench.caller, bench.gpu_fd, 0x1) == 0x1);
        CHECK(bench.free(kGroup) == abi::NV_OK);
    });
    for (const std::string& note : bench.notes) MESSAGE(note);
}
