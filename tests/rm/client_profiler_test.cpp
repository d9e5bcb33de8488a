// What profilers ask: who holds the performance monitors, clock gates, registers, flushes, parts of the memory system, timeslices.
#include "rm/abi/all_structs.h"
#include "rm/abi/info_gr_fb.h"
#include "tests/support/channel_client.h"

namespace abi = test::abi;
using namespace sim;
using Fixture = test::MachineFixture;

namespace {

constexpr u32 kOne = 0x5F0, kTwo = 0x5F1, kOld = 0x5F2, kOther = 0x5F3;

// An administrator's client with two profilers: one of the device, one of a context (any that it names).
struct Bench {
    Fixture fixture;

    void start() {
        fixture.bring_up();
        fixture.caller.privileged = true;
        fixture.client = fixture.alloc_root();
        abi::NV0080_ALLOC_PARAMETERS device{};
        REQUIRE(fixture.alloc_with(fixture.client, Fixture::kDevice, abi::NV01_DEVICE_0, device) == abi::NV_OK);
        abi::NV2080_ALLOC_PARAMETERS subdevice{};
        REQUIRE(fixture.alloc_with(Fixture::kDevice, Fixture::kSubdevice, abi::NV20_SUBDEVICE_0, subdevice) == abi::NV_OK);
        REQUIRE(fixture.alloc(Fixture::kSubdevice, kOld, abi::GF100_PROFILER) == abi::NV_OK);
        struct {
            u32 client = 0, context = 0;
        } target;
        REQUIRE(fixture.alloc_with(Fixture::kSubdevice, kOne, abi::MAXWELL_PROFILER_DEVICE, target) == abi::NV_OK);
        // One of a kind below a subdevice; another client has the second.
        CHECK(fixture.alloc_with(Fixture::kSubdevice, kTwo, abi::MAXWELL_PROFILER_DEVICE, target) == abi::NV_ERR_STATE_IN_USE);
    }
    u32 ask(u32 object, u32 cmd) { return fixture.control(object, cmd, 0, 0); }
    template <typename T>
    u32 ask(u32 object, u32 cmd, T params) {
        return fixture.control_with(object, cmd, params);
    }
};

}  // namespace

TEST_CASE("profiler: a user has none, neither the old class nor the new") {
    Fixture fixture;
    fixture.run([&] {
        fixture.bring_up();
        CHECK(fixture.alloc(Fixture::kSubdevice, kOld, abi::GF100_PROFILER) == abi::NV_ERR_INSUFFICIENT_PERMISSIONS);
        CHECK_FALSE(fixture.exists(kOld));
    });
}

