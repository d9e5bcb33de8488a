// Wires kernel, host memory, chip, firmware and driver, in that order; the reverse order takes them down.
#include "guest_harness/machine.h"

#include <fmt/format.h>

#include "guest_harness/engine_list.h"
#include "guest_harness/host_memory.h"
#include "rm/versions.h"
#include "sim/state_visitor.h"
#include "sim/time_text.h"

namespace harness {
namespace {

const gpu::ChipSpec& chip_or_throw(const std::string& name) {
    if (const gpu::ChipSpec* spec = gpu::find_chip(name)) return *spec;
    std::string known;
    for (std::string_view chip : gpu::chip_names()) known += fmt::format("{}{}", known.empty() ? "" : ", ", chip);
    throw sim::HostError(fmt::format("there is no chip profile \"{}\"; choose one of: {}", name, known));
}

gpu::ChipSpec board(const MachineOptions& options) {
    gpu::ChipSpec spec = chip_or_throw(options.chip);
    spec.timing = options.timing;
    if (options.engines.empty()) return spec;
    check_engines(options.engines);
    spec.engines = options.engines;
    return spec;
}

const rm::DriverVersion& version_or_throw(const std::string& text) {
    rm::VersionMatch match = rm::find_version(text);
    if (match.version == nullptr) throw sim::HostError(fmt::format("driver version {}: {}", text, match.text));
    return *match.version;
}

// The host computer's side of the bus: its memory answers DMA, the driver takes the interrupt.
class Host final : public gpu::PciHost {
public:
    explicit Host(HostMemory& memory) : memory_(memory) {}
    void set_client(rm::Client* client) { client_ = client; }

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
    void message_interrupt(u16 data) override {
        if (client_ != nullptr) client_->interrupt(data);
    }

private:
    HostMemory& memory_;
    rm::Client* client_ = nullptr;
};

}  // namespace

std::string RunSummary::line() const {
    return fmt::format("records {}  time {}  digest {}", events, format_time(time), digest.hex());
}

struct Machine::Impl {
    explicit Impl(const MachineOptions& chosen)
        : options(chosen),
          spec(board(chosen)),
          version(version_or_throw(chosen.driver)),
          kernel({.seed = chosen.seed}),
          host(host_memory),
          gpu(kernel, spec, host),
          gsp(kernel, spec, version, gpu.firmware_bus()),
          client(kernel, version, gpu.pci(), host_memory,
                 {.boot = chosen.boot, .classes = rm::ChipClasses(spec), .timing = chosen.timing}) {
        gpu.attach_firmware(gsp.firmware());
        host.set_client(&client);
    }
    ~Impl() { host.set_client(nullptr); }

    MachineOptions options;
    const gpu::ChipSpec spec;
    const rm::DriverVersion& version;
    sim::Kernel kernel;
    HostMemory host_memory;
    Host host;
    gpu::Gpu gpu;
    rm::Gsp gsp;
    rm::Client client;
};

Machine::Machine(const MachineOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Machine::~Machine() = default;

const MachineOptions& Machine::options() const { return impl_->options; }
sim::Kernel& Machine::kernel() { return impl_->kernel; }
gpu::Gpu& Machine::gpu() { return impl_->gpu; }
rm::DriverSurface& Machine::driver() { return impl_->client.surface(); }
sim::SparseMemory& Machine::system_memory() { return impl_->host_memory.memory(); }

sim::Digest128 Machine::memory_digest() {
    sim::DigestBuilder builder;
    for (sim::SparseMemory* memory : {&impl_->gpu.vram(), &impl_->host_memory.memory()}) {
        sim::Digest128 digest = memory->digest();
        builder.add_u64(digest.low);
        builder.add_u64(digest.high);
    }
    return builder.finish();
}

// The journal's chain stands for everything that happened, the memory digest for what it left behind.
RunSummary Machine::summary() {
    sim::Journal& journal = impl_->kernel.journal();
    sim::DigestBuilder builder;
    for (sim::Digest128 digest : {journal.chain(), memory_digest()}) {
        builder.add_u64(digest.low);
        builder.add_u64(digest.high);
    }
    builder.add_u64(impl_->kernel.now().ps);
    return {.events = journal.count(), .time = impl_->kernel.now(), .digest = builder.finish()};
}

void Machine::visit(sim::StateVisitor& visitor) {
    visitor.part("kernel", impl_->kernel);
    visitor.part("host_memory", impl_->host_memory);
    visitor.part("gpu", impl_->gpu);
    visitor.part("gsp", impl_->gsp);
    visitor.part("client", impl_->client);
}

}  // namespace harness
