// One fact, asked by every route that tells it: engines, classes, copy engines, memory, graphics, ids and channels must agree.
#include <fmt/format.h>

#include <bit>
#include <set>

#include "gpu_model/chip.h"
#include "rm/abi/all_structs.h"
#include "rm/abi/info_gpu.h"
#include "rm/abi/info_gr_fb.h"
#include "tests/support/machine_fixture.h"

namespace abi = test::abi;
using namespace sim;
using Fixture = test::MachineFixture;

namespace {

constexpr const char* kChips[] = {"t4", "rtx2080", "rtx5000"};

u32 fb(Fixture& bench, u32 index) {
    abi::NV2080_CTRL_FB_GET_INFO_V2_PARAMS params{};
    params.fbInfoListSize = 1;
    params.fbInfoList[0].index = index;
    REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_FB_GET_INFO_V2, params) == abi::NV_OK);
    return params.fbInfoList[0].data;
}

u32 gr(Fixture& bench, u32 index) {
    abi::NV0080_CTRL_GR_GET_INFO_V2_PARAMS params{};
    params.grInfoListSize = 1;
    params.grInfoList[0].index = index;
    REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GR_GET_INFO_V2, params) == abi::NV_OK);
    return params.grInfoList[0].data;
}

// The same through the older control, whose list stands behind a pointer.
u32 old_list(Fixture& bench, u32 cmd, u32 index) {
    abi::NVXXXX_CTRL_XXX_INFO entry{index, 0xDEADBEEF};
    u64 list = bench.user.put(entry);
    abi::NV2080_CTRL_BUS_GET_INFO_PARAMS params{};
    params.busInfoListSize = 1;
    params.busInfoList = list;
    REQUIRE(bench.control_with(Fixture::kSubdevice, cmd, params) == abi::NV_OK);
    return bench.user.get<abi::NVXXXX_CTRL_XXX_INFO>(list).data;
}

template <typename Body>
void on_each_chip(Body body) {
    for (const char* chip : kChips) {
        std::string name = chip;
        CAPTURE(name);
        Fixture bench({.chip = name});
        const gpu::ChipSpec& spec = *gpu::find_chip(chip);
        bench.run([&] {
            bench.bring_up();
            body(bench, spec);
        });
    }
}

}  // namespace

TEST_CASE("coherence: engines and copy engines, by list, by mask and one by one") {
    on_each_chip([](Fixture& bench, const gpu::ChipSpec& spec) {
        abi::NV2080_CTRL_GPU_GET_ENGINES_V2_PARAMS engines{};
        REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_GET_ENGINES_V2, engines) == abi::NV_OK);
        CHECK(engines.engineCount == spec.engines.size());
        abi::NV2080_CTRL_CE_GET_ALL_CAPS_PARAMS all{};
        REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_CE_GET_ALL_CAPS, all) == abi::NV_OK);
        u64 listed = 0;
        for (u32 i = 0; i < engines.engineCount; ++i) {
            u32 engine = engines.engineList[i];
            if (engine < abi::NV2080_ENGINE_TYPE_COPY0 || engine > abi::NV2080_ENGINE_TYPE_COPY9) continue;
            u32 instance = engine - abi::NV2080_ENGINE_TYPE_COPY0;
            listed |= u64{1} << instance;
            abi::NV2080_CTRL_CE_GET_CAPS_V2_PARAMS one{};
            one.ceEngineType = engine;
            CHECK(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_CE_GET_CAPS_V2, one) == abi::NV_OK);
            CHECK(one.capsTbl[0] == all.capsTbl[instance][0]);
            CHECK(one.capsTbl[1] == all.capsTbl[instance][1]);
        }
        CHECK(listed == all.present);
        u32 absent = static_cast<u32>(std::popcount(all.present));
        abi::NV2080_CTRL_CE_GET_CAPS_V2_PARAMS none{};
        none.ceEngineType = abi::NV2080_ENGINE_TYPE_COPY0 + absent;
        CHECK(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_CE_GET_CAPS_V2, none) == abi::NV_ERR_NOT_SUPPORTED);
        // A group exists on exactly the listed copy engines.
        for (u32 instance = 0; instance < 10; ++instance) {
            abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS group{};
            group.engineType = abi::NV2080_ENGINE_TYPE_COPY0 + instance;
            u32 status = bench.alloc_with(Fixture::kDevice, 0x5000 + instance, abi::KEPLER_CHANNEL_GROUP_A, group);
            CHECK((status == abi::NV_OK) == ((all.present >> instance & 1) != 0));
        }
    });
}

