// Boot of the firmware: argument chain, queues, BAR directories, hand-shake; P03 and P08 of the field pains.
#include <doctest/doctest.h>

#include "gpu_model/regs/regs.h"
#include "tests/rm/gsp_fixture.h"

using namespace test;

TEST_CASE("boot reaches GSP_INIT_DONE through scattered pages") {
    Bench bench;
    REQUIRE(bench.boot());
    CHECK(bench.bus.interrupts == 1);
    // The status queue's header stands where the driver links to it, and the read index of the commands beside it.
    u64 header = DriverPages::page(msgq::kStatQueueOffset / 4096);
    CHECK(bench.bus.system.read_u32(header + 4) == 0x40000);
    CHECK(bench.bus.system.read_u32(header + 12) == 63);
    CHECK(bench.bus.system.read_u32(header + 32) == 2);
}

TEST_CASE("boot binds BAR1 and BAR2 to instance blocks whose directories are the ones it reports") {
    Bench bench;
    REQUIRE(bench.boot());
    Answer answer = bench.call(abi::NV_VGPU_MSG_FUNCTION_GET_GSP_STATIC_INFO, std::vector<u8>(1656));
    REQUIRE(answer.rpc_result == 0);
    auto info = abi::load_prefix<abi::GspStaticConfigInfo>(answer.payload);
    auto root_of = [&](u32 block) -> u64 {
        u32 word = bench.bus.regs.at(block);
        CHECK(gpu::regs::NV_VIRTUAL_FUNCTION_PRIV_BAR1_BLOCK_MODE::get(word) == 1);
        u64 instance = u64{gpu::regs::NV_VIRTUAL_FUNCTION_PRIV_BAR1_BLOCK_PTR::get(word)} << 12;
        u32 low = bench.bus.fb.read_u32(instance + 0x200);
        CHECK((low & 0xFFF) == 0xC00);  // video memory, version 2, 64 KiB big pages
        return u64{bench.bus.fb.read_u32(instance + 0x204)} << 32 | (low & ~0xFFFu);
    };
    CHECK(root_of(gpu::regs::NV_VIRTUAL_FUNCTION_PRIV_BAR1_BLOCK) == info.bar1PdeBase);
    CHECK(root_of(gpu::regs::NV_VIRTUAL_FUNCTION_PRIV_BAR2_BLOCK) == info.bar2PdeBase);
    CHECK(info.bar1PdeBase != info.bar2PdeBase);
    CHECK(info.bar1PdeBase >= info.fbRegionInfoParams.fbRegion[1].base);

    // UPDATE_BAR_PDE puts the driver's entry in and invalidates.
    abi::rpc_update_bar_pde_v15_00 update{};
    update.info.barType = 1;
    update.info.entryValue = 0x1234002;
    update.info.entryLevelShift = 47;
    std::vector<u8> bytes(sizeof(update));
    abi::store(std::span<u8>(bytes), update);
    CHECK(bench.call(abi::NV_VGPU_MSG_FUNCTION_UPDATE_BAR_PDE, bytes).rpc_result == 0);
    CHECK(bench.bus.fb.read_u64(info.bar2PdeBase) == 0x1234002);
    CHECK(bench.bus.regs.at(gpu::regs::NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE) == 0x80000001);
    update.info.barType = 7;
    abi::store(std::span<u8>(bytes), update);
    CHECK(bench.call(abi::NV_VGPU_MSG_FUNCTION_UPDATE_BAR_PDE, bytes).rpc_result == abi::NV_ERR_INVALID_ARGUMENT);
}

TEST_CASE("static info tells what the chip is") {
    for (const char* chip : {"t4", "rtx2080", "rtx5000"}) {
        Bench bench("570.144", chip);
        REQUIRE(bench.boot());
        Answer answer = bench.call(abi::NV_VGPU_MSG_FUNCTION_GET_GSP_STATIC_INFO, std::vector<u8>(1656));
        REQUIRE(answer.payload.size() == 1656);
        auto info = abi::load_prefix<abi::GspStaticConfigInfo>(answer.payload);
        CHECK(std::string(reinterpret_cast<const char*>(info.gpuNameString)) == bench.spec.marketing);
        CHECK(info.fb_length == bench.spec.vram_bytes);
        REQUIRE(info.fbRegionInfoParams.numFBRegions == 2);
        const auto* regions = info.fbRegionInfoParams.fbRegion;
        CHECK(regions[0].base == 0);
        CHECK(regions[0].reserved == 0);
        CHECK(regions[1].base == regions[0].limit + 1);
        CHECK(regions[1].limit + 1 == bench.spec.vram_bytes);
        CHECK(regions[1].reserved == regions[1].limit - regions[1].base + 1);
        CHECK((info.engineCaps[0] >> abi::NV2080_ENGINE_TYPE_GR0 & 1) == 1);
        CHECK((info.engineCaps[0] >> abi::NV2080_ENGINE_TYPE_COPY2 & 1) == 1);
        CHECK(info.hInternalClient == 0xC1E00004);
        CHECK(info.bSplitVasBetweenServerClientRm == 1);
        CHECK(info.gidInfo.length == 16);
        CHECK((info.gidInfo.data[6] >> 4) == 4);
        CHECK(info.gidInfo.data[16] == 0);
    }
}

