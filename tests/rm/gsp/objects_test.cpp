// Objects and controls of the firmware: handle rules, parameter sizes, table answers, large controls, saved state.
#include <doctest/doctest.h>

#include "rm/gsp/controls.h"
#include "sim/digest.h"
#include "tests/rm/gsp_fixture.h"

using namespace test;

namespace {
constexpr u32 kClient = 0xC1D00001, kDevice = 0x80, kSubdevice = 0x2080;
constexpr u32 kInternal = 0xC1E00004, kInternalSubdevice = 0xABCD2080;
}  // namespace

TEST_CASE("handles: duplicates, missing clients and parents, classes, parameter sizes") {
    Bench bench;
    REQUIRE(bench.boot());
    abi::NV0000_ALLOC_PARAMETERS root{};
    CHECK(bench.alloc(kClient, 0, 0, abi::NV01_ROOT, root) == abi::NV_OK);
    CHECK(bench.alloc(kClient, 0, 0, abi::NV01_ROOT, root) == abi::NV_ERR_INSERT_DUPLICATE_NAME);
    abi::NV0080_ALLOC_PARAMETERS device{};
    CHECK(bench.alloc(kClient + 1, kClient + 1, kDevice, abi::NV01_DEVICE_0, device) == abi::NV_ERR_INVALID_CLIENT);
    CHECK(bench.alloc(kClient, kClient, kDevice, abi::NV01_DEVICE_0, device) == abi::NV_OK);
    CHECK(bench.alloc(kClient, kClient, kDevice, abi::NV01_DEVICE_0, device) == abi::NV_ERR_INSERT_DUPLICATE_NAME);
    CHECK(bench.alloc(kClient, 0x999, kSubdevice, abi::NV20_SUBDEVICE_0) == abi::NV_ERR_INVALID_OBJECT_PARENT);
    CHECK(bench.alloc(kClient, kClient, kSubdevice, abi::NV20_SUBDEVICE_0) == abi::NV_ERR_INVALID_OBJECT_PARENT);
    CHECK(bench.alloc(kClient, kDevice, kSubdevice, abi::NV20_SUBDEVICE_0) == abi::NV_OK);
    CHECK(bench.alloc(kClient, kDevice, 5, 0xABCD) == abi::NV_ERR_INVALID_CLASS);
    CHECK(bench.alloc(kClient, kDevice, 5, 0xC6C0) == abi::NV_ERR_INVALID_CLASS);  // Ampere's compute class
    u32 short_params = 0;
    CHECK(bench.alloc(kClient, kDevice, 6, abi::FERMI_VASPACE_A, short_params) == abi::NV_ERR_INVALID_PARAM_STRUCT);
    CHECK(bench.free(kClient, 0x1234) == abi::NV_ERR_OBJECT_NOT_FOUND);
    CHECK(bench.free(kClient + 1, kClient + 1) == abi::NV_ERR_INVALID_CLIENT);
    CHECK(bench.free(kInternal, kInternal) != abi::NV_OK);
    CHECK(bench.free(kClient, kDevice) == abi::NV_OK);
    CHECK(bench.free(kClient, kSubdevice) == abi::NV_ERR_OBJECT_NOT_FOUND);  // its parent took it along
    CHECK(bench.free(kClient, kClient) == abi::NV_OK);
    CHECK(bench.alloc(kClient, 0, 0, abi::NV01_ROOT, root) == abi::NV_OK);
}

TEST_CASE("a failing allocation fails in transport and inside") {
    Bench bench;
    REQUIRE(bench.boot());
    abi::rpc_gsp_rm_alloc_v03_00 fixed{};
    fixed.hClient = 0x77;
    fixed.hObject = 1;
    fixed.hClass = abi::NV01_DEVICE_0;
    std::vector<u8> bytes(sizeof(fixed));
    abi::store(std::span<u8>(bytes), fixed);
    Answer answer = bench.call(abi::NV_VGPU_MSG_FUNCTION_GSP_RM_ALLOC, bytes);
    CHECK(answer.rpc_result == abi::NV_ERR_INVALID_CLIENT);
    CHECK(abi::load_prefix<abi::rpc_gsp_rm_alloc_v03_00>(answer.payload).status == abi::NV_ERR_INVALID_CLIENT);
}

