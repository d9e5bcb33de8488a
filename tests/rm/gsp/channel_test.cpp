// Channels: the bytes of RAMFC and instance block, CCSR, runlists, tokens, removal, and what an error does.
#include <doctest/doctest.h>

#include "rm/abi/flags_alloc.h"
#include "rm/abi/flags_nvos.h"
#include "rm/abi/xid.h"
#include "rm/gsp/registers.h"
#include "tests/rm/gsp_fixture.h"

using namespace test;
namespace reg = rm::gsp::reg;

namespace {

constexpr u32 kClient = 0xC1D00001, kDevice = 0x80, kSubdevice = 0x2080, kSpace = 0x90F1, kGroup = 0xA06C, kShare = 0x9067;
constexpr u64 kPdb = 0x2000000, kInstance = 0x4000000, kUserd = 0x5000000, kNotifier = 0x200000;

struct Setup : Bench {
    explicit Setup(u32 engine = abi::NV2080_ENGINE_TYPE_GR0) : engine_type(engine) {
        REQUIRE(boot());
        make_client(kClient, kDevice, kSubdevice);
        abi::NV_VASPACE_ALLOCATION_PARAMETERS space{};
        REQUIRE(alloc(kClient, kDevice, kSpace, abi::FERMI_VASPACE_A, space) == abi::NV_OK);
        REQUIRE(set_page_directory(kPdb) == abi::NV_OK);
        abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS group{};
        group.hVASpace = kSpace;
        group.engineType = engine;
        REQUIRE(alloc(kClient, kDevice, kGroup, abi::KEPLER_CHANNEL_GROUP_A, group) == abi::NV_OK);
    }
    u32 set_page_directory(u64 pdb) {
        abi::NV90F1_CTRL_VASPACE_COPY_SERVER_RESERVED_PDES_PARAMS params{};
        params.numLevelsToCopy = 1;
        params.levels[0].physAddress = pdb;
        params.levels[0].aperture = 1;
        params.levels[0].pageShift = 47;
        return control(kClient, kSpace, abi::NV90F1_CTRL_CMD_VASPACE_COPY_SERVER_RESERVED_PDES, params);
    }
    abi::NV_CHANNEL_ALLOC_PARAMS params(u32 chid) const {
        abi::NV_CHANNEL_ALLOC_PARAMS out{};
        out.gpFifoOffset = 0x200600000;
        out.gpFifoEntries = 1024;
        out.engineType = engine_type;
        u32 flags = abi::NVOS04_FLAGS_CHANNEL_USERD_INDEX_PAGE_FIXED::make(1);
        flags = abi::NVOS04_FLAGS_CHANNEL_USERD_INDEX_PAGE_VALUE::set(flags, chid / 8);
        out.flags = abi::NVOS04_FLAGS_CHANNEL_USERD_INDEX_VALUE::set(flags, chid % 8);
        out.instanceMem = {kInstance + chid * 0x1000, 0x1000, 2, 2};
        out.ramfcMem = {kInstance + chid * 0x1000, 0x200, 2, 2};
        out.userdMem = {kUserd + chid * 0x200, 0x200, 2, 2};
        out.mthdbufMem = {0x123456789000, 0x5000, 1, 0};
        out.errorNotifierMem = {kNotifier + chid * 0x1000, 0x1000, 1, 0};
        out.internalFlags = abi::NV_KERNELCHANNEL_ALLOC_INTERNALFLAGS_ERROR_NOTIFIER_TYPE::make(3);
        return out;
    }
    u32 make(u32 handle, abi::NV_CHANNEL_ALLOC_PARAMS p, u32 parent = kGroup) {
        return alloc(kClient, parent, handle, abi::TURING_CHANNEL_GPFIFO_A, p);
    }
    u32 schedule(u32 object, u32 cmd, bool on) {
        abi::NVA06F_CTRL_GPFIFO_SCHEDULE_PARAMS p{};
        p.bEnable = on;
        return control(kClient, object, cmd, p);
    }
    u32 fc(u32 chid, u32 word) { return bus.fb.read_u32(kInstance + chid * 0x1000 + word * 4); }
    std::vector<u32> runlist(u32 id) {
        u64 base = u64{bus.regs[reg::NV_PFIFO_RUNLIST_BASE_HI(id)]} << 32 | bus.regs[reg::NV_PFIFO_RUNLIST_BASE_LO(id)];
        std::vector<u32> out(bus.regs[reg::NV_PFIFO_RUNLIST_SUBMIT(id)] * 4);
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = bus.fb.read_u32(base + i * 4);
        return out;
    }
    u32 engine_type;
};

}  // namespace

