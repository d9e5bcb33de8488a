// Suspend and resume by UNLOADING_GUEST_DRIVER, Booter and GSP_ARGUMENTS_CACHED, and the CPU sequencer's way of exchanging cores: what the
// firmware knew before it knows after, and damage on the way stops it by name.
#include <fmt/format.h>

#include "guest_harness/host_memory.h"
#include "rm/abi/gsp_fw_sr_meta.h"
#include "rm/client/adapter.h"
#include "sim/rng.h"
#include "tests/support/boot_rig.h"

using namespace test;

namespace {

constexpr u32 kPowerClient = 0xC1D00010, kPowerDevice = 0xC1D00011, kPowerSubdevice = 0xC1D00012;
constexpr u64 kWprHigh = 0x1FA828, kWprLow = 0x1FA824;
constexpr u64 kFaultBufferSize = 0xB83010;  // of the non-replayable buffer, which is the firmware's

// Driver and device without processes: the operating system calls the adapter.
class PowerRig final : public WatchedHost, private rm::client::AdapterEvents {
public:
    explicit PowerRig(const char* version = "570.144", rm::BootMode boot = rm::BootMode::Cold)
        : version_(*rm::find_version(version).version), gpu(kernel, *gpu::find_chip("t4"), *this),
          gsp_(kernel, *gpu::find_chip("t4"), version_, gpu.firmware_bus()), boot_(boot) {
        gpu.attach_firmware(gsp_.firmware());
        kernel.journal().add_sink(*this);
        new_driver();
    }
    ~PowerRig() { kernel.journal().remove_sink(*this); }
    void new_driver() {
        adapter.reset();
        rm::client::AdapterEvents& events = *this;
        adapter = std::make_unique<rm::client::Adapter>(kernel, version_, gpu.pci(), memory, events, boot_);
    }
    // On a fiber, to its end; a hang fails.
    template <typename Body>
    u32 on_fiber(Body body) {
        u32 status = ~u32{0};
        bool done = false;
        kernel.fibers().spawn("power", sim::Phase::Driver, [&] {
            status = body();
            done = true;
        });
        kernel.run(kernel.now() + SimTime::from_s(60));
        REQUIRE(done);
        return status;
    }
    u32 start() {
        return on_fiber([&] { return adapter->start(); });
    }
    u32 suspend() {
        return on_fiber([&] { return adapter->suspend(); });
    }
    u32 resume() {
        tap.reads.clear();
        tap.open = true;
        return on_fiber([&] { return adapter->resume(); });
    }
    void stop() {
        on_fiber([&] {
            adapter->stop();
            return u32{0};
        });
    }
    // A client with its device and subdevice on the firmware.
    u32 make_client() {
        return on_fiber([&]() -> u32 {
            u32 status = adapter->alloc_client(kPowerClient, 1);
            abi::NV0080_ALLOC_PARAMETERS device{};
            device.hClientShare = kPowerClient;
            std::vector<u8> bytes(sizeof(device));
            abi::store(std::span<u8>(bytes), device);
            if (status == 0) status = adapter->rpc().rm_alloc(kPowerClient, kPowerClient, kPowerDevice, abi::NV01_DEVICE_0, bytes);
            bytes.assign(sizeof(abi::NV2080_ALLOC_PARAMETERS), 0);
            if (status == 0) status = adapter->rpc().rm_alloc(kPowerClient, kPowerDevice, kPowerSubdevice, abi::NV20_SUBDEVICE_0, bytes);
            return status;
        });
    }
    u32 free(u32 object) {
        return on_fiber([&] { return adapter->rpc().rm_free(kPowerClient, object); });
    }
    // What the old subdevice answers to a control of the firmware.
    std::vector<u8> ask() {
        std::vector<u8> bytes(*rm::control_bytes(version_, abi::NV2080_CTRL_CMD_GSP_GET_FEATURES));
        CHECK(on_fiber([&] {
                  return adapter->rpc().rm_control(kPowerClient, kPowerSubdevice, abi::NV2080_CTRL_CMD_GSP_GET_FEATURES, bytes);
              }) == abi::NV_OK);
        return bytes;
    }
    u32 reg(u64 offset) { return static_cast<u32>(gpu.pci().bar_read(gpu::Bar::Bar0, offset, 4)); }
    std::string all_notes() const {
        std::string out;
        for (const std::string& note : notes) out += note + "\n";
        return out;
    }

private:
    const rm::DriverVersion& version_;

public:
    sim::Kernel kernel;
    gpu::Gpu gpu;

private:
    void message_interrupt(u16) override {}  // every wait here polls
    void on_rpc_event(const rm::msgq::Record&) override {}
    void on_nonstall(u32) override {}
    rm::Gsp gsp_;
    rm::BootMode boot_;

public:
    std::unique_ptr<rm::client::Adapter> adapter;
};

// The power goes: registers are as after power-on, and what stood in the protected region is gone.
void lose_power(PowerRig& rig, u64 start, u64 end) {
    rig.gpu.reset();
    std::vector<u8> garbage(4096, 0xA5);
    for (u64 at = start; at < end; at += (end - start) / 64 / 4096 * 4096) rig.gpu.vram().write(at, garbage);
}

}  // namespace

