// Every unit of the chip, in the order of construction: what a unit needs stands above it. For gpu.cpp and tests of
// gpu_model.
#pragma once

#include <memory>
#include <vector>

#include "gpu_model/bus/bar0.h"
#include "gpu_model/bus/identity_regs.h"
#include "gpu_model/bus/pbus.h"
#include "gpu_model/bus/pci_function.h"
#include "gpu_model/bus/usermode.h"
#include "gpu_model/engine/ce/ce.h"
#include "gpu_model/engine/compute/compute.h"
#include "gpu_model/falcon/gsp_unit.h"
#include "gpu_model/gpu.h"
#include "gpu_model/host/host.h"
#include "gpu_model/intr/intr_regs.h"
#include "gpu_model/intr/intr_tree.h"
#include "gpu_model/mem/bar_window.h"
#include "gpu_model/mem/fault_buffer.h"
#include "gpu_model/mem/memory.h"
#include "gpu_model/mem/mmu.h"
#include "gpu_model/mem/mmu_regs.h"
#include "gpu_model/time/ptimer.h"
#include "gpu_model/time/timing_params.h"

namespace gpu {

struct Gpu::Units final : private HostListener {
    Units(sim::Kernel& kernel, const ChipSpec& spec, PciHost& host);

    void reset(bool cold);
    void visit(sim::StateVisitor& visitor);

    sim::Kernel& kernel;
    const ChipSpec& spec;
    const TimingParams& timing;
    sim::SparseMemory vram;
    PciFunction pci;
    PhysicalMemory memory;
    IntrTree intr;
    Mmu mmu;
    Ptimer ptimer;
    BarWindow bar1;
    BarWindow bar2;
    FaultUnit faults;
    MmuRegs mmu_regs;
    IntrRegs intr_regs;
    Pmc pmc;
    IdentityRegs identity;
    Pbus pbus;
    Pramin pramin;
    Host host;
    CeUnit ce_unit;
    std::vector<std::unique_ptr<Ce>> ces;  // in the order of spec.engines
    GrRegs gr_regs;
    std::unique_ptr<Compute> compute;
    Usermode usermode;
    Bar0 bar0;
    const Vbios vbios;
    Prom prom;
    GspUnit gsp;

private:
    void build_engines();
    void map_bar0();
    void on_channel_error(const ChipError& error) override;
};

}  // namespace gpu
