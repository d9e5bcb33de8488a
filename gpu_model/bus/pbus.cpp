// See pbus.h.
#include "gpu_model/bus/pbus.h"

#include <array>

#include "gpu_model/intr/intr_vectors.h"
#include "gpu_model/mem/mmu_format.h"
#include "gpu_model/regs/regs.h"

namespace gpu {

namespace {

using namespace regs;
constexpr u32 kAllOnes = ~u32{0};
constexpr unsigned kWindowShift = 16;

}  // namespace

Pbus::Pbus(sim::Kernel& kernel, IntrTree& tree, BarWindow& bar1, BarWindow& bar2)
    : tree_(tree), block_(kernel, "pbus", {{kPbusRows}}) {
    block_.on_access(
        NV_PBUS_BAR1_BLOCK, [&bar1](u32) { return bar1.block(); }, [&bar1](u32, u32 value) { bar1.bind(value); });
    block_.on_access(
        NV_PBUS_BAR2_BLOCK, [&bar2](u32) { return bar2.block(); }, [&bar2](u32, u32 value) { bar2.bind(value); });
    block_.on_access(NV_PBUS_BIND_STATUS, [](u32) { return u32{0}; }, [](u32, u32) {});
    block_.on_write(NV_PBUS_SW_INTR_0, [this](u32, u32 value) {
        if (NV_PBUS_SW_INTR_0_SET::get(value) == 0) return;
        block_.set(NV_PBUS_INTR_0, NV_PBUS_INTR_0_SW::set(block_.get(NV_PBUS_INTR_0), 1));
        update_interrupt();
    });
    for (u32 offset : {NV_PBUS_INTR_0.offset, NV_PBUS_INTR_EN_0.offset, NV_PBUS_INTR_EN_1.offset}) {
        block_.on_write(offset, [this](u32, u32) { update_interrupt(); });
    }
}

bool Pbus::pramin_base(PhysAddr& base) const {
    u32 window = block_.get(NV_PBUS_BAR0_WINDOW);
    auto aperture = mmu_format::target_aperture(NV_PBUS_BAR0_WINDOW_TARGET::get(window));
    if (!aperture) return false;
    base = {*aperture, u64{NV_PBUS_BAR0_WINDOW_BASE::get(window)} << kWindowShift};
    return true;
}

void Pbus::update_interrupt() {
    u32 enabled = block_.get(NV_PBUS_INTR_EN_0) | block_.get(NV_PBUS_INTR_EN_1);
    tree_.set_level(vector::intr_pbus, (block_.get(NV_PBUS_INTR_0) & enabled) != 0);
}

void Pbus::reset() { block_.reset(); }

u32 Pramin::read(u32 offset) {
    PhysAddr base;
    std::array<u8, 4> bytes;
    if (!pbus_.pramin_base(base) || !memory_.read(base + (offset - kBase), bytes)) return kAllOnes;
    u32 value = 0;
    for (unsigned i = 0; i < bytes.size(); ++i) value |= u32{bytes[i]} << (8 * i);
    return value;
}

bool Pramin::write_bytes(u32 offset, unsigned bytes, u32 value) {
    PhysAddr base;
    if (!pbus_.pramin_base(base)) return true;
    std::array<u8, 4> raw;
    for (unsigned i = 0; i < raw.size(); ++i) raw[i] = static_cast<u8>(extract_bits(value, 8 * i + 7, 8 * i));
    memory_.write(base + (offset - kBase), std::span<const u8>(raw.data(), bytes));  // lost where no memory answers
    return true;
}

}  // namespace gpu
