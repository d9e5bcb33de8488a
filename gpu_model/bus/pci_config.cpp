// See pci_config.h.
#include "gpu_model/bus/pci_config.h"

#include "sim/check.h"

namespace gpu {

namespace {

using namespace xve;

constexpr ConfigRow kRows[] = {
#define CFG(name, offset, reset, writable, clearable) {#name, offset, reset, writable, clearable},
#include "gpu_model/bus/pci_config.def"
#undef CFG
};

constexpr unsigned kDeviceShift = 16;
constexpr unsigned kClassShift = 8;
constexpr u32 kHeaderMultiFunction = 0x80;

u32 byte_mask(u32 enables) {
    u32 mask = 0;
    for (unsigned i = 0; i < 4; ++i) {
        if ((enables >> i & 1) != 0) mask |= u32{0xFF} << (8 * i);
    }
    return mask;
}

}  // namespace

std::span<const ConfigRow> config_rows() { return kRows; }

PciConfig::PciConfig(const ChipSpec& spec) {
    for (const ConfigRow& row : kRows) {
        reset_.at(row.offset / 4) = row.reset;
        writable_[row.offset / 4] = row.writable;
        clearable_[row.offset / 4] = row.write_one_to_clear;
    }
    reset_[NV_XVE_ID / 4] |= u32{spec.pci_device_id} << kDeviceShift;
    reset_[NV_XVE_REV_ID / 4] |= spec.pci_class << kClassShift;
    reset_[NV_XVE_SUBSYSTEM / 4] = u32{spec.subsystem_id} << kDeviceShift | spec.subsystem_vendor;
    SIM_CHECK(spec.bar1_bytes <= u64{1} << 31 && (spec.bar1_bytes & (spec.bar1_bytes - 1)) == 0, spec.bar1_bytes);
    writable_[NV_XVE_BAR1_LO / 4] = ~static_cast<u32>(spec.bar1_bytes - 1);
    if (spec.display) {
        // Boards with outputs carry audio and USB functions beside this one.
        reset_[NV_XVE_MISC_1 / 4] = NV_XVE_MISC_1_HEADER_TYPE::make(kHeaderMultiFunction);
    } else {
        reset_[NV_XVE_BAR3 / 4] = 0;  // no VGA, no I/O ports
        writable_[NV_XVE_BAR3 / 4] = 0;
    }
    reset();
}

void PciConfig::write_dword(u32 offset, u32 value, u32 enables) {
    u32 mask = byte_mask(enables);
    u32& word = words_.at(offset / 4);
    u32 writable = writable_[offset / 4] & mask;
    word = (word & ~writable) | (value & writable);
    word &= ~(value & clearable_[offset / 4] & mask);
}

bool PciConfig::memory_enabled() const {
    return NV_XVE_DEV_CTRL_CMD_MEMORY_SPACE::get(read_dword(NV_XVE_DEV_CTRL)) != 0 &&
           NV_XVE_PWR_MGMT_1_PWR_STATE::get(read_dword(NV_XVE_PWR_MGMT_1)) == 0;
}

bool PciConfig::bus_master() const { return NV_XVE_DEV_CTRL_CMD_BUS_MASTER::get(read_dword(NV_XVE_DEV_CTRL)) != 0; }
bool PciConfig::msi_enabled() const { return NV_XVE_MSI_CTRL_MSI::get(read_dword(NV_XVE_MSI_CTRL)) != 0; }
u16 PciConfig::msi_data() const { return static_cast<u16>(read_dword(NV_XVE_MSI_DATA)); }

bool PciConfig::asks_for_reset(u32 offset, u32 value, u32 enables) {
    return offset == NV_XVE_DEVICE_CONTROL_STATUS &&
           NV_XVE_DEVICE_CONTROL_STATUS_INITIATE_FN_LVL_RST::get(value & byte_mask(enables)) != 0;
}

void PciConfig::reset() { words_ = reset_; }

}  // namespace gpu