TEST_CASE("RAMFC and instance block of a channel, word for word") {
    Setup setup;
    REQUIRE(setup.make(0x11, setup.params(13)) == abi::NV_OK);
    std::map<u32, u32> want = {
        {2, 0x05001A00},  {4, 0xFACE},     {12, 0x7FFFF902}, {18, 0x00600000}, {19, 0x000A0002}, {33, 0x20400000}, {37, 0x30000FFF},
        {43, 0x00020000}, {58, 13},        {61, 0x1000},     {62, 0x10003080}, {63, 13u << 16},
        {128, 0x02000C00},                       // 0x200: page directory in video memory, version 2, 64 KiB
        {136, 0x56789000}, {137, 0x1234},        // 0x220: method buffer
        {166, 1},                                // 0x298: subcontext 0 valid
        {168, 0x02000C00},                       // 0x2A0: its page directory
    };
    for (u32 word = 0; word < 1024; ++word) {
        CAPTURE(word);
        auto it = want.find(word);
        CHECK(setup.fc(13, word) == (it == want.end() ? 0 : it->second));
    }
    CHECK(setup.bus.regs[reg::NV_PCCSR_CHANNEL_INST(13)] == (0x80000000 | ((kInstance + 13 * 0x1000) >> 12)));
}

TEST_CASE("privilege and subcontexts show in RAMFC and instance block") {
    Setup setup;
    abi::NV_CTXSHARE_ALLOCATION_PARAMETERS share{};
    share.hVASpace = kSpace;
    share.flags = abi::NV_CTXSHARE_ALLOCATION_FLAGS_SUBCONTEXT_ASYNC;
    REQUIRE(setup.alloc(kClient, kGroup, kShare, abi::FERMI_CONTEXT_SHARE_A, share) == abi::NV_OK);
    CHECK(share.subctxId == 1);
    auto params = setup.params(40);
    params.hContextShare = kShare;
    params.internalFlags |= abi::NV_KERNELCHANNEL_ALLOC_INTERNALFLAGS_PRIVILEGE_KERNEL;
    REQUIRE(setup.make(0x11, params) == abi::NV_OK);
    CHECK(setup.fc(40, 57) == 0x20);
    CHECK(setup.fc(40, 61) == 0x1100);
    CHECK(setup.fc(40, 63) == (40u << 16 | 1u << 8));
    CHECK(setup.fc(40, 0x218 / 4) == 1);
    CHECK(setup.fc(40, 0x298 / 4) == 2);
    CHECK(setup.fc(40, 0x2B0 / 4) == 0x02000C00);
    // The context of graphics is valid from its object on.
    CHECK(setup.fc(40, 43) == 0x20000);
    CHECK(setup.alloc(kClient, 0x11, 0xC5C0, abi::TURING_COMPUTE_A) == abi::NV_OK);
    CHECK(setup.fc(40, 43) == 0x30000);
    share.flags = abi::NV_CTXSHARE_ALLOCATION_FLAGS_SUBCONTEXT_SPECIFIED;
    share.subctxId = 64;
    CHECK(setup.alloc(kClient, kGroup, 0x9068, abi::FERMI_CONTEXT_SHARE_A, share) == abi::NV_ERR_INVALID_ARGUMENT);
    share.subctxId = 1;
    CHECK(setup.alloc(kClient, kGroup, 0x9068, abi::FERMI_CONTEXT_SHARE_A, share) == abi::NV_ERR_STATE_IN_USE);
}

