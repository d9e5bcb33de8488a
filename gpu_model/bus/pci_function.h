// PCI function 0: what the host sees. Gates everything by configuration space: BARs by memory space and power state,
// DMA and messages by bus mastering. Also the configuration mirror at BAR0 0x88000. Fault point "pci.lost": the device
// falls off the bus (all reads are ones, stores and DMA are lost) until reset.
#pragma once

#include <functional>

#include "gpu_model/bus/bar0.h"
#include "gpu_model/bus/pci_config.h"
#include "gpu_model/bus/register_unit.h"
#include "gpu_model/chip.h"
#include "gpu_model/intr/intr_tree.h"
#include "gpu_model/mem/bar_window.h"
#include "gpu_model/pci_surface.h"
#include "gpu_model/time/timing_params.h"
#include "sim/event_queue.h"
#include "sim/kernel.h"

namespace gpu {

class PciFunction final : public PciDevice,
                          public PciHost,
                          public IntrTree::MessagePort,
                          public RegisterUnit,
                          private sim::EventTarget {
public:
    static constexpr u32 kMirrorBase = 0x88000;

    PciFunction(sim::Kernel& kernel, const ChipSpec& spec, const TimingParams& timing, PciHost& host);
    ~PciFunction();
    // What lies behind the BARs. `function_reset` runs when software asks for a function-level reset. Precondition of
    // every access.
    void attach(Bar0& bar0, BarWindow& bar1, BarWindow& bar3, const IntrTree& intr,
                std::function<void()> function_reset);

    // PciDevice: the host's side.
    u32 config_read(u16 offset, unsigned bytes) override;
    void config_write(u16 offset, unsigned bytes, u32 value) override;
    u64 bar_read(Bar bar, u64 offset, unsigned bytes) override;
    void bar_write(Bar bar, u64 offset, unsigned bytes, u64 value) override;
    std::span<u8> bar_window(Bar bar, u64 offset, u64 bytes) override;
    void window_written(Bar bar, u64 offset, u64 bytes) override;
    u64 window_generation() const override;

    // PciHost: the chip's side, towards system memory.
    bool dma_read(SysPa address, std::span<u8> out) override;
    bool dma_write(SysPa address, std::span<const u8> bytes) override;
    std::span<u8> dma_window(SysPa address, u64 bytes, bool for_write) override;
    void message_interrupt(u16 data) override { host_.message_interrupt(data); }

    void raise_message() override;

    // RegisterUnit: the mirror.
    u32 read(u32 offset) override;
    void write(u32 offset, u32 value) override;
    std::string_view unit_name() const override { return "xve"; }

    void reset();
    void visit(sim::StateVisitor& visitor);

private:
    bool answers();
    bool dma_allowed();
    bool can_send() const;
    u32 dword(u32 offset) const;
    void store(u32 offset, u32 value, u32 enables);
    BarWindow* window_of(Bar bar) const;
    void report_access(std::string_view what, u64 offset, unsigned bytes);
    void on_event(u32 op, u64 arg) override;

    sim::Kernel& kernel_;
    const TimingParams& timing_;
    PciHost& host_;
    PciConfig config_;
    sim::TargetId target_;
    Bar0* bar0_ = nullptr;
    BarWindow* bar1_ = nullptr;
    BarWindow* bar3_ = nullptr;
    const IntrTree* intr_ = nullptr;
    std::function<void()> function_reset_;
    bool lost_ = false;
    bool message_in_flight_ = false;
    u64 generation_ = 0;
};

}  // namespace gpu
