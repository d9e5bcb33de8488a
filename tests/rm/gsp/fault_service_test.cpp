// Non-replayable faults: which packets go to the client's shadow buffer, which end a channel, and what a hostile client
// or a full buffer does; the service of stalling copy-engine interrupts.
#include <doctest/doctest.h>

#include "gpu_model/mem/fault_packet.h"
#include "rm/abi/ctrl2080internal.h"
#include "rm/abi/flags_alloc.h"
#include "rm/abi/flags_nvos.h"
#include "rm/abi/notifiers.h"
#include "rm/gsp/fault_service.h"
#include "rm/gsp/registers.h"
#include "rm/shadow_queue.h"
#include "tests/rm/gsp_fixture.h"

using namespace test;
using gpu::FaultPacket;
namespace reg = rm::gsp::reg;
namespace q = rm::shadow_queue;

namespace {

constexpr u32 kFaultClient = 0xC1D00001, kFaultDevice = 0x80, kFaultSubdevice = 0x2080, kFaultSpace = 0x90F1, kFaultGroup = 0xA06C;
constexpr u32 kChid = 5, kCe2 = 0x11, kGraphics = 0x40, kPbdma = 0x23;
constexpr u64 kFaultInstance = 0x4000000, kQueuePage = 0x700000, kPackets = 0x800000, kFaultVa = 0x7FFF12345000;
constexpr u32 kBytes = rm::gsp::kNonReplayableFaults * FaultPacket::kBytes;
constexpr u32 kGetReg = 0xB83008, kPutReg = 0xB8300C, kOverflow = u32{1} << 31;

struct FaultBench : Bench {
    FaultBench() {
        REQUIRE(boot());
        make_client(kFaultClient, kFaultDevice, kFaultSubdevice);
        abi::NV_VASPACE_ALLOCATION_PARAMETERS space{};
        space.flags = abi::NV_VASPACE_ALLOCATION_FLAGS_ENABLE_PAGE_FAULTING;
        REQUIRE(alloc(kFaultClient, kFaultDevice, kFaultSpace, abi::FERMI_VASPACE_A, space) == abi::NV_OK);
        abi::NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS group{};
        group.hVASpace = kFaultSpace;
        group.engineType = abi::NV2080_ENGINE_TYPE_COPY0 + 2;
        REQUIRE(alloc(kFaultClient, kFaultDevice, kFaultGroup, abi::KEPLER_CHANNEL_GROUP_A, group) == abi::NV_OK);
        abi::NV_CHANNEL_ALLOC_PARAMS channel{};
        channel.gpFifoOffset = 0x200600000;
        channel.gpFifoEntries = 1024;
        channel.engineType = group.engineType;
        u32 flags = abi::NVOS04_FLAGS_CHANNEL_USERD_INDEX_PAGE_FIXED::make(1);
        channel.flags = abi::NVOS04_FLAGS_CHANNEL_USERD_INDEX_VALUE::set(flags, kChid);
        channel.instanceMem = {kFaultInstance, 0x1000, 2, 2};
        channel.ramfcMem = {kFaultInstance, 0x200, 2, 2};
        channel.userdMem = {0x5000000, 0x200, 2, 2};
        REQUIRE(alloc(kFaultClient, kFaultGroup, 0x11, abi::TURING_CHANNEL_GPFIFO_A, channel) == abi::NV_OK);
    }
    abi::NV2080_CTRL_INTERNAL_GMMU_REGISTER_CLIENT_SHADOW_FAULT_BUFFER_PARAMS shadow_params() const {
        abi::NV2080_CTRL_INTERNAL_GMMU_REGISTER_CLIENT_SHADOW_FAULT_BUFFER_PARAMS params{};
        params.shadowFaultBufferQueuePhysAddr = kQueuePage;
        params.shadowFaultBufferSize = kBytes;
        // Pages that lie apart, as a driver's do.
        for (u64 i = 0; i < kBytes / 0x1000; ++i) params.shadowFaultBufferPteArray[i] = kPackets + i * 0x3000;
        return params;
    }
    u32 register_shadow(abi::NV2080_CTRL_INTERNAL_GMMU_REGISTER_CLIENT_SHADOW_FAULT_BUFFER_PARAMS params) {
        bus.system.write_u64(kQueuePage + q::kCapacity, kBytes / FaultPacket::kBytes);
        bus.system.write_u64(kQueuePage + q::kMessageBytes, FaultPacket::kBytes);
        return control(0xC1E00004, 0xABCD2080, abi::NV2080_CTRL_CMD_INTERNAL_GMMU_REGISTER_CLIENT_SHADOW_FAULT_BUFFER, params);
    }
    static FaultPacket packet(u32 engine, bool paging, u64 va = kFaultVa) {
        FaultPacket p;
        p.words[FaultPacket::kInstLo] = static_cast<u32>(kFaultInstance);
        p.words[FaultPacket::kAddrLo] = static_cast<u32>(va);
        p.words[FaultPacket::kAddrHi] = static_cast<u32>(va >> 32);
        p.words[FaultPacket::kEngine] = engine;
        p.words[FaultPacket::kInfo] = FaultPacket::VALID::make(1) | FaultPacket::REPLAYABLE_FAULT_EN::make(paging) |
                                      FaultPacket::ACCESS_TYPE::make(1) | FaultPacket::CLIENT_TYPE::make(1) |
                                      FaultPacket::FAULT_TYPE::make(2);
        return p;
    }
    u64 buffer() { return u64{bus.regs[0xB83004]} << 32 | (bus.regs[0xB83000] & 0xFFFFF000); }
    // As the MMU does, and then the host's report of the same fault.
    void raise(const FaultPacket& p) {
        u32 put = bus.regs[kPutReg] & 0xFFFFF;
        bus.fb.write(buffer() + u64{put} * FaultPacket::kBytes, p.bytes());
        bus.regs[kPutReg] = (put + 1) % rm::gsp::kNonReplayableFaults;
        gpu::ChipError error;
        error.source = gpu::ChipError::Source::MmuFault;
        error.chid = kChid;
        error.engine_fault_id = p.engine_id();
        error.info = p.fault_type();
        error.info2 = p.access_type();
        error.address = p.va() + 0x40;  // the chip knows the byte
        gsp->firmware().on_chip_error(error);
    }
    // Of the events since the last call, some of which may have come beside a reply; they stay in `events`.
    std::vector<u32> event_functions() {
        run(SimTime::from_ms(2));
        events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(seen));
        collect_events();
        seen = events.size();
        std::vector<u32> out;
        for (const msgq::Record& record : events) out.push_back(record.header.function);
        return out;
    }
    std::size_t seen = 0;
    u64 put() { return bus.system.read_u64(kQueuePage + q::kPut); }
    u32 report(const FaultPacket& p) {
        abi::NV2080_CTRL_GPU_REPORT_NON_REPLAYABLE_FAULT_PARAMS params{};
        std::array<u8, FaultPacket::kBytes> bytes = p.bytes();
        std::copy(bytes.begin(), bytes.end(), std::begin(params.faultPacket.data));
        return control(kFaultClient, kFaultSubdevice, abi::NV2080_CTRL_CMD_GPU_REPORT_NON_REPLAYABLE_FAULT, params);
    }
};