TEST_CASE("a page directory that comes late reaches the channels that wait for it") {
    Setup setup;
    REQUIRE(setup.make(0x11, setup.params(1)) == abi::NV_OK);
    CHECK(setup.set_page_directory(0x3000000) == abi::NV_OK);
    CHECK(setup.fc(1, 128) == 0x03000C00);
    CHECK(setup.set_page_directory(0x3000010) == abi::NV_ERR_INVALID_ADDRESS);
    // And by the RPC for externally owned spaces.
    abi::rpc_set_page_directory_v1E_05 call{};
    call.hClient = kClient;
    call.hDevice = kDevice;
    call.params.physAddress = 0x700000;
    call.params.flags = 1;
    call.params.hVASpace = kSpace;
    std::vector<u8> bytes(sizeof(call));
    abi::store(std::span<u8>(bytes), call);
    CHECK(setup.call(abi::NV_VGPU_MSG_FUNCTION_SET_PAGE_DIRECTORY, bytes).rpc_result == abi::NV_OK);
    CHECK(setup.fc(1, 128) == 0x00700C02);
    abi::rpc_unset_page_directory_v1E_05 unset{};
    unset.hClient = kClient;
    unset.hDevice = kDevice;
    unset.params.hVASpace = kSpace;
    bytes.resize(sizeof(unset));
    abi::store(std::span<u8>(bytes), unset);
    CHECK(setup.call(abi::NV_VGPU_MSG_FUNCTION_UNSET_PAGE_DIRECTORY, bytes).rpc_result == abi::NV_OK);
    CHECK((setup.fc(1, 128) & 3) == 1);  // nothing there: unbound
    CHECK(setup.fc(1, 166) == 0);
}

TEST_CASE("scheduling writes the runlist and enables the channels") {
    Setup setup;
    REQUIRE(setup.make(0x11, setup.params(8)) == abi::NV_OK);
    REQUIRE(setup.make(0x12, setup.params(9)) == abi::NV_OK);
    CHECK(setup.schedule(kGroup, abi::NVA06C_CTRL_CMD_GPFIFO_SCHEDULE, true) == abi::NV_OK);
    CHECK(setup.bus.regs[reg::NV_PCCSR_CHANNEL(8)] == 1u << 10);
    std::vector<u32> list = setup.runlist(0);
    REQUIRE(list.size() == 12);
    CHECK(list[0] == (1u | 3u << 16 | 128u << 24));  // TSG, 128 << 3 microseconds
    CHECK(list[1] == 2);
    CHECK(list[2] == 0);
    CHECK(list[4] == ((kUserd + 8 * 0x200) & ~0xFFull));
    CHECK(list[6] == (8u | ((kInstance + 8 * 0x1000) & 0xFFFFF000)));
    CHECK((list[10] & 0xFFF) == 9);
    // The next list goes to the other buffer.
    u32 first = setup.bus.regs[reg::NV_PFIFO_RUNLIST_BASE_LO(0)];
    abi::NVA06C_CTRL_TIMESLICE_PARAMS slice{2048};
    CHECK(setup.control(kClient, kGroup, abi::NVA06C_CTRL_CMD_SET_TIMESLICE, slice) == abi::NV_OK);
    CHECK(setup.schedule(0x12, abi::NVA06F_CTRL_CMD_GPFIFO_SCHEDULE, false) == abi::NV_OK);
    CHECK(setup.bus.regs[reg::NV_PFIFO_RUNLIST_BASE_LO(0)] != first);
    list = setup.runlist(0);
    REQUIRE(list.size() == 8);
    CHECK(list[0] == (1u | 4u << 16 | 128u << 24));
    CHECK(list[1] == 1);
    abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN_PARAMS token{};
    CHECK(setup.control(kClient, 0x11, abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN, token) == abi::NV_OK);
    CHECK(token.workSubmitToken == 8);
    CHECK((setup.bus.regs[reg::NV_CTRL_VIRTUAL_CHANNEL_CFG] >> 31) == 1);
}

TEST_CASE("a copy channel without a group of its own, and its token") {
    Setup setup(abi::NV2080_ENGINE_TYPE_COPY3);
    auto params = setup.params(77);
    params.hVASpace = kSpace;
    REQUIRE(setup.make(0x11, params, kDevice) == abi::NV_OK);
    CHECK(setup.alloc(kClient, 0x11, 0xC5B5, abi::TURING_DMA_COPY_A) == abi::NV_OK);
    CHECK(setup.alloc(kClient, 0x11, 0xC5C0, abi::TURING_COMPUTE_A) == abi::NV_ERR_INVALID_CLASS);
    CHECK(setup.schedule(0x11, abi::NVA06F_CTRL_CMD_GPFIFO_SCHEDULE, true) == abi::NV_OK);
    u32 runlist = 0;
    for (const gpu::EngineRow& row : setup.spec.engines) {
        if (row.kind == gpu::EngineKind::Ce && row.instance == 3) runlist = row.runlist_id;
    }
    CHECK(setup.runlist(runlist).size() == 8);
    abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN_PARAMS token{};
    setup.control(kClient, 0x11, abi::NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN, token);
    CHECK(token.workSubmitToken == (runlist << 16 | 77));
}