TEST_CASE("profiler: systems are reserved, bound and released in order") {
    Bench bench;
    bench.fixture.run([&] {
        bench.start();
        const abi::NVB0CC_CTRL_RESERVE_HWPM_LEGACY_PARAMS hwpm{};
        const abi::NVB0CC_CTRL_RESERVE_PM_AREA_SMPC_PARAMS smpc{};
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_BIND_PM_RESOURCES) == abi::NV_ERR_INVALID_STATE);
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_RELEASE_HWPM_LEGACY) == abi::NV_ERR_INVALID_REQUEST);
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_RESERVE_HWPM_LEGACY, hwpm) == abi::NV_OK);
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_RESERVE_PM_AREA_PC_SAMPLER) == abi::NV_ERR_INVALID_STATE);  // of no context
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_RELEASE_PM_AREA_PC_SAMPLER) == abi::NV_ERR_INVALID_REQUEST);
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_UNBIND_PM_RESOURCES) == abi::NV_ERR_INVALID_STATE);
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_BIND_PM_RESOURCES) == abi::NV_OK);
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_BIND_PM_RESOURCES) == abi::NV_ERR_INVALID_STATE);
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_RESERVE_PM_AREA_SMPC, smpc) == abi::NV_ERR_INVALID_STATE);
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_UNBIND_PM_RESOURCES) == abi::NV_OK);
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_RESERVE_PM_AREA_SMPC, smpc) == abi::NV_OK);

        // Another client's profiler, with a context.
        const u32 first = bench.fixture.client;
        bench.fixture.client = bench.fixture.alloc_root();
        abi::NV0080_ALLOC_PARAMETERS device{};
        REQUIRE(bench.fixture.alloc_with(bench.fixture.client, Fixture::kDevice, abi::NV01_DEVICE_0, device) == abi::NV_OK);
        abi::NV2080_ALLOC_PARAMETERS subdevice{};
        REQUIRE(bench.fixture.alloc_with(Fixture::kDevice, Fixture::kSubdevice, abi::NV20_SUBDEVICE_0, subdevice) == abi::NV_OK);
        struct {
            u32 client = 0, context = 0x77;
        } target;
        REQUIRE(bench.fixture.alloc_with(Fixture::kSubdevice, kTwo, abi::MAXWELL_PROFILER_DEVICE, target) == abi::NV_OK);
        CHECK(bench.ask(kTwo, abi::NVB0CC_CTRL_CMD_RESERVE_HWPM_LEGACY, hwpm) == abi::NV_ERR_STATE_IN_USE);
        CHECK(bench.ask(kTwo, abi::NVB0CC_CTRL_CMD_RESERVE_PM_AREA_SMPC, smpc) == abi::NV_ERR_STATE_IN_USE);
        CHECK(bench.ask(kTwo, abi::NVB0CC_CTRL_CMD_RESERVE_PM_AREA_PC_SAMPLER) == abi::NV_OK);
        CHECK(bench.ask(kTwo, abi::NVB0CC_CTRL_CMD_RELEASE_PM_AREA_PC_SAMPLER) == abi::NV_OK);
        const u32 second = bench.fixture.client;
        bench.fixture.client = first;
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_RELEASE_PM_AREA_SMPC) == abi::NV_OK);
        bench.fixture.client = second;
        CHECK(bench.ask(kTwo, abi::NVB0CC_CTRL_CMD_RESERVE_PM_AREA_SMPC, smpc) == abi::NV_OK);
        // The rest goes with the object.
        bench.fixture.client = first;
        CHECK(bench.fixture.free(kOne) == abi::NV_OK);
        bench.fixture.client = second;
        CHECK(bench.ask(kTwo, abi::NVB0CC_CTRL_CMD_RESERVE_HWPM_LEGACY, hwpm) == abi::NV_OK);
    });
}

TEST_CASE("profiler: records and registers of monitors are refused, and listed; what the chip has not is only refused") {
    Bench bench;
    bench.fixture.run([&] {
        bench.start();
        abi::NVB0CC_CTRL_ALLOC_PMA_STREAM_PARAMS stream{};
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_ALLOC_PMA_STREAM, stream) == abi::NV_ERR_OBJECT_NOT_FOUND);
        stream.hMemPmaBuffer = stream.hMemPmaBytesAvailable = Fixture::kSubdevice;
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_ALLOC_PMA_STREAM, stream) == abi::NV_ERR_INVALID_OBJECT);
        const auto listed = [&] { return bench.fixture.machine.kernel().unmodelled().entries().count("performance monitors") == 1; };
        CHECK_FALSE(listed());
        abi::NV_MEMORY_ALLOCATION_PARAMS memory{};
        memory.size = 0x10000;
        REQUIRE(bench.fixture.alloc_with(Fixture::kDevice, kOther, abi::NV01_MEMORY_LOCAL_USER, memory) == abi::NV_OK);
        stream.hMemPmaBuffer = stream.hMemPmaBytesAvailable = kOther;
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_ALLOC_PMA_STREAM, stream) == abi::NV_ERR_NOT_SUPPORTED);
        CHECK(listed());
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_FREE_PMA_STREAM, abi::NVB0CC_CTRL_FREE_PMA_STREAM_PARAMS{}) ==
              abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_PMA_STREAM_UPDATE_GET_PUT, abi::NVB0CC_CTRL_PMA_STREAM_UPDATE_GET_PUT_PARAMS{}) ==
              abi::NV_ERR_INVALID_ARGUMENT);
        abi::NVB0CC_CTRL_EXEC_REG_OPS_PARAMS ops{};
        ops.regOpCount = 125;
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_EXEC_REG_OPS, ops) == abi::NV_ERR_INVALID_ARGUMENT);
        ops.regOpCount = 1;
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_EXEC_REG_OPS, ops) == abi::NV_ERR_NOT_SUPPORTED);
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_GET_TOTAL_HS_CREDITS, abi::NVB0CC_CTRL_GET_TOTAL_HS_CREDITS_PARAMS{}) ==
              abi::NV_ERR_NOT_SUPPORTED);
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_RESERVE_CCU_PROF, abi::NVB0CC_CTRL_RESERVE_CCUPROF_PARAMS{}) ==
              abi::NV_ERR_NOT_SUPPORTED);
        CHECK(bench.fixture.machine.kernel().unmodelled().entries().size() == 1);
    });
}