TEST_CASE("coherence: the class list by both forms, and what it says can be allocated") {
    on_each_chip([](Fixture& bench, const gpu::ChipSpec&) {
        abi::NV0080_CTRL_GPU_GET_CLASSLIST_V2_PARAMS list{};
        REQUIRE(bench.control_with(Fixture::kDevice, abi::NV0080_CTRL_CMD_GPU_GET_CLASSLIST_V2, list) == abi::NV_OK);
        abi::NV0080_CTRL_GPU_GET_CLASSLIST_PARAMS old{};
        REQUIRE(bench.control_with(Fixture::kDevice, abi::NV0080_CTRL_CMD_GPU_GET_CLASSLIST, old) == abi::NV_OK);
        REQUIRE(old.numClasses == list.numClasses);
        old.classList = bench.user.map(u64{old.numClasses} * sizeof(u32));
        REQUIRE(bench.control_with(Fixture::kDevice, abi::NV0080_CTRL_CMD_GPU_GET_CLASSLIST, old) == abi::NV_OK);
        std::set<u32> classes;
        for (u32 i = 0; i < list.numClasses; ++i) {
            CHECK(bench.user.get<u32>(old.classList + u64{i} * sizeof(u32)) == list.classList[i]);
            classes.insert(list.classList[i]);
        }
        for (u32 wanted : {abi::TURING_CHANNEL_GPFIFO_A, abi::TURING_COMPUTE_A, abi::TURING_DMA_COPY_A, abi::TURING_USERMODE_A,
                           abi::KEPLER_CHANNEL_GROUP_A, abi::FERMI_CONTEXT_SHARE_A, abi::FERMI_VASPACE_A})
            CHECK(classes.count(wanted) == 1);
        for (u32 foreign : {abi::HOPPER_CHANNEL_GPFIFO_A, abi::HOPPER_COMPUTE_A, abi::AMPERE_DMA_COPY_A}) {
            CHECK(classes.count(foreign) == 0);
        }
        CHECK(bench.alloc(Fixture::kSubdevice, 0x77, abi::TURING_USERMODE_A) == abi::NV_OK);
        CHECK(bench.alloc(Fixture::kSubdevice, 0x78, abi::HOPPER_USERMODE_A) == abi::NV_ERR_INVALID_CLASS);
    });
}

