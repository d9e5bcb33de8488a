// The chip as the kernel driver reaches it: registers, windows and configuration space of one PCI device, with their
// cost in virtual time. Costs add up and are paid by settle(), because an interrupt handler cannot sleep.
#pragma once

#include <span>

#include "gpu_model/pci_surface.h"
#include "rm/client/chip_registers.h"
#include "sim/kernel.h"
#include "sim/state_visitor.h"

namespace rm::client {

using namespace sim;

// Costs of one crossing of the PCIe link as a CPU sees it. (model)
inline constexpr SimTime kBarReadCost = SimTime::from_ns(700);
inline constexpr SimTime kBarWriteCost = SimTime::from_ns(60);
inline constexpr SimTime kWindowWriteCost = SimTime::from_ns(8);  // write combined
inline constexpr SimTime kConfigCost = SimTime::from_ns(900);

class ChipIo {
public:
    ChipIo(sim::Kernel& kernel, gpu::PciDevice& device) : kernel_(kernel), device_(device) {}

    u32 reg_read(u32 offset);
    void reg_write(u32 offset, u32 value);
    // Asks NV_PMC_BOOT_0; the first time that the device is found gone it is said (Xid 79).
    bool check_lost();
    // Polls until (register & mask) == value; false after `timeout` of virtual time. On a fiber.
    bool reg_poll(u32 offset, u32 mask, u32 value, SimTime timeout);

    u64 bar_read64(gpu::Bar bar, u64 offset);
    void bar_write64(gpu::Bar bar, u64 offset, u64 value);
    // Video memory through the BAR0 window; 8-byte aligned.
    u64 pramin_read64(gpu::FbPa address);
    void pramin_write64(gpu::FbPa address, u64 value);

    u32 config_read(u16 offset, unsigned bytes);
    void config_write(u16 offset, unsigned bytes, u32 value);

    // All translations of one page directory in video memory; polls until done.
    void invalidate_tlb(gpu::FbPa page_directory, bool hub_only);

    // Adds the cost of work that is not a register access.
    void spend(SimTime cost) {
        if (timed_) owed_ += cost;
    }
    // From now on work costs nothing; what a fault makes slow still is.
    void take_no_time() { timed_ = false; }
    // Sleeps for what is owed; outside a fiber the debt waits for the next call.
    void settle();
    void visit(sim::StateVisitor& visitor) {
        visitor.field("owed", owed_);
        visitor.field("lost", lost_);
    }

private:
    u32 pramin_offset(gpu::FbPa address);

    sim::Kernel& kernel_;
    gpu::PciDevice& device_;
    SimTime owed_;
    bool lost_ = false;
    bool timed_ = true;
};

}  // namespace rm::client