TEST_CASE("duplicates share what they stand for") {
    Bench bench;
    REQUIRE(bench.boot());
    bench.make_client(kClient, kDevice, kSubdevice);
    bench.make_client(kClient + 1, kDevice, kSubdevice);
    abi::NV_VASPACE_ALLOCATION_PARAMETERS space{};
    REQUIRE(bench.alloc(kClient, kDevice, 0x90F1, abi::FERMI_VASPACE_A, space) == abi::NV_OK);
    auto dup = [&](u32 handle, u32 source) {
        abi::rpc_dup_object_v03_00 call{};
        call.params.hClient = kClient + 1;
        call.params.hParent = kDevice;
        call.params.hObject = handle;
        call.params.hClientSrc = kClient;
        call.params.hObjectSrc = source;
        std::vector<u8> bytes(sizeof(call));
        abi::store(std::span<u8>(bytes), call);
        return bench.call(abi::NV_VGPU_MSG_FUNCTION_DUP_OBJECT, bytes).rpc_result;
    };
    CHECK(dup(0x90F2, 0x90F1) == abi::NV_OK);
    CHECK(dup(0x90F2, 0x90F1) == abi::NV_ERR_INSERT_DUPLICATE_NAME);
    CHECK(dup(0x90F3, 0xBAD) == abi::NV_ERR_OBJECT_NOT_FOUND);
    CHECK(bench.free(kClient, 0x90F1) == abi::NV_OK);
    // The space lives on under its other handle: a group may still be made in it.
    abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS group{};
    group.hVASpace = 0x90F2;
    group.engineType = abi::NV2080_ENGINE_TYPE_COPY2;
    CHECK(bench.alloc(kClient + 1, kDevice, 0xA06C, abi::KEPLER_CHANNEL_GROUP_A, group) == abi::NV_OK);
    group.hVASpace = 0x90F1;
    CHECK(bench.alloc(kClient + 1, kDevice, 0xA06D, abi::KEPLER_CHANNEL_GROUP_A, group) == abi::NV_ERR_INVALID_OBJECT_HANDLE);
}

TEST_CASE("P10: an unknown control is refused by name with its parameters untouched") {
    Bench bench;
    REQUIRE(bench.boot());
    std::vector<u8> params(24, 0xA5);
    CHECK(bench.control_bytes(kInternal, kInternalSubdevice, 0x20801FFE, params) == abi::NV_ERR_NOT_SUPPORTED);
    CHECK(params == std::vector<u8>(24, 0xA5));
    std::vector<u8> legacy(8);
    CHECK(bench.control_bytes(kInternal, kInternalSubdevice, 0x20808ABC, legacy) == abi::NV_ERR_NOT_SUPPORTED);
    CHECK(bench.kernel.unmodelled().entries().count("control 0x20801ffe (no public name)") == 1);
    CHECK(bench.kernel.unmodelled().entries().at("control 0x20801ffe (no public name)").detail == "24 bytes");
}

TEST_CASE("P12: a control of another size gives INVALID_ARGUMENT; wrong objects are told apart") {
    Bench bench;
    REQUIRE(bench.boot());
    std::vector<u8> params(87, 1);
    CHECK(bench.control_bytes(kInternal, kInternalSubdevice, 0x20800a36, params) == abi::NV_ERR_INVALID_ARGUMENT);
    CHECK(params == std::vector<u8>(87, 1));
    params.resize(88);
    CHECK(bench.control_bytes(kInternal, 0xABCD0080, 0x20800a36, params) == abi::NV_ERR_NOT_SUPPORTED);
    CHECK(bench.control_bytes(kInternal, 0x5555, 0x20800a36, params) == abi::NV_ERR_OBJECT_NOT_FOUND);
    CHECK(bench.control_bytes(0x1, kInternalSubdevice, 0x20800a36, params) == abi::NV_ERR_INVALID_CLIENT);
    CHECK(bench.control_bytes(kInternal, kInternalSubdevice, 0x20800a36, params) == abi::NV_OK);
    CHECK(abi::load_prefix<abi::NV2080_CTRL_INTERNAL_GPU_GET_CHIP_INFO_PARAMS>(params).pciDeviceId == 0x1EB810DE);
}