TEST_CASE("profiler: gates are asked for and given back by each profiler for itself") {
    constexpr u32 kDisable = 1, kEnable = 2, kRelease = 3, kBlcg = 2, kElpg = 6;  // values; places of the fields
    Bench bench;
    bench.fixture.run([&] {
        bench.start();
        const auto request = [&](u32 object, u32 cmd, u32 mask) {
            abi::NVB0CC_CTRL_POWER_REQUEST_FEATURES_PARAMS params{};
            params.controlMask = mask;
            params.statusMask = ~u32{0};
            CHECK(bench.fixture.control_with(object, cmd, params) == abi::NV_OK);
            return params;
        };
        auto first = request(kOne, abi::NVB0CC_CTRL_CMD_POWER_REQUEST_FEATURES, kDisable << kBlcg | kDisable << kElpg);
        CHECK(first.globalStatus == abi::NV_OK);
        CHECK(first.statusMask == 0);
        auto same = request(kOld, abi::NV90CC_CTRL_CMD_POWER_REQUEST_FEATURES, kDisable << kBlcg);
        CHECK(same.globalStatus == abi::NV_OK);
        auto other = request(kOld, abi::NV90CC_CTRL_CMD_POWER_REQUEST_FEATURES, kEnable << kElpg);
        CHECK(other.globalStatus == abi::NV_ERR_STATE_IN_USE);
        CHECK(other.statusMask == 1u << kElpg);
        auto own = request(kOne, abi::NVB0CC_CTRL_CMD_POWER_REQUEST_FEATURES, kEnable << kElpg);
        CHECK(own.globalStatus == abi::NV_ERR_INVALID_REQUEST);
        abi::NVB0CC_CTRL_POWER_RELEASE_FEATURES_PARAMS release{kRelease << kElpg};
        CHECK(bench.ask(kOld, abi::NV90CC_CTRL_CMD_POWER_RELEASE_FEATURES, release) == abi::NV_ERR_INVALID_REQUEST);
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_POWER_RELEASE_FEATURES, release) == abi::NV_OK);
        CHECK(request(kOld, abi::NV90CC_CTRL_CMD_POWER_REQUEST_FEATURES, kEnable << kElpg).globalStatus == abi::NV_OK);
        release.controlMask = kEnable << kElpg;
        CHECK(bench.ask(kOld, abi::NV90CC_CTRL_CMD_POWER_RELEASE_FEATURES, release) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(bench.ask(kOne, abi::NVB0CC_CTRL_CMD_POWER_REQUEST_FEATURES,
                        abi::NVB0CC_CTRL_POWER_REQUEST_FEATURES_PARAMS{0, kRelease, 0}) == abi::NV_ERR_INVALID_ARGUMENT);
    });
}