TEST_CASE("P03: asynchronous messages get no reply; outer numbers count per direction; the inner one is echoed") {
    Bench bench("580.95.05");
    REQUIRE(bench.boot());
    CHECK(bench.status.next_sequence() == 1);
    CHECK(bench.commands.next_sequence() == 2);
    Answer answer = bench.call(abi::NV_VGPU_MSG_FUNCTION_GET_GSP_STATIC_INFO, std::vector<u8>(1792), {}, 41);
    REQUIRE(answer.arrived);
    CHECK(answer.sequence == 41);
    CHECK(answer.payload.size() == 1792);
    CHECK(bench.status.next_sequence() == 2);
}

TEST_CASE("every known version boots and answers static info of its own size") {
    for (std::string_view name : rm::version_names()) {
        CAPTURE(name);
        Bench bench(std::string(name).c_str());
        REQUIRE(bench.boot());
        u32 bytes = rm::struct_bytes(bench.version, "GspStaticConfigInfo");
        Answer answer = bench.call(abi::NV_VGPU_MSG_FUNCTION_GET_GSP_STATIC_INFO, std::vector<u8>(bytes));
        REQUIRE(answer.payload.size() == bytes);
        u64 at = rm::field_place(bench.version, "GspStaticConfigInfo", "fb_length")->offset;
        CHECK(*abi::load<u64>(answer.payload, at) == bench.spec.vram_bytes);
    }
}

TEST_CASE("version exchange accepts its own numbers and offers them otherwise") {
    Bench bench;
    REQUIRE(bench.boot());
    abi::rpc_set_guest_system_info_v03_00 info{};
    info.vgxVersionMajorNum = 0x29;
    info.vgxVersionMinorNum = 0x0C;
    std::vector<u8> bytes(sizeof(info));
    abi::store(std::span<u8>(bytes), info);
    Answer answer = bench.call(abi::NV_VGPU_MSG_FUNCTION_SET_GUEST_SYSTEM_INFO, bytes);
    CHECK(answer.rpc_result == 0);
    CHECK(answer.rpc_result_private == 0);
    CHECK(answer.payload == bytes);
    info.vgxVersionMinorNum = 5;
    abi::store(std::span<u8>(bytes), info);
    answer = bench.call(abi::NV_VGPU_MSG_FUNCTION_SET_GUEST_SYSTEM_INFO, bytes);
    CHECK(answer.rpc_result_private != 0);
    CHECK(abi::load_prefix<abi::rpc_set_guest_system_info_v03_00>(answer.payload).vgxVersionMinorNum == 0x0C);
}

