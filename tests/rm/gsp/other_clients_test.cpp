// The firmware as nouveau and nova-core use it: their argument pages, their registry, their order of calls and their channels directly
// below a device. Source: torvalds/linux, drivers/gpu/drm/nouveau/nvkm/subdev/gsp/rm/{r535,r570} and drivers/gpu/nova-core/gsp.
#include <doctest/doctest.h>

#include "rm/abi/flags_alloc.h"
#include "rm/abi/flags_nvos.h"
#include "rm/gsp/registers.h"
#include "tests/rm/gsp_fixture.h"

using namespace test;
namespace reg = rm::gsp::reg;

namespace {

constexpr u64 kLogBytes = 0x10000;
constexpr u32 kSequencerEvent = abi::NV_VGPU_MSG_EVENT_GSP_RUN_CPU_SEQUENCER;

// The argument page with the logs that a client has; RMARGS comes last.
void put_logs(Bench& bench, std::initializer_list<std::string_view> names) {
    u64 at = kLibosPage;
    u64 log = 0x300000;
    for (std::string_view name : names) {
        abi::LibosMemoryRegionInitArgument region{};
        for (char c : name) region.id8 = region.id8 << 8 | static_cast<u8>(c);
        region.pa = name == "RMARGS" ? kArgumentPage : log;
        region.size = name == "RMARGS" ? 0x1000 : kLogBytes;
        region.kind = region.loc = 1;
        bench.put(at, region);
        at += sizeof(region);
        log += kLogBytes;
    }
    abi::LibosMemoryRegionInitArgument end{};
    bench.put(at, end);
    for (u64 behind = at; behind < kLibosPage + 0x1000; behind += sizeof(end)) bench.put(behind, end);
}

std::vector<u8> registry(std::initializer_list<std::pair<std::string_view, u32>> keys) {
    std::vector<u8> out(sizeof(abi::PACKED_REGISTRY_TABLE) + keys.size() * sizeof(abi::PACKED_REGISTRY_ENTRY));
    u64 entry = sizeof(abi::PACKED_REGISTRY_TABLE);
    for (const auto& [name, value] : keys) {
        abi::PACKED_REGISTRY_ENTRY row{};
        row.nameOffset = static_cast<u32>(out.size());
        row.type = abi::REGISTRY_TABLE_ENTRY_TYPE_DWORD;
        row.data = value;
        row.length = sizeof(u32);
        out.insert(out.end(), name.begin(), name.end());
        out.push_back(0);
        abi::store(std::span<u8>(out), row, entry);
        entry += sizeof(row);
    }
    abi::store(std::span<u8>(out), abi::PACKED_REGISTRY_TABLE{static_cast<u32>(out.size()), static_cast<u32>(keys.size())});
    return out;
}

// INIT_DONE, after whatever the firmware sends before it; none of it may carry an error, for nouveau stops at the first.
bool wait_init_done(Bench& bench) {
    if (bench.status.link(msgq::kQueueBytes) != msgq::Outcome::Ok) return false;
    msgq::Record record;
    while (bench.status.receive(record) == msgq::Outcome::Ok) {
        CHECK(record.header.rpc_result == 0);
        if (record.header.function == abi::NV_VGPU_MSG_EVENT_GSP_INIT_DONE) return true;
        CHECK(record.header.function == kSequencerEvent);
    }
    return false;
}

}  // namespace