TEST_CASE("registers by control: a user's are refused one by one, or all together") {
    Fixture fixture;
    fixture.run([&] {
        fixture.bring_up();
        abi::NV2080_CTRL_GPU_EXEC_REG_OPS_PARAMS params{};
        CHECK(fixture.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_EXEC_REG_OPS, params) == abi::NV_ERR_INVALID_PARAM_STRUCT);
        abi::NV2080_CTRL_GPU_REG_OP ops[2]{};
        ops[0].regStatus = 0xEE;
        ops[1].regOffset = ~u32{0};
        params.regOpCount = 2;
        CHECK(fixture.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_EXEC_REG_OPS, params) == abi::NV_ERR_INVALID_ARGUMENT);
        params.regOps = fixture.user.map(sizeof ops);
        fixture.user.set(params.regOps, ops[0]);
        fixture.user.set(params.regOps + sizeof(ops[0]), ops[1]);
        params.hClientTarget = 1;
        CHECK(fixture.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_EXEC_REG_OPS, params) == abi::NV_ERR_INVALID_PARAM_STRUCT);
        params.hClientTarget = 0;
        CHECK(fixture.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_EXEC_REG_OPS, params) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(fixture.user.get<abi::NV2080_CTRL_GPU_REG_OP>(params.regOps).regStatus == 0xEE);
        params.bNonTransactional = 1;
        CHECK(fixture.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_EXEC_REG_OPS, params) == abi::NV_OK);
        constexpr u8 kInvalidOffset = 4;
        for (u64 at : {u64{0}, u64{sizeof(ops[0])}})
            CHECK(fixture.user.get<abi::NV2080_CTRL_GPU_REG_OP>(params.regOps + at).regStatus == kInvalidOffset);
        CHECK(fixture.machine.kernel().unmodelled().entries().empty());
        // An administrator's register inside BAR0 would be read.
        fixture.caller.privileged = true;
        CHECK(fixture.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_EXEC_REG_OPS, params) == abi::NV_ERR_NOT_SUPPORTED);
        CHECK(fixture.machine.kernel().unmodelled().entries().count("register operations of an administrator") == 1);
        // A list that is too long, or not there.
        params.regOpCount = 1u << 20;
        CHECK(fixture.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_EXEC_REG_OPS, params) == abi::NV_ERR_INVALID_ARGUMENT);
        params.regOpCount = 1;
        params.regOps = 8;
        CHECK(fixture.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_EXEC_REG_OPS, params) == abi::NV_ERR_INVALID_ADDRESS);
    });
}