const std::vector<u32> kRecovery{abi::NV_VGPU_MSG_EVENT_RC_TRIGGERED, abi::NV_VGPU_MSG_EVENT_OS_ERROR_LOG};

}  // namespace

TEST_CASE("faults: the firmware owns the non-replayable buffer, in its own video memory, and announces overflow") {
    FaultBench bench;
    CHECK((bench.bus.regs[0xB83000] & 7) == 1);  // physical, video memory
    CHECK(bench.buffer() != 0);
    CHECK(bench.bus.regs[0xB83010] == (u32{1} << 31 | u32{1} << 29 | rm::gsp::kNonReplayableFaults));
    abi::rpc_unloading_guest_driver_v1F_07 goodbye{};
    std::vector<u8> payload(sizeof(goodbye));
    REQUIRE(bench.call(abi::NV_VGPU_MSG_FUNCTION_UNLOADING_GUEST_DRIVER, payload).rpc_result == abi::NV_OK);
    CHECK(bench.bus.regs[0xB83010] == 0);
}

TEST_CASE("faults: a packet is the client's when its engine and its space allow, and event 0x1005 says so") {
    FaultBench bench;
    REQUIRE(bench.register_shadow(bench.shadow_params()) == abi::NV_OK);
    CHECK(bench.register_shadow(bench.shadow_params()) == abi::NV_ERR_NOT_SUPPORTED);  // one client
    FaultPacket copy = FaultBench::packet(kCe2, true);
    bench.raise(copy);
    CHECK(bench.event_functions() == std::vector<u32>{abi::NV_VGPU_MSG_EVENT_MMU_FAULT_QUEUED});
    static_assert(abi::NV_VGPU_MSG_EVENT_MMU_FAULT_QUEUED == 0x1005);
    CHECK(bench.events[0].payload().empty());
    CHECK(bench.put() == 1);
    std::array<u8, FaultPacket::kBytes> got{};
    bench.bus.system.read(kPackets, got);
    CHECK(got == copy.bytes());
    CHECK(bench.bus.regs[kGetReg] == 1);
    CHECK(bench.bus.fb.read_u32(bench.buffer() + 28) == (copy.words[FaultPacket::kInfo] & ~(u32{1} << 31)));  // VALID taken back
    // A PBDMA's too, and the packet lies where the 128th begins a page.
    bench.bus.system.write_u64(kQueuePage + q::kGet, 127);
    bench.bus.system.write_u64(kQueuePage + q::kPut, 127);
    bench.raise(FaultBench::packet(kPbdma, true, 0x1000));
    bench.raise(FaultBench::packet(kPbdma, true, 0x2000));
    CHECK(bench.event_functions().size() == 1);  // both were there when the firmware looked
    CHECK(bench.put() == 129);
    CHECK(bench.bus.system.read_u32(kPackets + 127 * 32 + 8) == 0x1000);
    CHECK(bench.bus.system.read_u32(kPackets + 0x3000 + 8) == 0x2000);
    // Without paging in its space, or of another engine, a fault is fatal.
    bench.raise(FaultBench::packet(kCe2, false, 0x3000));
    CHECK(bench.event_functions() == kRecovery);
    CHECK(bench.put() == 129);
}