TEST_CASE("coherence: video memory and BAR1, by every control and by the heap call") {
    on_each_chip([](Fixture& bench, const gpu::ChipSpec& spec) {
        CHECK(fb(bench, abi::NV2080_CTRL_FB_INFO_INDEX_TOTAL_RAM_SIZE) == (spec.vram_bytes >> 10));
        CHECK(fb(bench, abi::NV2080_CTRL_FB_INFO_INDEX_BAR1_SIZE) == (spec.bar1_bytes >> 10));
        CHECK(fb(bench, abi::NV2080_CTRL_FB_INFO_INDEX_BUS_WIDTH) == fb(bench, abi::NV2080_CTRL_FB_INFO_INDEX_PARTITION_COUNT) * 32);
        CHECK(std::popcount(fb(bench, abi::NV2080_CTRL_FB_INFO_INDEX_FBP_MASK)) ==
              static_cast<int>(fb(bench, abi::NV2080_CTRL_FB_INFO_INDEX_FBP_COUNT)));
        CHECK(gr(bench, abi::NV0080_CTRL_GR_INFO_INDEX_LITTER_NUM_FBPS) == fb(bench, abi::NV2080_CTRL_FB_INFO_INDEX_FBP_COUNT));
        CHECK(gr(bench, abi::NV0080_CTRL_GR_INFO_INDEX_LITTER_NUM_LTCS) == fb(bench, abi::NV2080_CTRL_FB_INFO_INDEX_LTC_COUNT));
        CHECK(old_list(bench, abi::NV2080_CTRL_CMD_FB_GET_INFO, abi::NV2080_CTRL_FB_INFO_INDEX_RAM_SIZE) == (spec.vram_bytes >> 10));

        auto heap = [&] {
            abi::NVOS32_PARAMETERS params{};
            params.hRoot = bench.client;
            params.hObjectParent = Fixture::kDevice;
            params.function = abi::NVOS32_FUNCTION_INFO;
            CHECK(bench.escape(bench.control_fd, abi::NV_ESC_RM_VID_HEAP_CONTROL, params) == 0);
            CHECK(params.status == abi::NV_OK);
            return params;
        };
        u64 free_before = heap().free;
        CHECK((heap().total >> 10) == fb(bench, abi::NV2080_CTRL_FB_INFO_INDEX_HEAP_SIZE));
        CHECK((free_before >> 10) == fb(bench, abi::NV2080_CTRL_FB_INFO_INDEX_HEAP_FREE));
        abi::NV_MEMORY_ALLOCATION_PARAMS memory{};
        memory.size = 0x400000;
        REQUIRE(bench.alloc_with(Fixture::kDevice, 0x90, abi::NV01_MEMORY_LOCAL_USER, memory) == abi::NV_OK);
        CHECK(heap().free == free_before - 0x400000);
        CHECK(fb(bench, abi::NV2080_CTRL_FB_INFO_INDEX_HEAP_FREE) == (heap().free >> 10));
        CHECK(bench.free(0x90) == abi::NV_OK);
        CHECK(heap().free == free_before);

        abi::NV2080_CTRL_BUS_GET_PCI_BAR_INFO_PARAMS bars{};
        REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_BUS_GET_PCI_BAR_INFO, bars) == abi::NV_OK);
        CHECK(bars.pciBarInfo[1].barSizeBytes == spec.bar1_bytes);
    });
}

TEST_CASE("coherence: graphics counts, masks and the order of SMs") {
    on_each_chip([](Fixture& bench, const gpu::ChipSpec& spec) {
        abi::NV2080_CTRL_GR_GET_GPC_MASK_PARAMS gpcs{};
        REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GR_GET_GPC_MASK, gpcs) == abi::NV_OK);
        CHECK(static_cast<u32>(std::popcount(gpcs.gpcMask)) == gr(bench, abi::NV0080_CTRL_GR_INFO_INDEX_SHADER_PIPE_COUNT));
        u32 tpcs = 0;
        for (u32 gpc = 0; gpc < 32; ++gpc) {
            abi::NV2080_CTRL_GR_GET_TPC_MASK_PARAMS mask{};
            mask.gpcId = gpc;
            REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GR_GET_TPC_MASK, mask) == abi::NV_OK);
            CHECK((mask.tpcMask != 0) == ((gpcs.gpcMask >> gpc & 1) != 0));
            tpcs += static_cast<u32>(std::popcount(mask.tpcMask));
            abi::NV2080_CTRL_GRMGR_GET_GR_FS_INFO_PARAMS fs{};
            fs.numQueries = 1;
            fs.queries[0].queryType = 3;  // NV2080_CTRL_GRMGR_GR_FS_INFO_QUERY_TPC_MASK
            fs.queries[0].queryData.tpcMaskData.gpcId = gpc;
            REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GRMGR_GET_GR_FS_INFO, fs) == abi::NV_OK);
            if ((gpcs.gpcMask >> gpc & 1) != 0) CHECK(fs.queries[0].queryData.tpcMaskData.tpcMask == mask.tpcMask);
            else CHECK(fs.queries[0].status != abi::NV_OK);
        }
        CHECK(tpcs == spec.tpc_count);
        CHECK(tpcs == gr(bench, abi::NV0080_CTRL_GR_INFO_INDEX_SHADER_PIPE_SUB_COUNT));
        CHECK(gr(bench, abi::NV0080_CTRL_GR_INFO_INDEX_GPU_CORE_COUNT) == spec.sm_count * 64);

        abi::NV2080_CTRL_GR_GET_GLOBAL_SM_ORDER_PARAMS order{};
        REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GR_GET_GLOBAL_SM_ORDER, order) == abi::NV_OK);
        abi::NV2080_CTRL_GR_GET_SM_TO_GPC_TPC_MAPPINGS_PARAMS mappings{};
        REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GR_GET_SM_TO_GPC_TPC_MAPPINGS, mappings) == abi::NV_OK);
        CHECK(order.numSm == spec.sm_count);
        CHECK(order.numTpc == spec.tpc_count);
        CHECK(mappings.smCount == order.numSm);
        for (u32 i = 0; i < order.numSm; ++i) {
            CHECK(mappings.smId[i].gpcId == order.globalSmId[i].gpcId);
            CHECK(mappings.smId[i].tpcId == order.globalSmId[i].localTpcId);
            CHECK((gpcs.gpcMask >> order.globalSmId[i].gpcId & 1) != 0);
        }
        u32 version = gr(bench, abi::NV0080_CTRL_GR_INFO_INDEX_SM_VERSION);
        CHECK(version == abi::NV2080_CTRL_GR_INFO_SM_VERSION_7_05);
        CHECK(old_list(bench, abi::NV2080_CTRL_CMD_GPU_GET_INFO, abi::NV2080_CTRL_GPU_INFO_INDEX_GPU_SM_VERSION) == version);
        // The old graphics control reads and writes the caller's list.
        abi::NVXXXX_CTRL_XXX_INFO entry{abi::NV0080_CTRL_GR_INFO_INDEX_SM_VERSION, 0};
        abi::NV2080_CTRL_GR_GET_INFO_PARAMS old{};
        old.grInfoListSize = 1;
        old.grInfoList = bench.user.put(entry);
        REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GR_GET_INFO, old) == abi::NV_OK);
        CHECK(bench.user.get<abi::NVXXXX_CTRL_XXX_INFO>(old.grInfoList).data == version);
        old.grInfoList = 0x10;
        CHECK(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GR_GET_INFO, old) == abi::NV_ERR_INVALID_ADDRESS);
    });
}

