// PciFunction: BARs, command register, MSI capability.
#include "rm/client/pci_function.h"

#include "sim/state_visitor.h"

namespace rm::client {

namespace {

// Where the machine's firmware puts the BARs when nobody did. (model)
constexpr u64 kRegistersAddress = 0xF6000000;
constexpr u64 kFramebufferAddress = 0x3800000000;
constexpr u64 kInstanceAddress = 0x3C00000000;
constexpr u32 kBarFlags = 0xF;
constexpr u32 kAllOnes = 0xFFFFFFFF;

using MSI_ENABLE = Field<0, 0>;
using MSI_64BIT = Field<7, 7>;
constexpr u16 kMsiControl = 2;
constexpr u16 kMsiAddress = 4;
constexpr u16 kMsiUpper = 8;
constexpr u16 kMsiData32 = 8;
constexpr u16 kMsiData64 = 12;
constexpr u32 kMsiWindow = 0xFEE00000;  // the x86 local interrupt controller
constexpr u32 kCapabilitiesMax = 48;    // a longer list is a loop

}  // namespace

PciFunction::BarPlace PciFunction::place_bar(u16 offset, bool is_64bit, u64 default_address) {
    auto upper = static_cast<u16>(offset + 4);
    u64 old = io_.config_read(offset, 4);
    if (is_64bit) old |= u64{io_.config_read(upper, 4)} << 32;
    io_.config_write(offset, 4, kAllOnes);
    u64 mask = io_.config_read(offset, 4) & ~kBarFlags;
    if (is_64bit) {
        io_.config_write(upper, 4, kAllOnes);
        mask |= u64{io_.config_read(upper, 4)} << 32;
    } else {
        mask |= ~u64{0} << 32;
    }
    u64 address = old & ~u64{kBarFlags};
    if (address == 0) address = default_address;
    io_.config_write(offset, 4, static_cast<u32>(address));
    if (is_64bit) io_.config_write(upper, 4, static_cast<u32>(address >> 32));
    return {address, mask == 0 ? 0 : ~mask + 1};
}

bool PciFunction::enable() {
    vendor_ = static_cast<u16>(io_.config_read(reg::PCI_VENDOR_ID, 2));
    device_ = static_cast<u16>(io_.config_read(reg::PCI_DEVICE_ID, 2));
    if (vendor_ == 0xFFFF || vendor_ == 0) return false;
    subsystem_ = io_.config_read(reg::PCI_SUBSYSTEM, 4);
    revision_ = static_cast<u8>(io_.config_read(reg::PCI_REVISION_ID, 1));
    bars_[0] = place_bar(reg::PCI_BAR0, false, kRegistersAddress);
    bars_[1] = place_bar(reg::PCI_BAR1, true, kFramebufferAddress);
    bars_[2] = place_bar(reg::PCI_BAR2, true, kInstanceAddress);
    u32 command = io_.config_read(reg::PCI_COMMAND, 2);
    io_.config_write(reg::PCI_COMMAND, 2, command | reg::PCI_COMMAND_MEMORY_AND_MASTER);
    return true;
}

u16 PciFunction::find_capability(u8 id) {
    auto at = static_cast<u16>(io_.config_read(reg::PCI_CAPABILITY, 1));
    for (u32 i = 0; i < kCapabilitiesMax && at != 0; ++i) {
        if (io_.config_read(at, 1) == id) return at;
        at = static_cast<u16>(io_.config_read(static_cast<u16>(at + 1), 1));
    }
    return 0;
}

bool PciFunction::enable_msi(u16 data) {
    msi_ = find_capability(reg::PCI_CAP_ID_MSI);
    if (msi_ == 0) return false;
    auto at = [this](u16 offset) { return static_cast<u16>(msi_ + offset); };
    auto control = static_cast<u16>(io_.config_read(at(kMsiControl), 2));
    bool wide = MSI_64BIT::get(control) != 0;
    io_.config_write(at(kMsiAddress), 4, kMsiWindow);
    if (wide) io_.config_write(at(kMsiUpper), 4, 0);
    io_.config_write(at(wide ? kMsiData64 : kMsiData32), 2, data);
    io_.config_write(at(kMsiControl), 2, MSI_ENABLE::set(control, 1));
    return true;
}

void PciFunction::disable_msi() {
    if (msi_ == 0) return;
    auto at = static_cast<u16>(msi_ + kMsiControl);
    io_.config_write(at, 2, MSI_ENABLE::set(io_.config_read(at, 2), 0));
}

void PciFunction::visit(sim::StateVisitor& visitor) {
    visitor.field("vendor", vendor_);
    visitor.field("device", device_);
    visitor.field("subsystem", subsystem_);
    visitor.field("revision", revision_);
    for (BarPlace& bar : bars_) {
        visitor.field("bar_address", bar.address);
        visitor.field("bar_bytes", bar.bytes);
    }
    visitor.field("msi", msi_);
}

}  // namespace rm::client