TEST_CASE("flush of the GPU's cache: the statuses of each operation and aperture") {
    constexpr u32 kVideo = 0, kSystem = 1, kPeer = 2, kNone = 3, kWriteBack = 4, kInvalidate = 8, kFull = 0x10, kFlush = 0x20;
    Fixture fixture;
    fixture.run([&] {
        fixture.bring_up();
        const auto flush = [&](u32 flags, u32 count = 0, u64 bytes = 0) {
            abi::NV2080_CTRL_FB_FLUSH_GPU_CACHE_PARAMS params{};
            params.flags = flags;
            params.addressArraySize = count;
            params.memBlockSizeBytes = bytes;
            return fixture.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_FB_FLUSH_GPU_CACHE, params);
        };
        CHECK(flush(0) == abi::NV_OK);
        CHECK(flush(kFlush) == abi::NV_OK);
        for (u32 aperture : {kVideo, kSystem, kPeer}) CHECK(flush(aperture | kWriteBack | kInvalidate | kFull | kFlush) == abi::NV_OK);
        CHECK(flush(kVideo | kInvalidate | kFull) == abi::NV_OK);
        CHECK(flush(kVideo | kWriteBack | kFull) == abi::NV_ERR_NOT_SUPPORTED);
        CHECK(flush(kSystem | kWriteBack | kFull) == abi::NV_OK);
        CHECK(flush(kNone | kWriteBack | kFull) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(flush(kVideo | kWriteBack, 0, 4096) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(flush(kVideo | kWriteBack, 501, 4096) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(flush(kVideo | kWriteBack, 1, 0) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(flush(kVideo | kWriteBack, 500, 4096) == abi::NV_ERR_GENERIC);
    });
}

TEST_CASE("the parts of the memory system are as many as every other answer says") {
    for (const char* chip : {"t4", "rtx2080"}) {
        CAPTURE(chip);
        harness::MachineOptions options;
        options.chip = chip;
        Fixture fixture(options);
        fixture.run([&] {
            fixture.bring_up();
            const auto fb = [&](u32 index) {
                abi::NV2080_CTRL_FB_GET_INFO_V2_PARAMS info{};
                info.fbInfoListSize = 1;
                info.fbInfoList[0].index = index;
                REQUIRE(fixture.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_FB_GET_INFO_V2, info) == abi::NV_OK);
                return info.fbInfoList[0].data;
            };
            abi::NV2080_CTRL_FB_GET_FS_INFO_PARAMS params{};
            const auto query = [&](u16 type, u32 fbp) {
                params = {};
                params.numQueries = 1;
                params.queries[0].queryType = type;
                params.queries[0].queryParams.ltc.fbpIndex = fbp;
                const u32 status = fixture.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_FB_GET_FS_INFO, params);
                return status;
            };
            CHECK(query(1, ~u32{0}) == abi::NV_OK);
            CHECK(params.queries[0].queryParams.fbp.fbpEnMask == fb(abi::NV2080_CTRL_FB_INFO_INDEX_FBP_MASK));
            const u32 fbps = fb(abi::NV2080_CTRL_FB_INFO_INDEX_FBP_COUNT);
            const auto total = [&](u16 type) {
                int count = 0;
                for (u32 fbp = 0; fbp < fbps; ++fbp) {
                    CHECK(query(type, fbp) == abi::NV_OK);
                    count += std::popcount(params.queries[0].queryParams.ltc.ltcEnMask);
                }
                return static_cast<u32>(count);
            };
            CHECK(total(2) == fb(abi::NV2080_CTRL_FB_INFO_INDEX_LTC_COUNT));
            CHECK(total(3) == fb(abi::NV2080_CTRL_FB_INFO_INDEX_LTS_COUNT));
            CHECK(total(4) == fb(abi::NV2080_CTRL_FB_INFO_INDEX_PARTITION_COUNT));
            CHECK(query(12, 1) == abi::NV_OK);
            CHECK(params.queries[0].queryParams.fbpLogicalMap.fbpLogicalIndex == 1);
            CHECK(query(2, fbps) == abi::NV_ERR_INVALID_ARGUMENT);
            CHECK(query(0, 0) == abi::NV_ERR_INVALID_ARGUMENT);
            CHECK(query(6, 0) == abi::NV_ERR_NOT_SUPPORTED);  // of a partition
            params = {};
            params.numQueries = 121;
            CHECK(fixture.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_FB_GET_FS_INFO, params) == abi::NV_ERR_INVALID_ARGUMENT);
        });
    }
}

TEST_CASE("the list of queries about the memory system was shorter in 535") {
    harness::MachineOptions options;
    options.driver = "535.183.01";
    Fixture fixture(options);
    fixture.run([&] {
        fixture.bring_up();
        constexpr u32 kBytes = 8 + 96 * sizeof(abi::NV2080_CTRL_FB_FS_INFO_QUERY);
        const u64 params = fixture.user.map(kBytes);
        const auto ask = [&](u16 count) {
            fixture.user.set(params, count);
            for (u64 i = 0; i < 96; ++i) fixture.user.set(params + 8 + i * sizeof(abi::NV2080_CTRL_FB_FS_INFO_QUERY), u16{1});
            return fixture.control(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_FB_GET_FS_INFO, params, kBytes);
        };
        CHECK(ask(96) == abi::NV_OK);
        const auto last = fixture.user.get<abi::NV2080_CTRL_FB_FS_INFO_QUERY>(params + kBytes - sizeof(abi::NV2080_CTRL_FB_FS_INFO_QUERY));
        CHECK(last.queryParams.fbp.fbpEnMask == 0xF);
        CHECK(fixture.control(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_FB_GET_FS_INFO, params, kBytes + 768) ==
              abi::NV_ERR_INVALID_ARGUMENT);
    });
}