TEST_CASE("faults: graphics, and everything without a client, end in recovery") {
    for (bool with_client : {false, true}) {
        FaultBench bench;
        if (with_client) REQUIRE(bench.register_shadow(bench.shadow_params()) == abi::NV_OK);
        bench.raise(FaultBench::packet(with_client ? kGraphics : kCe2, true));
        CHECK(bench.event_functions() == kRecovery);
        CHECK(bench.put() == 0);
        CHECK(bench.bus.regs[kGetReg] == 1);
    }
}

TEST_CASE("faults: what the client gives back takes the channel down; nonsense does not") {
    FaultBench bench;
    REQUIRE(bench.register_shadow(bench.shadow_params()) == abi::NV_OK);
    FaultPacket copy = FaultBench::packet(kCe2, true);
    bench.raise(copy);
    CHECK(bench.event_functions().size() == 1);
    FaultPacket wrong = copy;
    wrong.words[FaultPacket::kInfo] = 0;
    CHECK(bench.report(wrong) == abi::NV_ERR_INVALID_ARGUMENT);
    wrong = copy;
    wrong.words[FaultPacket::kInstLo] += 0x1000;
    CHECK(bench.report(wrong) == abi::NV_ERR_INVALID_CHANNEL);
    CHECK(bench.report(copy) == abi::NV_OK);
    CHECK(bench.event_functions() == kRecovery);
    auto rc = abi::load_prefix<abi::rpc_rc_triggered_v17_02>(bench.events[0].payload());
    CHECK(rc.chid == kChid);
    CHECK(rc.exceptType == 31);
    CHECK((u64{rc.mmuFaultAddrHi} << 32 | rc.mmuFaultAddrLo) == kFaultVa);
    CHECK(bench.report(copy) == abi::NV_OK);
    CHECK(bench.event_functions().empty());  // said once
}

TEST_CASE("faults: a shadow buffer that is full, or says nonsense, loses no fault") {
    struct Row {
        u64 field, value;
    };
    for (Row row : {Row{q::kCapacity, 0}, Row{q::kCapacity, ~u64{0}}, Row{q::kMessageBytes, 64}, Row{q::kGet, 1}, Row{q::kGet, ~u64{0}},
                    Row{q::kPut, kBytes / 32}}) {
        FaultBench bench;
        REQUIRE(bench.register_shadow(bench.shadow_params()) == abi::NV_OK);
        bench.bus.system.write_u64(kQueuePage + row.field, row.value);
        bench.raise(FaultBench::packet(kCe2, true));
        CHECK(bench.event_functions() == kRecovery);
        CHECK(bench.notes.has("the client's queue of MMU faults is"));
    }
}

