// What the operating system's PCI code does before the driver sees the device: sizes and places the BARs, enables
// memory and bus mastering, sets up the message interrupt.
#pragma once

#include "rm/client/chip_io.h"
#include "sim/state_visitor.h"

namespace rm::client {

struct PciLocation {
    u32 domain = 0;
    u8 bus = 1;
    u8 slot = 0;
    // The driver's own name for the GPU: domain, bus and slot packed.
    u32 gpu_id() const { return domain << 16 | u32{bus} << 8 | slot; }
};

class PciFunction {
public:
    struct BarPlace {
        u64 address = 0;
        u64 bytes = 0;
    };

    explicit PciFunction(ChipIo& io) : io_(io) {}

    // False: nothing answers in configuration space.
    bool enable();
    // False: no MSI capability. `data` arrives with each message.
    bool enable_msi(u16 data);
    void disable_msi();

    PciLocation location() const { return {}; }
    u16 vendor() const { return vendor_; }
    u16 device() const { return device_; }
    u32 subsystem() const { return subsystem_; }
    u8 revision() const { return revision_; }
    const BarPlace& registers() const { return bars_[0]; }
    const BarPlace& framebuffer() const { return bars_[1]; }
    const BarPlace& instance() const { return bars_[2]; }
    void visit(sim::StateVisitor& visitor);

private:
    BarPlace place_bar(u16 offset, bool is_64bit, u64 default_address);
    u16 find_capability(u8 id);

    ChipIo& io_;
    u16 vendor_ = 0;
    u16 device_ = 0;
    u32 subsystem_ = 0;
    u8 revision_ = 0;
    BarPlace bars_[3];
    u16 msi_ = 0;
};

}  // namespace rm::client