TEST_CASE("every row of the control table answers on a fresh machine without inventing data") {
    Bench bench;
    REQUIRE(bench.boot());
    for (const rm::gsp::ControlInfo& row : rm::gsp::control_rows()) {
        CAPTURE(row.name);
        CHECK(!row.source.empty());
        u32 object = row.id >> 16 == 0x2080 ? kInternalSubdevice : row.id >> 16 == 0x0080 ? 0xABCD0080 : kInternalSubdevice;
        std::vector<u8> params(rm::control_bytes(bench.version, row.id).value());
        u32 status = bench.control_bytes(kInternal, object, row.id, params);
        CHECK(status != ~u32{0});
        if (row.rung == rm::gsp::ControlRung::Zeroed) CHECK(status == abi::NV_OK);
    }
    CHECK(bench.kernel.unmodelled().entries().empty());
}

TEST_CASE("the engine table, the interrupt table and the capabilities describe the same engines") {
    Bench bench;
    REQUIRE(bench.boot());
    abi::NV2080_CTRL_FIFO_GET_DEVICE_INFO_TABLE_PARAMS table{};
    REQUIRE(bench.control(kInternal, kInternalSubdevice, abi::NV2080_CTRL_CMD_FIFO_GET_DEVICE_INFO_TABLE, table) == abi::NV_OK);
    CHECK(table.numEntries == bench.spec.engines.size());
    CHECK(table.bMore == 0);
    for (u32 i = 0; i < table.numEntries; ++i) {
        CHECK(table.entries[i].engineData[3] == bench.spec.engines[i].runlist_id);
        CHECK(table.entries[i].engineData[4] == bench.spec.engines[i].fault_id);
        CHECK(table.entries[i].numPbdmas >= 1);
    }
    CHECK(std::string(table.entries[0].engineName) == "GR0");
    table.baseIndex = 5000;
    CHECK(bench.control(kInternal, kInternalSubdevice, abi::NV2080_CTRL_CMD_FIFO_GET_DEVICE_INFO_TABLE, table) ==
          abi::NV_ERR_INVALID_ARGUMENT);
    abi::NV2080_CTRL_INTERNAL_INTR_GET_KERNEL_TABLE_PARAMS interrupts{};
    REQUIRE(bench.control(kInternal, kInternalSubdevice, abi::NV2080_CTRL_CMD_INTERNAL_INTR_GET_KERNEL_TABLE, interrupts) == abi::NV_OK);
    bool gsp_found = false;
    for (u32 i = 0; i < interrupts.tableLen; ++i) {
        gsp_found = gsp_found || (interrupts.table[i].engineIdx == 50 && interrupts.table[i].vectorStall == 155);
    }
    CHECK(gsp_found);
}

TEST_CASE("a control of 23 KB comes back whole; the SM order counts every SM once") {
    Bench bench;
    REQUIRE(bench.boot());
    abi::NV2080_CTRL_INTERNAL_STATIC_GR_GET_GLOBAL_SM_ORDER_PARAMS order{};
    u32 cmd = abi::NV2080_CTRL_CMD_INTERNAL_STATIC_KGR_GET_GLOBAL_SM_ORDER;
    REQUIRE(bench.control(kInternal, kInternalSubdevice, cmd, order) == abi::NV_OK);
    CHECK(order.globalSmOrder[0].numSm == 40);
    CHECK(order.globalSmOrder[0].numTpc == 20);
    CHECK(order.globalSmOrder[0].globalSmId[39].globalTpcId == 19);
    CHECK(order.globalSmOrder[1].numSm == 0);
}

