// RPC round trips per second of host time on one core: the kernel driver's half sends a control over the command queue, the
// firmware's half reads it by DMA, answers it over the status queue, and the driver takes the reply. Everything of both halves runs:
// records, checksums, doorbell, interrupt, journal. Bar: 300,000 a second (the one bar here that is an absolute number, because
// no peer does the same work).
#include <cstdio>
#include <ctime>

#include "gpu_model/gpu.h"
#include "guest_harness/host_memory.h"
#include "rm/abi/ctrl2080internal.h"
#include "rm/client/adapter.h"
#include "rm/gsp.h"

namespace {

using namespace sim;

constexpr u32 kWarmUp = 20'000;
constexpr u32 kCalls = 200'000;
constexpr int kRepetitions = 5;
constexpr double kBar = 300'000;
constexpr u32 kGetNumChannels = 0x20800a61;  // INTERNAL_FIFO_GET_NUM_CHANNELS: 8 bytes of parameters

class Rig final : private gpu::PciHost, private rm::client::AdapterEvents {
public:
    Rig()
        : version_(*rm::find_version("570.144").version), gpu_(kernel, *gpu::find_chip("t4"), *this),
          gsp_(kernel, *gpu::find_chip("t4"), version_, gpu_.firmware_bus()),
          adapter(kernel, version_, gpu_.pci(), memory_, *this, rm::BootMode::Warm) {
        gpu_.attach_firmware(gsp_.firmware());
    }

private:
    bool dma_read(gpu::SysPa address, std::span<u8> out) override {
        if (!memory_.allocated(address, out.size())) return false;
        memory_.memory().read(address.value, out);
        return true;
    }
    bool dma_write(gpu::SysPa address, std::span<const u8> bytes) override {
        if (!memory_.allocated(address, bytes.size())) return false;
        memory_.memory().write(address.value, bytes);
        return true;
    }
    std::span<u8> dma_window(gpu::SysPa address, u64 bytes, bool for_write) override {
        if (!memory_.allocated(address, bytes)) return {};
        return memory_.memory().window(address.value, bytes, for_write);
    }
    void message_interrupt(u16) override { adapter.service_interrupts(); }
    void on_rpc_event(const rm::msgq::Record&) override {}
    void on_nonstall(u32) override {}

public:
    sim::Kernel kernel;

private:
    const rm::DriverVersion& version_;
    harness::HostMemory memory_;
    gpu::Gpu gpu_;
    rm::Gsp gsp_;

public:
    rm::client::Adapter adapter;
};

}  // namespace

int main() {
    Rig rig;
    bool right = true;
    double best = 0;
    auto calls = [&](u32 count) {
        for (u32 i = 0; i < count; ++i) {
            rm::abi::NV2080_CTRL_INTERNAL_FIFO_GET_NUM_CHANNELS_PARAMS params{};
            u8 bytes[sizeof(params)] = {};
            right = right && rig.adapter.internal_control(kGetNumChannels, bytes) == rm::abi::NV_OK;
            params = rm::abi::load_prefix<rm::abi::NV2080_CTRL_INTERNAL_FIFO_GET_NUM_CHANNELS_PARAMS>(bytes);
            right = right && params.numChannels != 0;
        }
    };
    rig.kernel.fibers().spawn("bench", sim::Phase::Driver, [&] {
        right = rig.adapter.start() == rm::abi::NV_OK;
        calls(kWarmUp);
        for (int i = 0; i < kRepetitions; ++i) {
            std::clock_t begin = std::clock();
            calls(kCalls);
            double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
            double rate = kCalls / seconds;
            std::printf("%8.0f round trips a second (%.2f us each)\n", rate, 1e6 / rate);
            if (rate > best) best = rate;
        }
    });
    rig.kernel.run();
    if (!right) {
        std::printf("a call failed\n");
        return 1;
    }
    std::printf("best %.0f a second, bar %.0f\n", best, kBar);
    return best < kBar ? 1 : 0;
}