TEST_CASE("coherence: GPU ids, PCI place and UUID") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        abi::NV0000_CTRL_GPU_GET_PROBED_IDS_PARAMS probed{};
        REQUIRE(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_GPU_GET_PROBED_IDS, probed) == abi::NV_OK);
        u32 id = probed.gpuIds[0];
        abi::NV0000_CTRL_GPU_GET_ATTACHED_IDS_PARAMS attached{};
        REQUIRE(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_GPU_GET_ATTACHED_IDS, attached) == abi::NV_OK);
        CHECK(attached.gpuIds[0] == id);
        abi::NV0000_CTRL_GPU_GET_ACTIVE_DEVICE_IDS_PARAMS active{};
        REQUIRE(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_GPU_GET_ACTIVE_DEVICE_IDS, active) == abi::NV_OK);
        CHECK(active.numDevices == 1);
        CHECK(active.devices[0].gpuId == id);
        abi::NV2080_CTRL_GPU_GET_ID_PARAMS own{};
        REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_GET_ID, own) == abi::NV_OK);
        CHECK(own.gpuId == id);
        abi::NV0000_CTRL_GPU_GET_ID_INFO_V2_PARAMS info{};
        info.gpuId = id;
        REQUIRE(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_GPU_GET_ID_INFO_V2, info) == abi::NV_OK);
        CHECK(info.boardId == id);
        CHECK((info.gpuFlags & 1) == 1);  // in use: this client has a device
        info.gpuId = id + 1;
        CHECK(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_GPU_GET_ID_INFO_V2, info) == abi::NV_ERR_INVALID_ARGUMENT);

        abi::NV0000_CTRL_GPU_GET_PCI_INFO_PARAMS place{};
        place.gpuId = id;
        REQUIRE(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_GPU_GET_PCI_INFO, place) == abi::NV_OK);
        CHECK(old_list(bench, abi::NV2080_CTRL_CMD_BUS_GET_INFO, abi::NV2080_CTRL_BUS_INFO_INDEX_BUS_NUMBER) == place.bus);
        CHECK(old_list(bench, abi::NV2080_CTRL_CMD_BUS_GET_INFO, abi::NV2080_CTRL_BUS_INFO_INDEX_DEVICE_NUMBER) == place.slot);
        CHECK(old_list(bench, abi::NV2080_CTRL_CMD_BUS_GET_INFO, abi::NV2080_CTRL_BUS_INFO_INDEX_DOMAIN_NUMBER) == place.domain);

        abi::NV2080_CTRL_GPU_GET_GID_INFO_PARAMS gid{};
        gid.flags = 2;  // binary
        REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_GET_GID_INFO, gid) == abi::NV_OK);
        abi::NV0000_CTRL_GPU_GET_UUID_FROM_GPU_ID_PARAMS uuid{};
        uuid.gpuId = id;
        uuid.flags = 2;
        REQUIRE(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_GPU_GET_UUID_FROM_GPU_ID, uuid) == abi::NV_OK);
        CHECK(uuid.uuidStrLen == gid.length);
        CHECK(std::equal(gid.data, gid.data + gid.length, uuid.gpuUuid));

        abi::NV0000_CTRL_SYSTEM_GET_P2P_CAPS_MATRIX_PARAMS peers{};
        peers.grpACount = 1;
        peers.gpuIdGrpA[0] = id;
        CHECK(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_SYSTEM_GET_P2P_CAPS_MATRIX, peers) == abi::NV_OK);
        peers.gpuIdGrpA[0] = id + 1;
        CHECK(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_SYSTEM_GET_P2P_CAPS_MATRIX, peers) == abi::NV_ERR_INVALID_ARGUMENT);
    });
}