TEST_CASE("parameters that name nothing usable are refused and leave nothing behind") {
    Setup setup;
    auto check = [&](auto change, u32 status) {
        auto params = setup.params(5);
        change(params);
        CHECK(setup.make(0x11, params) == status);
    };
    check([](auto& p) { p.flags = 0; }, abi::NV_ERR_INVALID_ARGUMENT);
    check([](auto& p) { p.gpFifoEntries = 1000; }, abi::NV_ERR_INVALID_ARGUMENT);
    check([](auto& p) { p.gpFifoEntries = 0; }, abi::NV_ERR_INVALID_ARGUMENT);
    check([](auto& p) { p.gpFifoOffset = u64{1} << 40; }, abi::NV_ERR_INVALID_ADDRESS);
    check([](auto& p) { p.instanceMem.base += 0x100; }, abi::NV_ERR_INVALID_ADDRESS);
    check([](auto& p) { p.instanceMem.base = p.ramfcMem.base = u64{1} << 44; }, abi::NV_ERR_INVALID_ADDRESS);
    check([](auto& p) { p.ramfcMem.base += 0x1000; }, abi::NV_ERR_INVALID_ADDRESS);
    check([](auto& p) { p.userdMem.addressSpace = 9; }, abi::NV_ERR_INVALID_ARGUMENT);
    check([](auto& p) { p.engineType = 0x99; }, abi::NV_ERR_INVALID_ARGUMENT);
    check([](auto& p) { p.hContextShare = 0x4242; }, abi::NV_ERR_INVALID_OBJECT_HANDLE);
    CHECK(setup.make(0x11, setup.params(5)) == abi::NV_OK);
    CHECK(setup.make(0x12, setup.params(5)) == abi::NV_ERR_STATE_IN_USE);
}

TEST_CASE("freeing waits for the preemption, then unbinds; the id is free again") {
    Setup setup;
    REQUIRE(setup.make(0x11, setup.params(5)) == abi::NV_OK);
    setup.schedule(kGroup, abi::NVA06C_CTRL_CMD_GPFIFO_SCHEDULE, true);
    setup.bus.log.clear();
    CHECK(setup.free(kClient, 0x11) == abi::NV_OK);
    std::vector<u32> order;
    for (const auto& [offset, value] : setup.bus.log) order.push_back(offset);
    std::vector<u32> want = {reg::NV_PCCSR_CHANNEL(5),        reg::NV_PFIFO_RUNLIST_PREEMPT,   reg::NV_PFIFO_RUNLIST_BASE_LO(0),
                             reg::NV_PFIFO_RUNLIST_BASE_HI(0), reg::NV_PFIFO_RUNLIST_SUBMIT(0), reg::NV_PCCSR_CHANNEL(5),
                             reg::NV_PCCSR_CHANNEL_INST(5)};
    CHECK(order == want);
    CHECK(setup.runlist(0).empty());
    CHECK(setup.bus.regs[reg::NV_PCCSR_CHANNEL_INST(5)] == 0);
    CHECK(setup.make(0x11, setup.params(5)) == abi::NV_OK);
    // A client that goes takes its channels along.
    CHECK(setup.free(kClient, kClient) == abi::NV_OK);
    CHECK(setup.bus.regs[reg::NV_PCCSR_CHANNEL_INST(5)] == 0);
}