TEST_CASE("nouveau: four argument regions, its registry keys, no version exchange, a channel below its device, and goodbye") {
    for (const char* driver : {"535.183.01", "570.144"}) {
        CAPTURE(driver);
        Bench bench(driver);
        bench.prepare();
        put_logs(bench, {"LOGINIT", "LOGINTR", "LOGRM", "RMARGS"});
        std::vector<u8> info(rm::struct_bytes(bench.version, "GspSystemInfo"));
        bench.send(abi::NV_VGPU_MSG_FUNCTION_GSP_SET_SYSTEM_INFO, info);
        bench.send(abi::NV_VGPU_MSG_FUNCTION_SET_REGISTRY, registry({{"RMSecBusResetEnable", 1}, {"RMForcePcieConfigSave", 1}}));
        bench.start();
        REQUIRE(wait_init_done(bench));

        std::vector<u8> facts(rm::struct_bytes(bench.version, "GspStaticConfigInfo"));
        Answer answer = bench.call(abi::NV_VGPU_MSG_FUNCTION_GET_GSP_STATIC_INFO, facts);
        CHECK(answer.rpc_result == abi::NV_OK);
        CHECK(answer.payload.size() == facts.size());

        // Client, device, subdevice by handles of its own; its channel is a child of the device, with a group that nobody made.
        constexpr u32 kClient = 0xC1D00000, kDevice = 0xDE1D0000, kSubdevice = 0x5D1D0000, kSpace = 0x90F10000;
        bench.make_client(kClient, kDevice, kSubdevice);
        abi::NV_VASPACE_ALLOCATION_PARAMETERS space{};
        space.index = 0;
        REQUIRE(bench.alloc(kClient, kDevice, kSpace, abi::FERMI_VASPACE_A, space) == abi::NV_OK);
        abi::NV90F1_CTRL_VASPACE_COPY_SERVER_RESERVED_PDES_PARAMS pdes{};
        pdes.numLevelsToCopy = 1;
        pdes.levels[0].physAddress = 0x2000000;
        pdes.levels[0].size = 0x10;
        pdes.levels[0].aperture = 1;
        pdes.levels[0].pageShift = 47;
        CHECK(bench.control(kClient, kSpace, abi::NV90F1_CTRL_CMD_VASPACE_COPY_SERVER_RESERVED_PDES, pdes) == abi::NV_OK);

        constexpr u32 chid = 17, kChannel = 0xF1F00000 | chid;
        std::vector<u8> channel(*rm::alloc_bytes(bench.version, abi::TURING_CHANNEL_GPFIFO_A));
        abi::NV_CHANNEL_ALLOC_PARAMS params{};
        params.gpFifoOffset = 0x200600000;
        params.gpFifoEntries = 512;
        params.hVASpace = kSpace;
        params.engineType = abi::NV2080_ENGINE_TYPE_COPY2;
        params.flags = abi::NVOS04_FLAGS_CHANNEL_USERD_INDEX_PAGE_FIXED::make(1);
        params.flags = abi::NVOS04_FLAGS_CHANNEL_USERD_INDEX_VALUE::set(params.flags, chid % 8);
        params.flags = abi::NVOS04_FLAGS_CHANNEL_USERD_INDEX_PAGE_VALUE::set(params.flags, chid / 8);
        params.instanceMem = {0x4000000, 0x1000, 2, 1};
        params.userdMem = {0x5000000, 0x200, 2, 1};
        params.ramfcMem = {0x4000000, 0x200, 2, 1};
        params.mthdbufMem = {0x400000, 0x5000, 1, 0};
        params.internalFlags = 2;  // privilege of the kernel
        std::copy_n(reinterpret_cast<const u8*>(&params), std::min(channel.size(), sizeof(params)), channel.begin());
        CHECK(bench.alloc_bytes(kClient, kDevice, kChannel, abi::TURING_CHANNEL_GPFIFO_A, channel) == abi::NV_OK);
        abi::NVA06F_CTRL_BIND_PARAMS bind{abi::NV2080_ENGINE_TYPE_COPY2};
        CHECK(bench.control(kClient, kChannel, abi::NVA06F_CTRL_CMD_BIND, bind) == abi::NV_OK);
        std::vector<u8> schedule(*rm::control_bytes(bench.version, abi::NVA06F_CTRL_CMD_GPFIFO_SCHEDULE));
        schedule[0] = 1;
        CHECK(bench.control_bytes(kClient, kChannel, abi::NVA06F_CTRL_CMD_GPFIFO_SCHEDULE, schedule) == abi::NV_OK);
        CHECK((bench.bus.regs[reg::NV_PCCSR_CHANNEL_INST(chid)] & 0x80000000) != 0);

        // Unload: the answer first, then the mailbox that it polls.
        std::vector<u8> goodbye(rm::struct_bytes(bench.version, "rpc_unloading_guest_driver_v1F_07"));
        CHECK(bench.call(abi::NV_VGPU_MSG_FUNCTION_UNLOADING_GUEST_DRIVER, goodbye).rpc_result == abi::NV_OK);
        bench.run(SimTime::from_s(2));
        CHECK(bench.bus.mailbox[0] == 0x80000000);
        for (const auto& [key, entry] : bench.kernel.unmodelled().entries()) FAIL_CHECK(key << ": " << entry.detail);
    }
}

TEST_CASE("nova-core: more log regions, one registry key, polls for INIT_DONE and asks the static facts at once") {
    Bench bench;
    bench.prepare();
    put_logs(bench, {"LOGINIT", "LOGINTR", "LOGRM", "LOGMNOC", "RMARGS"});
    std::vector<u8> info(rm::struct_bytes(bench.version, "GspSystemInfo"));
    bench.send(abi::NV_VGPU_MSG_FUNCTION_GSP_SET_SYSTEM_INFO, info);
    bench.send(abi::NV_VGPU_MSG_FUNCTION_SET_REGISTRY, registry({{"RMSecBusResetEnable", 1}}));
    bench.start();
    REQUIRE(wait_init_done(bench));
    std::vector<u8> facts(rm::struct_bytes(bench.version, "GspStaticConfigInfo"));
    Answer answer = bench.call(abi::NV_VGPU_MSG_FUNCTION_GET_GSP_STATIC_INFO, facts);
    CHECK(answer.rpc_result == abi::NV_OK);
    std::optional<rm::FieldPlace> name = rm::field_place(bench.version, "GspStaticConfigInfo", "gpuNameString");
    REQUIRE(name);
    CHECK(answer.payload[name->offset] != 0);
    CHECK(bench.kernel.unmodelled().entries().empty());
}

TEST_CASE("a client may send what comes before boot in either order, ring the bell with any value, and poll without interrupts") {
    Bench bench;
    bench.prepare();
    bench.send(abi::NV_VGPU_MSG_FUNCTION_SET_REGISTRY, registry({{"RMSecBusResetEnable", 1}}));
    std::vector<u8> info(rm::struct_bytes(bench.version, "GspSystemInfo"));
    bench.send(abi::NV_VGPU_MSG_FUNCTION_GSP_SET_SYSTEM_INFO, info);
    bench.start();
    REQUIRE(wait_init_done(bench));
    // A bell without a message, and bells of queues that are not used.
    for (unsigned index = 0; index < 8; ++index) bench.gsp->firmware().on_queue_doorbell(index);
    std::vector<u8> facts(rm::struct_bytes(bench.version, "GspStaticConfigInfo"));
    CHECK(bench.call(abi::NV_VGPU_MSG_FUNCTION_GET_GSP_STATIC_INFO, facts).rpc_result == abi::NV_OK);
}