TEST_CASE("coherence: every driver version brings the chip up and tells the same memory and engines") {
    for (std::string_view version : rm::version_names()) {
        CAPTURE(version);
        Fixture bench({.driver = std::string(version)});
        bench.run([&] {
            CHECK(bench.open("/dev/nvidiactl", bench.control_fd) == 0);
            CHECK(bench.open("/dev/nvidia0", bench.gpu_fd) == 0);
        });
    }
}

TEST_CASE("coherence: the memory of a process, by its objects and by GET_PID_INFO") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        abi::NV_MEMORY_ALLOCATION_PARAMS memory{};
        memory.size = 0x400000;
        REQUIRE(bench.alloc_with(Fixture::kDevice, 0x90, abi::NV01_MEMORY_LOCAL_USER, memory) == abi::NV_OK);
        abi::NV2080_CTRL_GPU_GET_PID_INFO_PARAMS params{};
        CHECK(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_GET_PID_INFO, params) == abi::NV_ERR_INVALID_ARGUMENT);
        params.pidInfoListCount = 3;
        params.pidInfoList[0].pid = bench.caller.pid;
        params.pidInfoList[1].pid = bench.caller.pid + 1;
        params.pidInfoList[2].pid = bench.caller.pid;
        params.pidInfoList[2].index = 1;
        REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_GET_PID_INFO, params) == abi::NV_OK);
        CHECK(params.pidInfoList[0].result == abi::NV_OK);
        CHECK(params.pidInfoList[0].data.vidMemUsage.memPrivate == 0x400000);
        CHECK(params.pidInfoList[1].data.vidMemUsage.memPrivate == 0);
        CHECK(params.pidInfoList[2].result == abi::NV_ERR_INVALID_ARGUMENT);
        params.pidInfoListCount = 201;
        CHECK(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_GET_PID_INFO, params) == abi::NV_ERR_INVALID_ARGUMENT);
    });
}

