// Debugger sessions: who may open one, how it stops and resumes a channel, how it reads memory; and the reset of a channel.
#include "rm/abi/all_structs.h"
#include "tests/support/channel_client.h"

namespace abi = test::abi;
using namespace sim;
using Fixture = test::MachineFixture;

namespace {

constexpr u32 kDebugger = 0x300, kSystem = 0x301;

struct Bench {
    explicit Bench(Fixture& fixture) : bench(fixture), client(fixture), channel(client.add(abi::NV2080_ENGINE_TYPE_GR0)) {}
    u32 compute() const { return channel.handle + 4; }
    u32 open_debugger(u32 watched, u32 of_client = 0, u32 obsolete = 0) {
        abi::NV83DE_ALLOC_PARAMETERS params{};
        params.hDebuggerClient_Obsolete = obsolete;
        params.hAppClient = of_client;
        params.hClass3dObject = watched;
        return bench.alloc_with(Fixture::kDevice, kDebugger, abi::GT200_DEBUGGER, params);
    }
    Fixture& bench;
    test::ChannelClient client;
    test::ChannelClient::Channel channel;
};

}  // namespace

TEST_CASE("debugger: what may be watched, and by whom") {
    Fixture fixture;
    fixture.run([&] {
        Bench b(fixture);
        CHECK(b.open_debugger(b.compute(), 0, 1) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(b.open_debugger(0x7777) == abi::NV_ERR_INVALID_OBJECT_PARENT);
        CHECK(b.open_debugger(b.channel.handle) == abi::NV_ERR_INVALID_OBJECT);
        CHECK(b.open_debugger(b.compute(), 0xBAD) == abi::NV_ERR_INVALID_OBJECT_HANDLE);
        CHECK(b.open_debugger(b.compute(), fixture.client) == abi::NV_OK);
        CHECK(fixture.free(kDebugger) == abi::NV_OK);
        // A client of another process needs the right to debug.
        const u32 owner = fixture.client;
        fixture.caller.pid = 2;
        REQUIRE(fixture.open("/dev/nvidiactl", fixture.control_fd) == 0);
        fixture.client = fixture.alloc_root();
        abi::NV0080_ALLOC_PARAMETERS device{};
        REQUIRE(fixture.alloc_with(fixture.client, Fixture::kDevice, abi::NV01_DEVICE_0, device) == abi::NV_OK);
        CHECK(b.open_debugger(b.compute(), owner) == abi::NV_ERR_INSUFFICIENT_PERMISSIONS);
        const u32 other = fixture.client;
        fixture.caller.pid = 1;
        abi::NVOS57_PARAMETERS share{};
        share.hClient = owner;
        share.hObject = b.compute();
        share.sharePolicy.target = other;
        share.sharePolicy.accessMask.limbs[0] = 1u << 2;  // RS_ACCESS_DEBUG
        share.sharePolicy.type = 3;                       // RS_SHARE_TYPE_CLIENT
        REQUIRE(fixture.escape(fixture.control_fd, abi::NV_ESC_RM_SHARE, share) == 0);
        REQUIRE(share.status == abi::NV_OK);
        fixture.caller.pid = 2;
        CHECK(b.open_debugger(b.compute(), owner) == abi::NV_OK);
    });
}

TEST_CASE("debugger: a suspended channel takes no work until it is resumed, or its debugger goes") {
    Fixture fixture;
    fixture.run([&] {
        Bench b(fixture);
        REQUIRE(b.open_debugger(b.compute()) == abi::NV_OK);
        u32 expected = 0;
        for (bool resume : {true, false}) {
            abi::NV83DE_CTRL_CMD_DEBUG_SUSPEND_CONTEXT_PARAMS suspended{};
            suspended.waitForEvent = 7;
            REQUIRE(fixture.control_with(kDebugger, abi::NV83DE_CTRL_CMD_DEBUG_SUSPEND_CONTEXT, suspended) == abi::NV_OK);
            CHECK(suspended.waitForEvent == 0);
            CHECK(suspended.hResidentChannel == b.channel.handle);
            b.client.submit(b.channel, test::ChannelClient::release(0, ++expected));
            b.client.sleep(SimTime::from_ms(1));
            CHECK(b.client.data(0) == expected - 1);
            if (resume) CHECK(fixture.control(kDebugger, abi::NV83DE_CTRL_CMD_DEBUG_RESUME_CONTEXT, 0, 0) == abi::NV_OK);
            else CHECK(fixture.free(kDebugger) == abi::NV_OK);
            b.client.sleep(SimTime::from_ms(1));
            CHECK(b.client.data(0) == expected);
        }
    });
}

TEST_CASE("debugger: reads the memory of its client, and nothing else") {
    Fixture fixture;
    fixture.run([&] {
        Bench b(fixture);
        REQUIRE(b.open_debugger(b.compute()) == abi::NV_OK);
        const u32 video = 0x202;  // the client's data
        fixture.machine.gpu().vram().write_u32(b.client.data_pa + 0x1004, 0x04030201);
        fixture.machine.gpu().vram().write_u32(b.client.data_pa + 0x1008, 0x08070605);
        u64 out = fixture.user.map(0x20);
        auto read = [&](u32 memory, u64 offset, u32 length, u64 buffer) {
            abi::NV83DE_CTRL_DEBUG_READ_MEMORY_PARAMS params{};
            params.hMemory = memory;
            params.length = length;
            params.offset = offset;
            params.buffer = buffer;
            return fixture.control_with(kDebugger, abi::NV83DE_CTRL_CMD_DEBUG_READ_MEMORY, params);
        };
        CHECK(read(video, 0x1005, 6, out + 1) == abi::NV_OK);
        CHECK(fixture.user.get<u8>(out) == 0);
        for (u8 i = 0; i < 6; ++i) CHECK(fixture.user.get<u8>(out + 1 + i) == i + 2);
        CHECK(fixture.user.get<u8>(out + 7) == 0);
        CHECK(read(video, 0x1005, 0, out) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(read(video, test::ChannelClient::kDataBytes - 4, 5, out) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(read(video, ~u64{0}, 2, out) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(read(0x7777, 0, 4, out) == abi::NV_ERR_INSUFFICIENT_PERMISSIONS);
        CHECK(read(b.channel.handle, 0, 4, out) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(read(video, 0, 4, 0x10) == abi::NV_ERR_INVALID_ADDRESS);
        abi::NV_MEMORY_ALLOCATION_PARAMS memory{};
        memory.size = 0x1000;
        memory.attr = abi::NVOS32_ATTR_LOCATION::make(abi::NVOS32_ATTR_LOCATION_PCI);
        REQUIRE(fixture.alloc_with(Fixture::kDevice, kSystem, abi::NV01_MEMORY_SYSTEM, memory) == abi::NV_OK);
        rm::Mapping mapping = fixture.map_memory(Fixture::kDevice, kSystem, 0, 0x1000, 60, "/dev/nvidiactl");
        REQUIRE(mapping.error == 0);
        fixture.machine.system_memory().write_u32(mapping.extents[0].offset + 0x10, 0xFEEDF00D);
        CHECK(read(kSystem, 0x10, 4, out) == abi::NV_OK);
        CHECK(fixture.user.get<u32>(out) == 0xFEEDF00D);
    });
}

TEST_CASE("reset of a channel: it ends as one that failed, with Xid 43 in its notifier") {
    Fixture fixture;
    fixture.run([&] {
        Bench b(fixture);
        abi::NV906F_CTRL_CMD_RESET_CHANNEL_PARAMS params{};
        params.engineID = abi::NV2080_ENGINE_TYPE_GR0;
        params.resetReason = 3;
        CHECK(fixture.control_with(b.channel.handle, abi::NV906F_CTRL_CMD_RESET_CHANNEL, params) == abi::NV_ERR_INVALID_PARAMETER);
        params.resetReason = 0;
        params.engineID = abi::NV2080_ENGINE_TYPE_COPY2;
        CHECK(fixture.control_with(b.channel.handle, abi::NV906F_CTRL_CMD_RESET_CHANNEL, params) == abi::NV_ERR_INVALID_ARGUMENT);
        params.engineID = abi::NV2080_ENGINE_TYPE_GR0;
        params.bIsRcPending = 1;
        CHECK(fixture.control_with(b.channel.handle, abi::NV906F_CTRL_CMD_RESET_CHANNEL, params) == abi::NV_OK);
        b.client.sleep(SimTime::from_ms(1));
        CHECK(b.client.notifier_status(b.channel) == 0xFFFF);
        CHECK(b.client.notifier_info(b.channel) == 43);
        b.client.submit(b.channel, test::ChannelClient::release(0, 1));
        b.client.sleep(SimTime::from_ms(1));
        CHECK(b.client.data(0) == 0);
        // The next reset knows that an error is being recovered from.
        CHECK(fixture.control_with(b.channel.handle, abi::NV906F_CTRL_CMD_RESET_CHANNEL, params) == abi::NV_OK);
        CHECK(params.bIsRcPending == 1);
    });
}

TEST_CASE("a profiler of the device is the administrator's: others are refused") {
    for (const char* driver : {"535.183.01", "560.35.03", "565.77", "570.144", "580.95.05"}) {
        CAPTURE(driver);
        harness::MachineOptions options;
        options.driver = driver;
        Fixture bench(options);
        bench.run([&] {
            bench.bring_up();
            constexpr u32 kProfiler = 0x5F0;
            struct {
                u32 client_target = 0, context_target = 0;  // NVB2CC_ALLOC_PARAMETERS
            } params;
            CHECK(bench.alloc(Fixture::kSubdevice, kProfiler, abi::MAXWELL_PROFILER_DEVICE) == abi::NV_ERR_INVALID_ARGUMENT);
            CHECK(bench.alloc_with(Fixture::kSubdevice, kProfiler, abi::MAXWELL_PROFILER_DEVICE, params) ==
                  abi::NV_ERR_INSUFFICIENT_PERMISSIONS);
            CHECK(bench.noted("may not profile the device"));
            bench.caller.privileged = true;
            const u32 user = bench.client;
            bench.client = bench.alloc_root();
            abi::NV0080_ALLOC_PARAMETERS device{};
            REQUIRE(bench.alloc_with(bench.client, Fixture::kDevice, abi::NV01_DEVICE_0, device) == abi::NV_OK);
            abi::NV2080_ALLOC_PARAMETERS subdevice{};
            REQUIRE(bench.alloc_with(Fixture::kDevice, Fixture::kSubdevice, abi::NV20_SUBDEVICE_0, subdevice) == abi::NV_OK);
            CHECK(bench.alloc_with(Fixture::kSubdevice, kProfiler, abi::MAXWELL_PROFILER_DEVICE, params) == abi::NV_OK);
            CHECK(bench.exists(kProfiler));
            CHECK(bench.control(kProfiler, abi::NVB0CC_CTRL_CMD_RELEASE_HWPM_LEGACY, 0, 0) == abi::NV_ERR_INVALID_REQUEST);
            CHECK(bench.free(kProfiler) == abi::NV_OK);
            CHECK_FALSE(bench.exists(kProfiler));
            CHECK(bench.alloc_with(Fixture::kDevice, kProfiler, abi::MAXWELL_PROFILER_DEVICE, params) == abi::NV_ERR_INVALID_OBJECT_PARENT);
            bench.client = user;
        });
    }
}

TEST_CASE("controls that 580 has and 570 has not: refused for their reason there, unknown here") {
    struct Row {
        u32 cmd;
        u32 bytes;
    };
    const Row rows[] = {{abi::NV2080_CTRL_CMD_GPU_GET_SKYLINE_INFO, 220}, {abi::NV2080_CTRL_CMD_THERMAL_SYSTEM_EXECUTE_V2, 1432},
                        {abi::NV2080_CTRL_CMD_GR_GET_SM_ISSUE_RATE_MODIFIER_V2, 2044},
                        {abi::NV2080_CTRL_CMD_GR_GET_SM_ISSUE_THROTTLE_CTRL, 2044}};
    for (const char* driver : {"570.144", "580.95.05"}) {
        CAPTURE(driver);
        harness::MachineOptions options;
        options.driver = driver;
        const bool later = options.driver == "580.95.05";
        Fixture bench(options);
        bench.run([&] {
            bench.bring_up();
            for (const Row& row : rows) {
                CAPTURE(row.cmd);
                CHECK(rm::control_bytes(*rm::find_version(driver).version, row.cmd) ==
                      (later ? std::optional<u32>(row.bytes) : std::nullopt));
                u64 params = bench.user.map(row.bytes);
                CHECK(bench.control(Fixture::kSubdevice, row.cmd, params, row.bytes) == abi::NV_ERR_NOT_SUPPORTED);
                // Its size is the version's; another is refused before anything else.
                CHECK(bench.control(Fixture::kSubdevice, row.cmd, params, row.bytes - 4) ==
                      (later ? abi::NV_ERR_INVALID_ARGUMENT : abi::NV_ERR_NOT_SUPPORTED));
            }
        });
        std::size_t listed = 0;
        for (const auto& entry : bench.machine.kernel().unmodelled().entries())
            if (entry.first.find("control 0x2080") != std::string::npos) ++listed;
        CHECK(listed == (later ? 0U : std::size(rows)));
    }
}
