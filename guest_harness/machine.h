// One machine: kernel, system memory, chip, firmware, driver, wired together; no CPU in it. The public entry of the library:
//   harness::Machine machine({.chip = "t4", .driver = "570.144", .seed = 0});
//   rm::DriverSurface& driver = machine.driver();
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu_model/gpu.h"
#include "rm/client.h"
#include "rm/gsp.h"
#include "sim/kernel.h"
#include "sim/sparse_memory.h"

namespace harness {

using namespace sim;

struct MachineOptions {
    std::string chip = "t4";
    std::string driver = "570.144";
    u64 seed = 0;
    rm::BootMode boot = rm::BootMode::Cold;
    bool timing = true;                        // false: device, firmware and driver take no time to speak of
    std::vector<gpu::EngineRow> engines = {};  // in place of the profile's own list; empty: the profile's own
};

struct RunSummary {
    u64 events = 0;         // journal records
    SimTime time;
    sim::Digest128 digest;  // chain, memory and device state
    std::string line() const;  // "records 812  time 1.204551 ms  digest 0123..."
};

// What a process touches of a machine. A machine gives its own; tests and other drivers put theirs together.
struct Platform {
    sim::Kernel& kernel;
    rm::DriverSurface& driver;
    gpu::PciDevice& pci;
    sim::SparseMemory& system_memory;
};

class Machine {
public:
    // Throws sim::HostError for an unknown chip or driver version, or engines that no TU104 could have (engine_list.h).
    explicit Machine(const MachineOptions& options);
    ~Machine();

    const MachineOptions& options() const;
    sim::Kernel& kernel();
    gpu::Gpu& gpu();
    rm::DriverSurface& driver();
    sim::SparseMemory& system_memory();
    Platform platform() { return {kernel(), driver(), gpu().pci(), system_memory()}; }

    sim::Digest128 memory_digest();  // video memory and driver-owned system memory
    RunSummary summary();
    void visit(sim::StateVisitor& visitor);  // precondition: no suspended driver fiber

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace harness