TEST_CASE("coherence: what this board has none of is refused or empty, and never listed as unmodelled") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        abi::NV2080_CTRL_GPU_GET_INFOROM_IMAGE_VERSION_PARAMS image{};
        CHECK(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_GET_INFOROM_IMAGE_VERSION, image) ==
              abi::NV_ERR_NOT_SUPPORTED);
        CHECK(bench.control(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_GPU_QUERY_INFOROM_ECC_SUPPORT, 0, 0) == abi::NV_ERR_NOT_SUPPORTED);
        constexpr u32 kLoadBytes = sizeof(abi::NV2080_CTRL_PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2_PARAMS);
        u64 load = bench.user.map(kLoadBytes);  // too large for the stack
        for (u64 at = 0; at < 12; at += 4) bench.user.set(load + at, u32{7});  // type, bufSize, count
        CHECK(bench.control(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2, load, kLoadBytes) ==
              abi::NV_OK);
        CHECK(bench.user.get<u32>(load + 4) == 7);
        CHECK(bench.user.get<u32>(load + 8) == 0);
        REQUIRE(bench.alloc(bench.client, 0x91, abi::NV_CONFIDENTIAL_COMPUTE) == abi::NV_OK);
        abi::NV_CONF_COMPUTE_CTRL_CMD_GPU_GET_NUM_SECURE_CHANNELS_PARAMS channels{};
        channels.hSubDevice = Fixture::kSubdevice;
        channels.maxSec2Channels = 9;
        u32 cmd = abi::NV_CONF_COMPUTE_CTRL_CMD_GPU_GET_NUM_SECURE_CHANNELS;
        CHECK(bench.control_with(0x91, cmd, channels) == abi::NV_OK);
        CHECK(channels.hSubDevice == Fixture::kSubdevice);
        CHECK(channels.maxSec2Channels == 0);
        channels.hSubDevice = Fixture::kDevice;
        CHECK(bench.control_with(0x91, cmd, channels) == abi::NV_ERR_INVALID_OBJECT_HANDLE);
        channels.hSubDevice = 0x7777;
        CHECK(bench.control_with(0x91, cmd, channels) == abi::NV_ERR_OBJECT_NOT_FOUND);
        CHECK(bench.machine.kernel().unmodelled().entries().empty());
    });
}

TEST_CASE("coherence: the ROM's version, by the old and the new list, is what the ROM says in words") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        std::vector<u8> rom;
        for (u64 at = 0; at < 0x1000; at += 4) {
            u64 word = bench.machine.gpu().pci().bar_read(gpu::Bar::Bar0, 0x300000 + at, 4);
            for (unsigned i = 0; i < 4; ++i) rom.push_back(static_cast<u8>(word >> (8 * i)));
        }
        const std::string text(rom.begin(), rom.end());
        auto old_value = [&](u32 index) { return old_list(bench, abi::NV2080_CTRL_CMD_BIOS_GET_INFO, index); };
        const u32 revision = old_value(0);
        const u32 oem = old_value(1);
        CHECK(text.find(fmt::format("{:02X}.{:02X}.{:02X}.{:02X}.{:02X}", revision >> 24, revision >> 16 & 0xFF, revision >> 8 & 0xFF,
                                    revision & 0xFF, oem)) != std::string::npos);
        struct {
            u32 count = 2;
            abi::NVXXXX_CTRL_XXX_INFO list[15] = {{1, 7}, {0, 7}};
        } both;
        REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_BIOS_GET_INFO_V2, both) == abi::NV_OK);
        CHECK(both.list[0].data == oem);
        CHECK(both.list[1].data == revision);
        both.list[1].index = 2;
        CHECK(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_BIOS_GET_INFO_V2, both) == abi::NV_ERR_INVALID_ARGUMENT);
        both.count = 16;
        CHECK(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_BIOS_GET_INFO_V2, both) == abi::NV_ERR_INVALID_ARGUMENT);
    });
}

TEST_CASE("coherence: the GPU's time, alone and beside the processor's clocks") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        abi::NV2080_CTRL_TIMER_GET_TIME_PARAMS before{};
        REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_TIMER_GET_TIME, before) == abi::NV_OK);
        u64 last = before.time_nsec;
        auto ask = [&](u8 clock, u8 samples, abi::NV2080_CTRL_TIMER_GET_GPU_CPU_TIME_CORRELATION_INFO_PARAMS& params) {
            params = {};
            params.cpuClkId = clock;
            params.sampleCount = samples;
            return bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_TIMER_GET_GPU_CPU_TIME_CORRELATION_INFO, params);
        };
        abi::NV2080_CTRL_TIMER_GET_GPU_CPU_TIME_CORRELATION_INFO_PARAMS params{};
        for (u8 clock : {u8{1}, u8{2}, u8{3}}) {
            REQUIRE(ask(clock, 3, params) == abi::NV_OK);
            const u32 told = clock == 3 ? 1 : 3;  // the platform's clock is sampled once
            for (u32 i = 0; i < 3; ++i) {
                if (i >= told) {
                    CHECK(params.samples[i].gpuTime == 0);
                    continue;
                }
                CHECK(params.samples[i].gpuTime >= last);
                last = params.samples[i].gpuTime;
                const u64 now = bench.machine.kernel().now().ns();
                u64 cpu = params.samples[i].cpuTime;
                if (clock == 1) cpu = (cpu - u64{1'735'689'600} * 1'000'000) * 1'000;
                CHECK(cpu <= now);
                CHECK(now - cpu < 100'000);
            }
        }
        CHECK(ask(1, 17, params) == abi::NV_ERR_INVALID_ARGUMENT);
        CHECK(ask(0x21, 1, params) == abi::NV_ERR_INVALID_ARGUMENT);  // no such processor
        CHECK(ask(4, 1, params) == abi::NV_ERR_NOT_SUPPORTED);
        abi::NV2080_CTRL_TIMER_GET_TIME_PARAMS after{};
        REQUIRE(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_TIMER_GET_TIME, after) == abi::NV_OK);
        CHECK(after.time_nsec >= last);
    });
}

