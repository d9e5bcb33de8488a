// The chip's public face: builds every unit in one list, offers the pci surface, holds the firmware port.
#pragma once

#include <memory>
#include <string>

#include "gpu_model/chip.h"
#include "gpu_model/firmware_port.h"
#include "gpu_model/pci_surface.h"
#include "sim/kernel.h"
#include "sim/sparse_memory.h"

namespace gpu {

class Gpu {
public:
    // `spec` and `host` outlive the Gpu.
    Gpu(sim::Kernel& kernel, const ChipSpec& spec, PciHost& host);
    ~Gpu();

    PciDevice& pci();
    // What the firmware may touch. attach_firmware() must be called once, before the first register access.
    FirmwareBus& firmware_bus();
    void attach_firmware(Firmware& firmware);

    const ChipSpec& spec() const;
    sim::SparseMemory& vram();  // for digests, snapshots and tests; never for rm/
    // Cold reset, as power-on; function-level reset leaves config space ids alone.
    void reset();
    void visit(sim::StateVisitor& visitor);

    struct Units;
    Units& units();  // tests of gpu_model only

private:
    std::unique_ptr<Units> units_;
};

}  // namespace gpu