TEST_CASE("faults: a shadow buffer is checked when it is registered, and gone when it is not") {
    FaultBench bench;
    auto refused = [&](auto change, u32 status) {
        auto params = bench.shadow_params();
        change(params);
        CHECK(bench.register_shadow(params) == status);
    };
    refused([](auto& p) { p.shadowFaultBufferType = 1; }, abi::NV_ERR_NOT_SUPPORTED);
    refused([](auto& p) { p.shadowFaultBufferType = 2; }, abi::NV_ERR_INVALID_ARGUMENT);
    refused([](auto& p) { p.shadowFaultBufferSize = 0; }, abi::NV_ERR_INVALID_ARGUMENT);
    refused([](auto& p) { p.shadowFaultBufferSize = 0xBB9 * 0x1000; }, abi::NV_ERR_INVALID_ARGUMENT);
    refused([](auto& p) { p.shadowFaultBufferSize = 0x1010; }, abi::NV_ERR_INVALID_ARGUMENT);
    refused([](auto& p) { p.shadowFaultBufferPteArray[1] += 8; }, abi::NV_ERR_INVALID_ADDRESS);
    refused([](auto& p) { p.shadowFaultBufferPteArray[2] = u64{1} << 50; }, abi::NV_ERR_INVALID_ADDRESS);
    refused([](auto& p) { p.shadowFaultBufferQueuePhysAddr = u64{1} << 50; }, abi::NV_ERR_INVALID_ADDRESS);
    REQUIRE(bench.register_shadow(bench.shadow_params()) == abi::NV_OK);
    abi::NV2080_CTRL_INTERNAL_GMMU_UNREGISTER_CLIENT_SHADOW_FAULT_BUFFER_PARAMS off{};
    CHECK(bench.control(0xC1E00004, 0xABCD2080, abi::NV2080_CTRL_CMD_INTERNAL_GMMU_UNREGISTER_CLIENT_SHADOW_FAULT_BUFFER, off) ==
          abi::NV_OK);
    bench.raise(FaultBench::packet(kCe2, true));
    CHECK(bench.event_functions() == kRecovery);
}

TEST_CASE("faults: an overflow is told and cleared, room first") {
    FaultBench bench;
    bench.bus.regs[kGetReg] = kOverflow;
    bench.bus.log.clear();
    bench.raise(FaultBench::packet(kCe2, false));
    bench.run(SimTime::from_ms(1));
    std::vector<u32> writes;
    for (auto [offset, value] : bench.bus.log)
        if (offset == kGetReg) writes.push_back(value);
    REQUIRE(writes.size() >= 2);
    CHECK(writes[0] == 1);
    CHECK(writes[1] == (1 | kOverflow));
    CHECK(bench.notes.has("overflow of the non-replayable fault buffer"));
}

TEST_CASE("stalls: a copy engine's BLOCKING interrupt is cleared and its event sent; other vectors are not the firmware's") {
    FaultBench bench;
    constexpr u32 kCe2Stall = 199;
    u32 status = reg::NV_CE_LCE_INTR_STATUS(2);
    bench.bus.regs[status] = 3;
    bench.gsp->firmware().on_stall_interrupt(kCe2Stall);
    bench.gsp->firmware().on_stall_interrupt(kCe2Stall);  // seen twice before it is served once
    bench.gsp->firmware().on_stall_interrupt(155);
    CHECK(bench.event_functions() == std::vector<u32>{abi::NV_VGPU_MSG_EVENT_POST_EVENT});
    auto event = abi::load_prefix<abi::rpc_post_event_v17_00>(bench.events[0].payload());
    CHECK(event.notifyIndex == abi::NV2080_NOTIFIERS_CE2);
    CHECK(event.bNotifyList == 1);
    CHECK(bench.bus.regs[status] == 1);  // what was written: BLOCKPIPE, nothing else
    CHECK(bench.bus.regs[0xB81018] == 1u << 7);
    // A launch error's status goes, too, without an event: recovery has told of it.
    bench.bus.regs[status] = 4;
    bench.gsp->firmware().on_stall_interrupt(kCe2Stall);
    CHECK(bench.event_functions().empty());
    CHECK(bench.bus.regs[status] == 4);
}

TEST_CASE("stalls: an engine that stopped before the firmware ran goes on when it does") {
    Bench bench;
    u32 status = reg::NV_CE_LCE_INTR_STATUS(3);
    bench.bus.regs[status] = 3;
    bench.prepare();
    bench.send_preboot();
    bench.start();
    bench.run(SimTime::from_ms(1));
    CHECK(bench.bus.regs[status] == 1);
    CHECK(bench.bus.regs.count(reg::NV_CE_LCE_INTR_STATUS(2)) == 0);  // looked at, not written
}