TEST_CASE("suspend and resume: WPR2 goes to system memory and comes back, and the firmware knows its objects, on every version") {
    for (std::string_view version : rm::version_names()) {
        CAPTURE(version);
        PowerRig rig(std::string(version).c_str());
        REQUIRE(rig.start() == abi::NV_OK);
        REQUIRE(rig.make_client() == abi::NV_OK);
        std::vector<u8> before = rig.ask();
        u32 low = rig.reg(kWprLow), high = rig.reg(kWprHigh);
        u64 start = u64{low >> 4} << 12, end = u64{high >> 4} << 12;
        REQUIRE(end > start);
        u32 fault_buffer = rig.reg(kFaultBufferSize);
        CHECK((fault_buffer >> 31) == 1);
        const u32 rounds = version == "570.144" ? 2 : 1;
        for (u32 round = 0; round < rounds; ++round) {
            u64 held = rig.memory.allocated_bytes();
            REQUIRE(rig.suspend() == abi::NV_OK);
            CHECK((rig.reg(kWprHigh) >> 4) == 0);
            CHECK(rig.reg(0x110040) == 0);  // the falcon was reset after it had said that it sleeps
            CHECK(rig.memory.allocated_bytes() > held + (end - start));
            lose_power(rig, start, end);
            INFO(rig.all_notes());
            REQUIRE(rig.resume() == abi::NV_OK);
            CHECK(rig.reg(kWprLow) == low);
            CHECK(rig.reg(kWprHigh) == high);
            CHECK(rig.reg(0x111240) == 1);
            CHECK(rig.reg(kFaultBufferSize) == fault_buffer);
            CHECK(rig.memory.allocated_bytes() == held);
            CHECK(rig.ask() == before);
        }
        // The tree is the one of before: a handle is taken, and a free finds it.
        CHECK(rig.make_client() != abi::NV_OK);
        CHECK(rig.free(kPowerSubdevice) == abi::NV_OK);
        CHECK(rig.free(kPowerSubdevice) != abi::NV_OK);
        rig.stop();
        CHECK((rig.reg(kWprHigh) >> 4) == 0);
        CHECK(rig.memory.allocated_bytes() == 0);
        for (const auto& row : rig.kernel.unmodelled().entries()) FAIL_CHECK(row.first);
    }
}

TEST_CASE("a suspended firmware that nobody resumes leaves no trace in the next boot") {
    PowerRig rig;
    REQUIRE(rig.start() == abi::NV_OK);
    REQUIRE(rig.make_client() == abi::NV_OK);
    REQUIRE(rig.suspend() == abi::NV_OK);
    rig.new_driver();
    REQUIRE(rig.start() == abi::NV_OK);
    CHECK(rig.make_client() == abi::NV_OK);  // no such client is known
}

