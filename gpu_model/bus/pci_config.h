// The configuration space of function 0: storage and access rules of pci_config.def, and what its bits say to the rest
// of the chip. Source: dev_nv_xve3g_fn0 manual of TU104.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "gpu_model/chip.h"
#include "sim/bits.h"
#include "sim/state_visitor.h"

namespace gpu {

struct ConfigRow {
    std::string_view name;
    u16 offset;
    u32 reset;
    u32 writable;
    u32 write_one_to_clear;
};
std::span<const ConfigRow> config_rows();

class PciConfig {
public:
    static constexpr u32 kBytes = 4096;

    explicit PciConfig(const ChipSpec& spec);

    // Precondition: offset is a multiple of four below kBytes. Dwords without a row read zero.
    u32 read_dword(u32 offset) const { return words_.at(offset / 4); }
    // `enables`: one bit per byte written.
    void write_dword(u32 offset, u32 value, u32 enables);

    bool memory_enabled() const;  // memory space on, power state D0
    bool bus_master() const;
    bool msi_enabled() const;
    u16 msi_data() const;
    // Write 1 to DEVICE_CONTROL_STATUS.INITIATE_FN_LVL_RST: does this store ask for a reset?
    static bool asks_for_reset(u32 offset, u32 value, u32 enables);

    void reset();
    void visit(sim::StateVisitor& visitor) { visitor.field("words", words_); }

private:
    std::array<u32, kBytes / 4> words_{};
    std::array<u32, kBytes / 4> reset_{};
    std::array<u32, kBytes / 4> writable_{};
    std::array<u32, kBytes / 4> clearable_{};
};

namespace xve {
#define CFG(name, offset, reset, writable, clearable) inline constexpr u32 name = offset;
#include "gpu_model/bus/pci_config.def"
#undef CFG
using NV_XVE_DEV_CTRL_CMD_MEMORY_SPACE = sim::Field<1, 1>;
using NV_XVE_DEV_CTRL_CMD_BUS_MASTER = sim::Field<2, 2>;
using NV_XVE_DEV_CTRL_STAT_INTERRUPT = sim::Field<19, 19>;
using NV_XVE_MISC_1_HEADER_TYPE = sim::Field<23, 16>;
using NV_XVE_PWR_MGMT_1_PWR_STATE = sim::Field<1, 0>;
using NV_XVE_MSI_CTRL_MSI = sim::Field<16, 16>;
using NV_XVE_DEVICE_CONTROL_STATUS_INITIATE_FN_LVL_RST = sim::Field<15, 15>;
}  // namespace xve

}  // namespace gpu