TEST_CASE("a group's timeslice is the default until it is set") {
    constexpr u32 kGroup = 0x700;
    Fixture fixture;
    fixture.run([&] {
        fixture.bring_up();
        abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS group{};
        group.engineType = abi::NV2080_ENGINE_TYPE_GR0;
        REQUIRE(fixture.alloc_with(Fixture::kDevice, kGroup, abi::KEPLER_CHANNEL_GROUP_A, group) == abi::NV_OK);
        abi::NVA06C_CTRL_TIMESLICE_PARAMS params{};
        CHECK(fixture.control_with(kGroup, abi::NVA06C_CTRL_CMD_GET_TIMESLICE, params) == abi::NV_OK);
        CHECK(params.timesliceUs == 1024);
        params.timesliceUs = 5000;
        CHECK(fixture.control_with(kGroup, abi::NVA06C_CTRL_CMD_SET_TIMESLICE, params) == abi::NV_OK);
        params.timesliceUs = 0;
        CHECK(fixture.control_with(kGroup, abi::NVA06C_CTRL_CMD_SET_TIMESLICE, params) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(fixture.control_with(kGroup, abi::NVA06C_CTRL_CMD_GET_TIMESLICE, params) == abi::NV_OK);
        CHECK(params.timesliceUs == 5000);
    });
}

TEST_CASE("the memory is ready and never encrypted, by the numbers that each version has for the questions") {
    constexpr u32 kFirst = 0x20801357, kSecond = 0x20801358, kThird = 0x20801359;
    const auto ask = [](const char* driver, u32 cmd) {
        harness::MachineOptions options;
        options.driver = driver;
        Fixture fixture(options);
        std::optional<u32> answer;
        fixture.run([&] {
            fixture.bring_up();
            u32 value = 0xEEEE;
            if (fixture.control_with(Fixture::kSubdevice, cmd, value) == abi::NV_OK) answer = value;
        });
        return answer;
    };
    CHECK(ask("570.144", kFirst) == 1);  // NV2080_CTRL_FB_STATUS_READY
    CHECK(ask("570.144", kSecond) == 0);
    CHECK(ask("570.144", kThird) == 0);
    CHECK(ask("580.95.05", kFirst) == 0);
    CHECK(ask("580.95.05", kSecond) == 0);
    CHECK_FALSE(ask("580.95.05", kThird).has_value());
    CHECK_FALSE(ask("565.77", kFirst).has_value());
}

TEST_CASE("controls that no object exports, and objects that need a fabric, are refused without being listed") {
    Fixture fixture;
    fixture.run([&] {
        fixture.bring_up();
        CHECK(fixture.control(Fixture::kDevice, abi::control_0080028b, fixture.user.map(64), 64) == abi::NV_ERR_NOT_SUPPORTED);
        CHECK(fixture.control(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_DMABUF_EXPORT_OBJECTS_TO_FD, fixture.user.map(4096), 3104) ==
              abi::NV_ERR_NOT_SUPPORTED);
        CHECK(fixture.alloc(Fixture::kSubdevice, kOther, abi::NV_MEMORY_FABRIC, fixture.user.map(48), 48) == abi::NV_ERR_NOT_SUPPORTED);
        CHECK(fixture.machine.kernel().unmodelled().entries().empty());
    });
}
