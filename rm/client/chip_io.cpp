// ChipIo: single accesses and their cost.
#include "rm/client/chip_io.h"

#include "gpu_model/fault_points.h"

namespace rm::client {

namespace {

constexpr SimTime kPollStep = SimTime::from_us(1);
constexpr SimTime kInvalidateTimeout = SimTime::from_ms(100);

}  // namespace

u32 ChipIo::reg_read(u32 offset) {
    spend(kBarReadCost);
    u64 slow_ps = 0;
    if (kernel_.faults().fires(gpu::faults::pci_slow, &slow_ps)) owed_ += SimTime{slow_ps};
    u32 value = static_cast<u32>(device_.bar_read(gpu::Bar::Bar0, offset, 4));
    if (value == ~u32{0}) check_lost();
    return value;
}

// All ones may be a register's value: NV_PMC_BOOT_0 tells a device that is gone, as it never reads so.
bool ChipIo::check_lost() {
    if (lost_) return true;
    spend(kBarReadCost);
    lost_ = static_cast<u32>(device_.bar_read(gpu::Bar::Bar0, reg::NV_PMC_BOOT_0, 4)) == ~u32{0};
    if (lost_)
        kernel_.journal().note(kernel_.now(), "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.");
    return lost_;
}

void ChipIo::reg_write(u32 offset, u32 value) {
    spend(kBarWriteCost);
    device_.bar_write(gpu::Bar::Bar0, offset, 4, value);
}

bool ChipIo::reg_poll(u32 offset, u32 mask, u32 value, SimTime timeout) {
    SimTime deadline = kernel_.now() + timeout;
    while ((reg_read(offset) & mask) != value) {
        if (!kernel_.fibers().in_fiber()) return false;
        settle();
        if (kernel_.now() >= deadline) return false;
        kernel_.fibers().sleep_for(kPollStep);
    }
    return true;
}

u64 ChipIo::bar_read64(gpu::Bar bar, u64 offset) {
    spend(kBarReadCost);
    return device_.bar_read(bar, offset, 8);
}

void ChipIo::bar_write64(gpu::Bar bar, u64 offset, u64 value) {
    spend(kWindowWriteCost);
    device_.bar_write(bar, offset, 8, value);
}

u32 ChipIo::pramin_offset(gpu::FbPa address) {
    constexpr u64 kWindowUnit = 0x10000;
    u32 base = reg::NV_PBUS_BAR0_WINDOW_BASE::make(address.value / kWindowUnit);
    reg_write(reg::NV_PBUS_BAR0_WINDOW, base);
    return reg::NV_PRAMIN + static_cast<u32>(address.value % kWindowUnit);
}

u64 ChipIo::pramin_read64(gpu::FbPa address) {
    u32 offset = pramin_offset(address);
    u64 low = reg_read(offset);
    return low | u64{reg_read(offset + 4)} << 32;
}

void ChipIo::pramin_write64(gpu::FbPa address, u64 value) {
    u32 offset = pramin_offset(address);
    reg_write(offset, static_cast<u32>(value));
    reg_write(offset + 4, static_cast<u32>(value >> 32));
}

u32 ChipIo::config_read(u16 offset, unsigned bytes) {
    spend(kConfigCost);
    return device_.config_read(offset, bytes);
}

void ChipIo::config_write(u16 offset, unsigned bytes, u32 value) {
    spend(kConfigCost);
    device_.config_write(offset, bytes, value);
}

void ChipIo::invalidate_tlb(gpu::FbPa page_directory, bool hub_only) {
    u32 trigger = reg::NV_MMU_INVALIDATE_TRIGGER::make(1);
    reg_write(reg::NV_MMU_INVALIDATE_PDB, reg::NV_MMU_INVALIDATE_PDB_ADDR::make(page_directory.value >> 12));
    reg_write(reg::NV_MMU_INVALIDATE_UPPER_PDB, static_cast<u32>(page_directory.value >> 40));
    u32 command =
        trigger | reg::NV_MMU_INVALIDATE_ALL_VA::make(1) | reg::NV_MMU_INVALIDATE_HUBTLB_ONLY::make(hub_only ? 1 : 0);
    reg_write(reg::NV_MMU_INVALIDATE, command);
    if (!reg_poll(reg::NV_MMU_INVALIDATE, trigger, 0, kInvalidateTimeout))
        kernel_.journal().note(kernel_.now(), "driver: the TLB invalidate did not finish");
}

void ChipIo::settle() {
    if (owed_.ps == 0 || !kernel_.fibers().in_fiber()) return;
    SimTime cost = owed_;
    owed_ = {};
    kernel_.fibers().sleep_for(cost);
}

}  // namespace rm::client