TEST_CASE("P08: each break of the boot chain says where it broke") {
    auto reason = [](auto damage, const char* text) {
        Bench bench;
        bench.prepare();
        bench.send_preboot();
        damage(bench);
        bench.start();
        CAPTURE(text);
        CHECK(bench.notes.has(text));
        CHECK(bench.bus.interrupts == 0);
    };
    reason([](Bench& b) { b.bus.system.write_u64(kLibosPage + 4 * 32, 0); }, "no RMARGS region");
    reason([](Bench& b) { b.bus.system.write_u64(kLibosPage + 4 * 32 + 8, u64{1} << 40); }, "no memory answers at GSP_ARGUMENTS_CACHED");
    reason([](Bench& b) { b.bus.system.write_u32(kArgumentPage + 8, 100'000); }, "pageTableEntryCount is 100000");
    reason([](Bench& b) { b.bus.system.write_u64(kSharedBase + 8, 0x123); }, "page table entry 1 is 0x123");
    reason([](Bench& b) { b.bus.system.write_u64(kSharedBase, 0x5000); }, "page table entry 0 is 0x5000");
    reason([](Bench& b) { b.bus.system.write_u32(DriverPages::page(1) + 12, 64); }, "command queue header: msgCount");
    reason([](Bench& b) { b.bus.system.write_u64(kArgumentPage + 24, 0x41001); }, "do not fit a buffer");
    Bench bench;
    bench.prepare();
    bench.start();
    CHECK(bench.notes.has("no GSP_SET_SYSTEM_INFO"));
    REQUIRE(bench.status.link(msgq::kQueueBytes) == msgq::Outcome::Ok);
    msgq::Record record;
    REQUIRE(bench.status.receive(record) == msgq::Outcome::Ok);
    CHECK(record.header.rpc_result == abi::NV_ERR_INVALID_STATE);
}

TEST_CASE("unload answers, then tells by mailbox that the processor sleeps; reset starts afresh") {
    Bench bench;
    REQUIRE(bench.boot());
    CHECK(bench.call(abi::NV_VGPU_MSG_FUNCTION_UNLOADING_GUEST_DRIVER, std::vector<u8>(8)).rpc_result == 0);
    CHECK(bench.bus.mailbox[0] == 0x80000000);
    CHECK(!bench.call(abi::NV_VGPU_MSG_FUNCTION_NOP, {}).arrived);
    bench.gsp->firmware().on_reset();
    bench.bus.interrupts = 0;
    bench.commands = msgq::Writer(bench.pages, msgq::kCmdQueueOffset, msgq::kStatQueueOffset);
    bench.status = msgq::Reader(bench.pages, msgq::kStatQueueOffset, msgq::kCmdQueueOffset);
    REQUIRE(bench.boot());
    CHECK(bench.bus.interrupts == 1);
}

TEST_CASE("a function that the firmware does not serve is refused by name") {
    Bench bench;
    REQUIRE(bench.boot());
    CHECK(bench.call(abi::NV_VGPU_MSG_FUNCTION_LOG, std::vector<u8>(8)).rpc_result == abi::NV_ERR_NOT_SUPPORTED);
    CHECK(bench.call(9999, {}).rpc_result == abi::NV_ERR_NOT_SUPPORTED);
    const auto& entries = bench.kernel.unmodelled().entries();
    CHECK(entries.count("rpc 11 NV_VGPU_MSG_FUNCTION_LOG") == 1);
    CHECK(entries.count("rpc 9999 (no such number)") == 1);
    CHECK(!bench.kernel.unmodelled().any_invented());
}

TEST_CASE("rings of any legal size: a command ring of 7 and a status ring of 119, wrapped many times, large messages through both") {
    constexpr u32 kCommandBytes = 0x8000;
    constexpr u64 kCommandQueue = 0x1000, kStatusQueue = kCommandQueue + kCommandBytes;
    constexpr u32 kStatusBytes = msgq::kSharedBytes - kStatusQueue;
    Bench bench;
    bench.prepare();
    bench.commands = msgq::Writer(bench.pages, kCommandQueue, kStatusQueue);
    bench.status = msgq::Reader(bench.pages, kStatusQueue, kCommandQueue);
    REQUIRE(bench.commands.create(kCommandBytes));
    rm::FieldPlace place = *rm::field_place(bench.version, "GSP_ARGUMENTS_CACHED", "messageQueueInitArguments.statQueueOffset");
    bench.bus.system.write_u64(kArgumentPage + place.offset, kStatusQueue);
    bench.send_preboot();
    bench.start();
    REQUIRE(bench.status.link(kStatusBytes) == msgq::Outcome::Ok);
    msgq::Record record;
    REQUIRE(bench.status.receive(record) == msgq::Outcome::Ok);
    REQUIRE(record.header.function == abi::NV_VGPU_MSG_EVENT_GSP_INIT_DONE);
    for (u32 i = 0; i < 400; ++i) {
        // From one element to the six that the smaller ring can hold.
        std::vector<u8> payload(8 + (i * 977) % 20'000, static_cast<u8>(i));
        Answer answer = bench.call(abi::NV_VGPU_MSG_FUNCTION_UNSET_PAGE_DIRECTORY, payload);
        REQUIRE(answer.arrived);
        CHECK(answer.rpc_result != 0);  // nothing that the bytes could mean exists
    }
    CHECK(bench.status.next_sequence() == 401);
    // A ring that is full stays so until the firmware has read: seven slots take six elements.
    std::vector<u8> small(8);
    u32 accepted = 0;
    while (bench.send(abi::NV_VGPU_MSG_FUNCTION_NOP, small) == msgq::Outcome::Ok) ++accepted;
    CHECK(accepted == 6);
    bench.run(SimTime::from_ms(50));
    CHECK(bench.send(abi::NV_VGPU_MSG_FUNCTION_NOP, small) == msgq::Outcome::Ok);
}
