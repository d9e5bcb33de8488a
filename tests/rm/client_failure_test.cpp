// A chip that stops answering: what the driver says, and how long it takes.
#include "guest_harness/host_memory.h"
#include "rm/client/rpc.h"
#include "rm/versions.h"
#include "tests/support/machine_fixture.h"

namespace abi = test::abi;
using namespace sim;

namespace {

constexpr u64 kDoorbell = 0x110C00;

// The device as its host sees it, with faults that a test switches on.
class FaultyDevice final : public gpu::PciDevice {
public:
    explicit FaultyDevice(gpu::PciDevice& device) : device_(device) {}
    u32 config_read(u16 offset, unsigned bytes) override { return device_.config_read(offset, bytes); }
    void config_write(u16 offset, unsigned bytes, u32 value) override { device_.config_write(offset, bytes, value); }
    u64 bar_read(gpu::Bar bar, u64 offset, unsigned bytes) override {
        return dead ? ~u64{0} : device_.bar_read(bar, offset, bytes);
    }
    void bar_write(gpu::Bar bar, u64 offset, unsigned bytes, u64 value) override {
        if (dead || (deaf && bar == gpu::Bar::Bar0 && offset == kDoorbell)) return;
        device_.bar_write(bar, offset, bytes, value);
    }
    std::span<u8> bar_window(gpu::Bar bar, u64 offset, u64 bytes) override {
        return device_.bar_window(bar, offset, bytes);
    }
    void window_written(gpu::Bar bar, u64 offset, u64 bytes) override { device_.window_written(bar, offset, bytes); }
    u64 window_generation() const override { return device_.window_generation(); }

    bool deaf = false;  // doorbells are lost
    bool dead = false;  // every read is all ones

private:
    gpu::PciDevice& device_;
};

class Bench final : public gpu::PciHost, public sim::JournalSink {
public:
    Bench()
        : version(*rm::find_version("570.144").version),
          gpu(kernel, *gpu::find_chip("t4"), *this),
          gsp(kernel, *gpu::find_chip("t4"), version, gpu.firmware_bus()),
          device(gpu.pci()),
          client(kernel, version, device, host, {}) {
        gpu.attach_firmware(gsp.firmware());
        kernel.journal().add_sink(*this);
    }
    ~Bench() { kernel.journal().remove_sink(*this); }

    bool dma_read(gpu::SysPa address, std::span<u8> out) override {
        if (!host.allocated(address, out.size())) return false;
        host.memory().read(address.value, out);
        return true;
    }
    bool dma_write(gpu::SysPa address, std::span<const u8> bytes) override {
        if (!host.allocated(address, bytes.size())) return false;
        host.memory().write(address.value, bytes);
        return true;
    }
    std::span<u8> dma_window(gpu::SysPa, u64, bool) override { return {}; }
    void message_interrupt(u16 data) override { client.interrupt(data); }
    void on_record(const sim::JournalRecord&, std::span<const u8>) override {}
    void on_note(SimTime, std::string_view text) override { notes += std::string(text) + "\n"; }

    void run(const std::function<void()>& body) {
        sim::FiberId fiber = kernel.fibers().spawn("process", sim::Phase::Guest, body);
        kernel.run(kernel.now() + SimTime::from_s(100));
        REQUIRE(kernel.fibers().finished(fiber));
    }
    template <typename T>
    void escape(u32 number, T& value) {
        u64 address = user.put(value);
        REQUIRE(client.surface().ioctl(caller, 3, test::MachineFixture::request_word(number, sizeof(T)), address) == 0);
        value = user.get<T>(address);
    }
    u32 alloc(u32 root, u32 parent, u32 object, u32 class_id) {
        abi::NVOS21_PARAMETERS params{};
        params.hRoot = root;
        params.hObjectParent = parent;
        params.hObjectNew = object;
        params.hClass = class_id;
        if (class_id == abi::NV01_DEVICE_0) params.pAllocParms = user.put(abi::NV0080_ALLOC_PARAMETERS{});
        escape(abi::NV_ESC_RM_ALLOC, params);
        return root == 0 ? params.hObjectNew : params.status;
    }

    sim::Kernel kernel;
    const rm::DriverVersion& version;
    harness::HostMemory host;
    gpu::Gpu gpu;
    rm::Gsp gsp;
    FaultyDevice device;
    rm::Client client;
    test::UserSpace user;
    rm::Caller caller{user};
    std::string notes;
};

}  // namespace