TEST_CASE("P02: a control larger than one record is put together and answered in as many records") {
    Bench bench;
    REQUIRE(bench.boot());
    std::vector<u8> params(200'000);
    for (std::size_t i = 0; i < params.size(); ++i) params[i] = static_cast<u8>(i * 7);
    std::vector<u8> sent = params;
    CHECK(bench.control_bytes(kInternal, kInternalSubdevice, 0x2080FFFF, params) == abi::NV_ERR_NOT_SUPPORTED);
    CHECK(params == sent);
    CHECK(bench.status.next_sequence() == 1 + 4);
}

TEST_CASE("a page list of several records is accepted, one that lies about its length is not") {
    Bench bench;
    REQUIRE(bench.boot());
    bench.make_client(kClient, kDevice, kSubdevice);
    auto alloc_memory = [&](u32 handle, u32 pages, u32 sent) {
        abi::rpc_alloc_memory_v13_01 call{};
        call.hClient = kClient;
        call.hDevice = kDevice;
        call.hMemory = handle;
        call.hClass = abi::NV01_MEMORY_LIST_SYSTEM;
        call.pageCount = pages;
        std::vector<u8> bytes(sizeof(call) + u64{sent} * 8);
        abi::store(std::span<u8>(bytes), call);
        return bench.call(abi::NV_VGPU_MSG_FUNCTION_ALLOC_MEMORY, bytes).rpc_result;
    };
    CHECK(alloc_memory(1, 4, 4) == abi::NV_OK);
    CHECK(alloc_memory(2, 20'000, 20'000) == abi::NV_OK);
    CHECK(alloc_memory(3, 9, 4) == abi::NV_ERR_INVALID_PARAM_STRUCT);
    CHECK(alloc_memory(1, 4, 4) == abi::NV_ERR_INSERT_DUPLICATE_NAME);
}

TEST_CASE("each refused request gets a sentence: the field, what it is, what would be right, where the rule stands") {
    Bench bench;
    REQUIRE(bench.boot());
    bench.notes.notes.clear();
    auto last = [&bench] { return bench.notes.notes.empty() ? std::string() : bench.notes.notes.back(); };
    std::vector<u8> eight(8);
    std::vector<u8> seven(7);
    CHECK(bench.control_bytes(kInternal, kInternalSubdevice, abi::NV2080_CTRL_CMD_INTERNAL_FIFO_GET_NUM_CHANNELS, eight) == abi::NV_OK);
    CHECK(bench.notes.notes.empty());
    CHECK(bench.control_bytes(kInternal, kInternalSubdevice, abi::NV2080_CTRL_CMD_INTERNAL_FIFO_GET_NUM_CHANNELS, seven) ==
          abi::NV_ERR_INVALID_ARGUMENT);
    CHECK(last().find("paramsSize is 7, must be 8 for NV2080_CTRL_CMD_INTERNAL_FIFO_GET_NUM_CHANNELS in 570.144") != std::string::npos);
    CHECK(bench.control_bytes(0x1234, 1, abi::NV2080_CTRL_CMD_INTERNAL_FIFO_GET_NUM_CHANNELS, eight) == abi::NV_ERR_INVALID_CLIENT);
    CHECK(last().find("NV_ERR_INVALID_CLIENT: hClient 0x1234 is no client here") != std::string::npos);
    CHECK(bench.alloc(kInternal, kInternal, 0x77, 0xFFFF) == abi::NV_ERR_INVALID_CLASS);
    CHECK(last().find("hClass 0xffff") != std::string::npos);
    CHECK(bench.alloc(kInternal, 0x4242, 0x77, abi::NV20_SUBDEVICE_0) == abi::NV_ERR_INVALID_OBJECT_PARENT);
    CHECK(last().find("hParent 0x4242 is no object of client 0xc1e00004") != std::string::npos);
    CHECK(bench.free(kInternal, 0x99) != abi::NV_OK);
    CHECK(last().find("hObjectOld 0x99 is no object of client 0xc1e00004") != std::string::npos);
    CHECK(bench.call(abi::NV_VGPU_MSG_FUNCTION_FREE, std::vector<u8>(3)).rpc_result == abi::NV_ERR_INVALID_PARAM_STRUCT);
    CHECK(last().find("the payload has 3 bytes, rpc_free_v03_00 of 570.144 has 16") != std::string::npos);
}