TEST_CASE("an error takes the group down and is told by notifier, RC_TRIGGERED and OS_ERROR_LOG") {
    Setup setup;
    REQUIRE(setup.make(0x11, setup.params(5)) == abi::NV_OK);
    REQUIRE(setup.make(0x12, setup.params(6)) == abi::NV_OK);
    setup.schedule(kGroup, abi::NVA06C_CTRL_CMD_GPFIFO_SCHEDULE, true);
    gpu::ChipError error;
    error.source = gpu::ChipError::Source::MmuFault;
    error.chid = 5;
    error.engine_fault_id = 0x40;
    error.info = 2;
    error.info2 = 1;
    error.address = 0x7FFF12345000;
    setup.gsp->firmware().on_chip_error(error);
    setup.gsp->firmware().on_chip_error(error);  // the same again says nothing new
    setup.run(SimTime::from_ms(1));
    setup.collect_events();
    REQUIRE(setup.events.size() == 2);
    auto rc = abi::load_prefix<abi::rpc_rc_triggered_v17_02>(setup.events[0].payload());
    CHECK(setup.events[0].header.function == abi::NV_VGPU_MSG_EVENT_RC_TRIGGERED);
    CHECK(rc.nv2080EngineType == abi::NV2080_ENGINE_TYPE_GR0);
    CHECK(rc.chid == 5);
    CHECK(rc.exceptType == 31);
    CHECK(rc.scope == 1);
    CHECK(rc.mmuFaultAddrHi == 0x7FFF);
    CHECK(rc.mmuFaultType == 2);
    auto log = abi::load_prefix<abi::rpc_os_error_log_v17_00>(setup.events[1].payload());
    CHECK(setup.events[1].header.function == abi::NV_VGPU_MSG_EVENT_OS_ERROR_LOG);
    CHECK(log.exceptType == 31);
    CHECK(std::string(log.errString) == "Ch 00000005, engine 0x40, MMU fault @ 0x7fff12345000: FAULT_PTE by WRITE");
    for (u32 chid : {5u, 6u}) {
        CHECK(setup.bus.system.read_u32(kNotifier + chid * 0x1000 + 8) == 31);
        CHECK((setup.bus.system.read_u32(kNotifier + chid * 0x1000 + 12) >> 16) == 0xFFFF);
    }
    CHECK(setup.bus.regs[reg::NV_PCCSR_CHANNEL(5)] == 1u << 11);
    CHECK(setup.bus.regs[reg::NV_PCCSR_CHANNEL(6)] == 1u << 11);
    CHECK((setup.bus.regs[reg::NV_PFIFO_PREEMPT] & 0x3000FFF) == 0x1000000);
    CHECK(setup.schedule(0x11, abi::NVA06F_CTRL_CMD_GPFIFO_SCHEDULE, true) == abi::NV_ERR_INVALID_STATE);
    CHECK(setup.free(kClient, kGroup) == abi::NV_OK);
    CHECK(setup.runlist(0).empty());
}

TEST_CASE("which Xid an error becomes") {
    using Source = gpu::ChipError::Source;
    struct Row {
        Source source;
        u32 engine_fault_id;
        u32 xid;
    };
    for (Row row : {Row{Source::Pbdma, 0x20, 32}, Row{Source::Gr, 0x40, 13}, Row{Source::Ce, 0x0F, 39}, Row{Source::Ce, 0x11, 41},
                    Row{Source::Ce, 0x12, 70}, Row{Source::Ecc, 0, 48}}) {
        Setup setup;
        REQUIRE(setup.make(0x11, setup.params(5)) == abi::NV_OK);
        gpu::ChipError error;
        error.source = row.source;
        error.chid = 5;
        error.engine_fault_id = row.engine_fault_id;
        setup.gsp->firmware().on_chip_error(error);
        setup.run(SimTime::from_ms(1));
        setup.collect_events();
        REQUIRE(setup.events.size() == 2);
        CHECK(abi::load_prefix<abi::rpc_os_error_log_v17_00>(setup.events[1].payload()).exceptType == row.xid);
    }
}

TEST_CASE("the replayable fault buffer is mapped in the firmware's half of BAR2") {
    Setup setup;
    abi::NV2080_CTRL_INTERNAL_GMMU_REGISTER_FAULT_BUFFER_PARAMS buffer{};
    buffer.faultBufferSize = 3 * 4096;
    for (u64 i = 0; i < 3; ++i) buffer.faultBufferPteArray[i] = 0x300000 + i * 0x5000;
    CHECK(setup.control(0xC1E00004, 0xABCD2080, abi::NV2080_CTRL_CMD_INTERNAL_GMMU_REGISTER_FAULT_BUFFER, buffer) == abi::NV_OK);
    CHECK(setup.bus.regs[0xB83020] == 0);
    CHECK(setup.bus.regs[0xB83024] == 0x8000);
    CHECK(setup.bus.regs[0xB83030] == (0x80000000 | 3 * 4096 / 32));
    buffer.faultBufferSize = 257 * 4096;
    CHECK(setup.control(0xC1E00004, 0xABCD2080, abi::NV2080_CTRL_CMD_INTERNAL_GMMU_REGISTER_FAULT_BUFFER, buffer) ==
          abi::NV_ERR_INVALID_ARGUMENT);
}