TEST_CASE("P01: a driver whose firmware reads nothing gets 62 records in, and the next fails after a second of virtual time") {
    Bench bench;
    struct NoEvents final : rm::client::RpcEventSink {
        void on_rpc_event(const rm::msgq::Record&) override {}
    } events;
    rm::client::ChipIo io(bench.kernel, bench.gpu.pci());
    rm::client::Rpc rpc(bench.kernel, bench.version, io, bench.host, events);
    bench.run([&] {
        REQUIRE(rpc.create() == abi::NV_OK);
        const std::vector<u8> payload(16);
        SimTime start = bench.kernel.now();
        for (u32 i = 0; i < rm::msgq::kSlotCount - 1; ++i)
            CHECK(rpc.send_async("NV_VGPU_MSG_FUNCTION_SET_REGISTRY", payload) == abi::NV_OK);
        CHECK(bench.kernel.now() - start < SimTime::from_ms(1));
        start = bench.kernel.now();
        // What the queue calls NV_ERR_BUSY_RETRY is NV_ERR_GENERIC to whoever sends.
        CHECK(rpc.send_async("NV_VGPU_MSG_FUNCTION_SET_REGISTRY", payload) == abi::NV_ERR_GENERIC);
        CHECK(bench.kernel.now() - start >= SimTime::from_s(1));
        CHECK(bench.kernel.now() - start < SimTime::from_ms(1010));
        CHECK(bench.notes.find("the command queue stayed full for 1 s (NV_ERR_BUSY_RETRY)") != std::string::npos);
        rpc.destroy();
    });
}

TEST_CASE("P06: a firmware that never answers is given up after 6 s with Xid 119, and later calls fail at once") {
    Bench bench;
    bench.run([&] {
        rm::DriverSurface& driver = bench.client.surface();
        REQUIRE(driver.open(bench.caller, 3, "/dev/nvidiactl", 2) == 0);
        REQUIRE(driver.open(bench.caller, 4, "/dev/nvidia0", 2) == 0);
        u32 client = bench.alloc(0, 0, 0, abi::NV01_ROOT_CLIENT);
        REQUIRE(bench.alloc(client, client, 0x80, abi::NV01_DEVICE_0) == abi::NV_OK);
        bench.device.deaf = true;
        SimTime start = bench.kernel.now();
        CHECK(bench.alloc(client, 0x80, 0x2080, abi::NV20_SUBDEVICE_0) == abi::NV_ERR_TIMEOUT);
        SimTime took = bench.kernel.now() - start;
        CHECK(took >= SimTime::from_s(6));
        CHECK(took < SimTime::from_s(6) + SimTime::from_ms(5));
        CHECK(bench.notes.find("Xid (PCI:0000:01:00): 119,") != std::string::npos);
        CHECK(bench.notes.find("NV_VGPU_MSG_FUNCTION_GSP_RM_ALLOC") != std::string::npos);
        // The history: newest first, with names, numbers, sequence, times; events of the boot below.
        CHECK(bench.notes.find("RPC history (CPU -> GSP): the last ") != std::string::npos);
        CHECK(bench.notes.find("  0 103 GSP_RM_ALLOC seq ") != std::string::npos);
        CHECK(bench.notes.find("no reply 0x00002080 NV20_SUBDEVICE_0") != std::string::npos);
        CHECK(bench.notes.find("  -1 103 GSP_RM_ALLOC seq ") != std::string::npos);
        CHECK(bench.notes.find("RPC event history (CPU <- GSP): the last 1 of 1") != std::string::npos);
        CHECK(bench.notes.find("GSP_RUN_CPU_SEQUENCER seq 0") != std::string::npos);
        start = bench.kernel.now();
        CHECK(bench.alloc(client, 0x80, 0x2080, abi::NV20_SUBDEVICE_0) == abi::NV_ERR_RESET_REQUIRED);
        CHECK(bench.kernel.now() - start < SimTime::from_ms(1));
        driver.close(bench.caller, 3);
        driver.close(bench.caller, 4);
    });
}

TEST_CASE("P23: a device whose reads are all ones is said not to respond, each time the same") {
    std::string first;
    for (int round = 0; round < 2; ++round) {
        Bench bench;
        bench.device.dead = true;
        bench.run([&] {
            CHECK(bench.client.surface().open(bench.caller, 4, "/dev/nvidia0", 2) == -5);
            bench.device.dead = false;
            CHECK(bench.client.surface().open(bench.caller, 4, "/dev/nvidia0", 2) == 0);  // and it comes back
        });
        CHECK(bench.notes.find("the device does not respond") != std::string::npos);
        if (round == 0) first = bench.notes;
        CHECK(bench.notes == first);
    }
}

TEST_CASE("a firmware that does not start fails the open with the step and the reason") {
    Bench bench;
    bench.device.deaf = true;
    bench.run([&] {
        CHECK(bench.client.surface().open(bench.caller, 4, "/dev/nvidia0", 2) == -5);
        bench.device.deaf = false;
        CHECK(bench.client.surface().open(bench.caller, 4, "/dev/nvidia0", 2) == 0);
    });
    CHECK(bench.notes.find("RmInitAdapter failed at") != std::string::npos);
}