TEST_CASE("coherence: a surface's size and place, by its own control and by the client's") {
    Fixture bench;
    bench.run([&] {
        bench.bring_up();
        abi::NV_MEMORY_ALLOCATION_PARAMS memory{};
        memory.size = 0x400000;
        REQUIRE(bench.alloc_with(Fixture::kDevice, 0x90, abi::NV01_MEMORY_LOCAL_USER, memory) == abi::NV_OK);
        abi::NV_MEMORY_ALLOCATION_PARAMS system{};
        system.size = 0x3000;
        system.attr = abi::NVOS32_ATTR_LOCATION::make(abi::NVOS32_ATTR_LOCATION_PCI);
        REQUIRE(bench.alloc_with(Fixture::kDevice, 0x91, abi::NV01_MEMORY_SYSTEM, system) == abi::NV_OK);
        for (u32 handle : {0x90u, 0x91u}) {
            struct {
                abi::NVXXXX_CTRL_XXX_INFO list[4] = {{7, 9}, {9, 9}, {1, 9}, {5, 9}};
            } infos;
            abi::NV0041_CTRL_GET_SURFACE_INFO_PARAMS params{};
            params.surfaceInfoListSize = 4;
            params.surfaceInfoList = bench.user.put(infos);
            REQUIRE(bench.control_with(handle, abi::NV0041_CTRL_CMD_GET_SURFACE_INFO, params) == abi::NV_OK);
            auto value = [&](u64 i) { return bench.user.get<abi::NVXXXX_CTRL_XXX_INFO>(params.surfaceInfoList + i * 8).data; };
            CHECK(u64{value(0)} * 0x1000 == (handle == 0x90 ? memory.size : system.size));
            abi::NV0000_CTRL_CLIENT_GET_ADDR_SPACE_TYPE_PARAMS space{};
            space.hObject = handle;
            REQUIRE(bench.control_with(bench.client, abi::NV0000_CTRL_CMD_CLIENT_GET_ADDR_SPACE_TYPE, space) == abi::NV_OK);
            CHECK(value(1) == space.addrSpaceType);
            CHECK(value(2) == 0);
            CHECK(value(3) == 0);
            bench.user.set(params.surfaceInfoList + 8, u32{2});  // no such index: it ends the list
            CHECK(bench.control_with(handle, abi::NV0041_CTRL_CMD_GET_SURFACE_INFO, params) == abi::NV_ERR_INVALID_ARGUMENT);
        }
        abi::NV0041_CTRL_GET_SURFACE_INFO_PARAMS none{};
        CHECK(bench.control_with(0x90, abi::NV0041_CTRL_CMD_GET_SURFACE_INFO, none) == abi::NV_OK);
        none.surfaceInfoListSize = 0x10000000;
        none.surfaceInfoList = 0x1000;
        CHECK(bench.control_with(0x90, abi::NV0041_CTRL_CMD_GET_SURFACE_INFO, none) == abi::NV_ERR_INVALID_ARGUMENT);
        // A buffer of a falcon's context: only channels of SEC2 have one.
        abi::NV2080_CTRL_FLCN_GET_CTX_BUFFER_SIZE_PARAMS falcon{};
        falcon.hChannel = 0x90;
        CHECK(bench.control_with(Fixture::kSubdevice, abi::NV2080_CTRL_CMD_FLCN_GET_CTX_BUFFER_SIZE, falcon) ==
              abi::NV_ERR_INVALID_CHANNEL);
    });
}