TEST_CASE("suspend is refused where there is nothing to save it, and resume without a suspend") {
    PowerRig warm("570.144", rm::BootMode::Warm);
    REQUIRE(warm.start() == abi::NV_OK);
    CHECK(warm.suspend() == abi::NV_ERR_NOT_SUPPORTED);
    CHECK(warm.resume() == abi::NV_ERR_INVALID_STATE);
    // The firmware itself, asked past its driver: there is no WPR2 that Booter could save.
    abi::rpc_unloading_guest_driver_v1F_07 request{};
    request.bInPMTransition = 1;
    std::vector<u8> payload(sizeof(request));
    abi::store(std::span<u8>(payload), request);
    CHECK(warm.on_fiber([&] { return warm.adapter->rpc().call("NV_VGPU_MSG_FUNCTION_UNLOADING_GUEST_DRIVER", payload); }) ==
          abi::NV_ERR_INVALID_STATE);
    CHECK(warm.noted("there is no WPR2 to save"));
    CHECK(warm.make_client() == abi::NV_OK);  // it runs on
    PowerRig rig;
    REQUIRE(rig.start() == abi::NV_OK);
    request.bGc6Entering = 1;
    abi::store(std::span<u8>(payload), request);
    CHECK(rig.on_fiber([&] { return rig.adapter->rpc().call("NV_VGPU_MSG_FUNCTION_UNLOADING_GUEST_DRIVER", payload); }) ==
          abi::NV_ERR_NOT_SUPPORTED);
    CHECK(rig.kernel.unmodelled().entries().count("UNLOADING_GUEST_DRIVER with bGc6Entering") == 1);
}

TEST_CASE("a flipped bit in what a resume reads by DMA stops it by name") {
    std::vector<DmaTap::Read> reads;
    {
        PowerRig rig;
        REQUIRE(rig.start() == abi::NV_OK);
        REQUIRE(rig.suspend() == abi::NV_OK);
        REQUIRE(rig.resume() == abi::NV_OK);
        reads = rig.tap.reads;
    }
    REQUIRE(reads.size() > 100);
    CHECK(reads[0].bytes == sizeof(abi::GspFwSRMeta));
    sim::RandomStream random(6, "test.suspend", "dma");
    auto flip = [&](std::size_t read, u64 byte, u32 bit) {
        PowerRig rig;
        REQUIRE(rig.start() == abi::NV_OK);
        REQUIRE(rig.suspend() == abi::NV_OK);
        rig.tap.damaged_read = read;
        rig.tap.damaged_byte = byte;
        rig.tap.damaged_bit = bit;
        u32 status = rig.resume();
        CAPTURE(read);
        CAPTURE(byte);
        CAPTURE(bit);
        INFO(rig.all_notes());
        CHECK(rig.tap.damaged);
        CHECK(status != abi::NV_OK);
        CHECK(rig.noted("Booter failed"));
        CHECK((rig.reg(kWprHigh) >> 4) == 0);
        CHECK(rig.noted("GSP resume failed"));
    };
    // Every byte of the metadata; the entries of the tree that are used; saved pages here and there.
    for (u64 byte = 0; byte < sizeof(abi::GspFwSRMeta); byte += 5) flip(0, byte, static_cast<u32>(random.below(8)));
    flip(1, random.below(8), 3);
    flip(2, random.below(8), 5);
    flip(3, random.below(4096), 7);
    std::size_t last = reads.size() - 1;
    while (reads[last].bytes != 4096) --last;
    for (u32 i = 0; i < 12; ++i) flip(4 + random.below(last / 2), random.below(4096), static_cast<u32>(random.below(8)));
}

TEST_CASE("the CPU sequencer resets the core and resumes the firmware by way of SEC2; the lockdown notices reach the driver") {
    for (const char* version : {"535.183.01", "570.144", "580.95.05"}) {
        CAPTURE(version);
        PowerRig rig(version);
        rig.kernel.faults().arm("gsp.core_switch", {});
        u32 status = rig.start();
        INFO(rig.all_notes());
        REQUIRE(status == abi::NV_OK);
        CHECK(rig.noted("driver: GSP lockdown engaged"));
        CHECK(rig.noted("driver: GSP lockdown released"));
        CHECK((rig.reg(0x1180F8) >> 26 & 1) == 1);  // BOOT_STAGE_3_HANDOFF
        CHECK(rig.make_client() == abi::NV_OK);
        rig.stop();
        CHECK(rig.memory.allocated_bytes() == 0);
    }
}
