// What a process stores to mapped memory of real hardware, in the form of the pci surface: the "offset" in a BAR is the host address.
// Registers are BAR0, memory is BAR1. Pages that hold a channel's PUT have no window, so that each store there passes by Work first.
#pragma once

#include "gpu_model/pci_surface.h"
#include "guest_harness/hw/forwarder.h"

namespace harness::hw {

class Bus final : public gpu::PciDevice {
public:
    Bus(const Link& link, const Forwarder& forwarder) : link_(link), forwarder_(forwarder) {}

    // A process has no way to configuration space.
    u32 config_read(u16, unsigned) override { return ~u32{0}; }
    void config_write(u16, unsigned, u32) override {}
    u64 bar_read(gpu::Bar bar, u64 offset, unsigned bytes) override;
    void bar_write(gpu::Bar bar, u64 offset, unsigned bytes, u64 value) override;
    std::span<u8> bar_window(gpu::Bar bar, u64 offset, u64 bytes) override;
    void window_written(gpu::Bar, u64, u64) override {}
    u64 window_generation() const override { return forwarder_.generation(); }

private:
    Link link_;
    const Forwarder& forwarder_;
};

}  // namespace harness::hw
