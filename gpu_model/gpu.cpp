// See gpu.h. The BAR0 map is the table in map_bar0().
#include "gpu_model/gpu.h"

#include "gpu_model/gpu_units.h"

namespace gpu {

namespace {

constexpr u16 kEngineBar1 = 0x80;  // NV_PFAULT_MMU_ENG_ID_BAR1 and BAR2
constexpr u16 kEngineBar2 = 0xC0;
constexpr u32 kBar1BlockReset = 0;
constexpr u32 kBar2BlockReset = 0x40000000;  // DEBUG_CYA off

}  // namespace

Gpu::Units::Units(sim::Kernel& kernel_in, const ChipSpec& spec_in, PciHost& pci_host)
    : kernel(kernel_in), spec(spec_in), timing(timing_for(spec_in.name, spec_in.timing)),
      vram("vram", spec_in.vram_bytes),
      pci(kernel_in, spec_in, timing, pci_host),
      memory(vram, pci),
      intr(kernel_in, pci),
      mmu(kernel_in, memory),
      ptimer(kernel_in, intr),
      bar1(memory, mmu, kEngineBar1, spec_in.bar1_bytes, kBar1BlockReset),
      bar2(memory, mmu, kEngineBar2, kBar3Bytes, kBar2BlockReset),
      faults(kernel_in, memory, bar2, intr, ptimer),
      mmu_regs(kernel_in, spec_in, mmu, faults, bar1, bar2),
      intr_regs(kernel_in, intr),
      pmc(kernel_in, spec_in, intr),
      identity(kernel_in, spec_in),
      pbus(kernel_in, intr, bar1, bar2),
      pramin(pbus, memory),
      host(kernel_in, spec_in, timing, memory, mmu, intr, ptimer, *this),
      ce_unit(kernel_in),
      gr_regs(kernel_in),
      usermode(kernel_in, ptimer, [this](u32 word) { host.doorbell(word); }),
      bar0(kernel_in),
      vbios(make_vbios(spec_in)),
      prom(vbios),
      gsp(kernel_in, bar0, memory, mmu_regs, intr, vbios) {
    mmu.attach_fault_sink(faults);
    build_engines();
    map_bar0();
    pci.attach(bar0, bar1, bar2, intr, [this] { reset(false); });
}

// One engine per row that has a model; methods for the others are reported by the host engine.
void Gpu::Units::build_engines() {
    for (u32 index = 0; index < spec.engines.size(); ++index) {
        switch (spec.engines[index].kind) {
            case EngineKind::Graphics:
                compute = std::make_unique<Compute>(kernel, spec, index, timing, memory, mmu, intr, ptimer, gr_regs,
                                                    host);
                host.attach_engine(index, *compute);
                break;
            case EngineKind::Ce:
                if (spec.engines[index].class_id != cls::TURING_DMA_COPY_A) break;
                ces.push_back(std::make_unique<Ce>(kernel, spec, index, timing, memory, mmu, intr, ptimer, host));
                ce_unit.attach(*ces.back());
                host.attach_engine(index, *ces.back());
                break;
            case EngineKind::Nvdec:
            case EngineKind::Nvenc:
            case EngineKind::Sec2:
            case EngineKind::Nvjpg: break;
        }
    }
}

void Gpu::Units::map_bar0() {
    struct Range {
        u32 first;
        u32 last;
        RegisterUnit& unit;
    };
    const Range ranges[] = {
        {0x000000, 0x000FFF, pmc},
        {0x001000, 0x001FFF, pbus},
        {0x002000, 0x003FFF, host},        // PFIFO
        {0x009000, 0x009FFF, ptimer},
        {0x020000, 0x022FFF, identity},    // THERM, FUSE, PTOP
        {0x040000, 0x057FFF, host},        // PBDMAs
        {0x070000, 0x070FFF, mmu_regs},    // UFLUSH
        {0x088000, 0x088FFF, pci},         // configuration mirror
        {0x100000, 0x100FFF, mmu_regs},    // PFB
        {0x104000, 0x104FFF, ce_unit},
        {0x110000, 0x111FFF, gsp.gsp()},
        {0x118000, 0x118FFF, identity},    // PGC6
        {0x1FA000, 0x1FAFFF, mmu_regs},    // WPR2
        {Prom::kBase, Prom::kBase + Prom::kBytes - 1, prom},
        {0x400000, 0x407FFF, gr_regs},     // PGRAPH: front end
        {0x625000, 0x625FFF, identity},    // PDISP: the VGA workspace only
        {0x700000, 0x7FFFFF, pramin},
        {0x800000, 0x807FFF, host},        // CCSR
        {0x810000, 0x81FFFF, usermode},
        {0x840000, 0x841FFF, gsp.sec2()},
        {0xB60000, 0xB63FFF, intr_regs},   // CTRL: mailboxes
        {0xB64000, 0xB65FFF, host},        // CTRL: doorbells, virtual channel configuration
        {0xB66000, 0xB7FFFF, intr_regs},   // CTRL: interrupts
        {0xB80000, 0xB80FFF, mmu_regs},    // BAR blocks of the physical function
        {0xB81000, 0xB82FFF, intr_regs},
        {0xB83000, 0xB83FFF, mmu_regs},
        {0xBB0000, 0xBBFFFF, usermode},
    };
    for (const Range& range : ranges) bar0.map(range.first, range.last, range.unit);
}

void Gpu::Units::on_channel_error(const ChipError& error) {
    if (gsp.firmware() != nullptr) gsp.firmware()->on_chip_error(error);
}

void Gpu::Units::reset(bool cold) {
    // Sources before the tree, so that no level of before is left in it; engines before the memory they use.
    host.reset();
    for (const auto& ce : ces) ce->reset();
    ce_unit.reset();
    compute->reset();
    gr_regs.reset();
    gsp.reset();
    faults.reset();
    mmu_regs.reset();
    bar1.reset();
    bar2.reset();
    mmu.reset();
    pbus.reset();
    identity.reset();
    pmc.reset();
    ptimer.reset();
    usermode.reset();
    intr_regs.reset();
    intr.reset();
    pci.reset();
    if (cold) vram.clear();
}

void Gpu::Units::visit(sim::StateVisitor& visitor) {
    visitor.part("pci", pci);
    visitor.part("intr", intr);
    visitor.part("mmu", mmu);
    visitor.part("ptimer", ptimer);
    visitor.part("bar1", bar1);
    visitor.part("bar2", bar2);
    visitor.part("faults", faults);
    visitor.part("mmu_regs", mmu_regs);
    visitor.part("intr_regs", intr_regs);
    visitor.part("pmc", pmc);
    visitor.part("identity", identity);
    visitor.part("pbus", pbus);
    visitor.part("host", host);
    visitor.part("ce_unit", ce_unit);
    for (const auto& ce : ces) visitor.part(ce->name(), *ce);
    visitor.part("compute", *compute);
    visitor.part("gr_regs", gr_regs);
    visitor.part("usermode", usermode);
    visitor.part("gsp", gsp);
    visitor.part("vram", vram);
}

Gpu::Gpu(sim::Kernel& kernel, const ChipSpec& spec, PciHost& host)
    : units_(std::make_unique<Units>(kernel, spec, host)) {}
Gpu::~Gpu() = default;

PciDevice& Gpu::pci() { return units_->pci; }
FirmwareBus& Gpu::firmware_bus() { return units_->gsp; }
void Gpu::attach_firmware(Firmware& firmware) { units_->gsp.attach_firmware(firmware); }
const ChipSpec& Gpu::spec() const { return units_->spec; }
sim::SparseMemory& Gpu::vram() { return units_->vram; }
void Gpu::reset() { units_->reset(true); }
void Gpu::visit(sim::StateVisitor& visitor) { units_->visit(visitor); }
Gpu::Units& Gpu::units() { return *units_; }

}  // namespace gpu
