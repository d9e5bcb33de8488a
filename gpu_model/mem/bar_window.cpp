// See bar_window.h.
#include "gpu_model/mem/bar_window.h"

#include <algorithm>

#include "gpu_model/mem/mmu_format.h"
#include "gpu_model/regs/regs.h"

namespace gpu {

namespace {

using PTR = regs::NV_VIRTUAL_FUNCTION_PRIV_BAR1_BLOCK_PTR;
using TARGET = regs::NV_VIRTUAL_FUNCTION_PRIV_BAR1_BLOCK_TARGET;
using MODE = regs::NV_VIRTUAL_FUNCTION_PRIV_BAR1_BLOCK_MODE;
constexpr unsigned kPtrShift = 12;

}  // namespace

BarWindow::BarWindow(PhysicalMemory& memory, Mmu& mmu, u16 engine_id, u64 bytes, u32 reset_block)
    : memory_(memory),
      mmu_(mmu),
      engine_id_(engine_id),
      bytes_(bytes),
      reset_block_(reset_block),
      block_(reset_block) {}

bool BarWindow::physical() const { return MODE::get(block_) == 0; }

MmuClient BarWindow::client() const {
    return {.engine_id = engine_id_, .client_id = kClientHubHostCpu, .gpc = false, .gpc_id = 0, .privileged = true};
}

void BarWindow::bind(u32 block) {
    block_ = block;
    space_ = {};
    ++generation_;
    if (physical()) return;
    auto aperture = mmu_format::target_aperture(TARGET::get(block));
    if (aperture) space_ = mmu_.load_address_space({*aperture, u64{PTR::get(block)} << kPtrShift});
}

void BarWindow::read(u64 offset, std::span<u8> out) {
    MmuFault fault;
    bool done = false;
    if (physical()) {
        done = memory_.read({Aperture::Vid, offset}, out);
    } else {
        done = mmu_.read(space_, GpuVa{offset}, out, client(), fault);
        if (!done) mmu_.report_fault(fault);
    }
    if (!done) std::fill(out.begin(), out.end(), u8{0xFF});
}

void BarWindow::write(u64 offset, std::span<const u8> bytes) {
    if (physical()) {
        memory_.write({Aperture::Vid, offset}, bytes);  // beyond video memory it is lost
        return;
    }
    MmuFault fault;
    if (!mmu_.write(space_, GpuVa{offset}, bytes, client(), fault)) mmu_.report_fault(fault);
}

bool BarWindow::try_write(u64 offset, std::span<const u8> bytes) {
    if (physical()) return memory_.write({Aperture::Vid, offset}, bytes);
    MmuFault ignored;
    return mmu_.write(space_, GpuVa{offset}, bytes, client(), ignored);
}

std::span<u8> BarWindow::window(u64 offset, u64 bytes, bool for_write) {
    if (physical()) return memory_.window({Aperture::Vid, offset}, bytes, for_write);
    Translation part;
    MmuFault ignored;
    AccessType access = for_write ? AccessType::Write : AccessType::Read;
    if (!mmu_.translate(space_, GpuVa{offset}, bytes, access, client(), part, ignored)) return {};
    if (part.sparse || part.bytes < bytes || part.pa.aperture != Aperture::Vid) return {};
    return memory_.window(part.pa, bytes, for_write);
}

void BarWindow::reset() {
    block_ = reset_block_;
    space_ = {};
    ++generation_;
}

void BarWindow::visit(sim::StateVisitor& visitor) {
    visitor.field("block", block_);
    visitor.field("bound", space_.bound);
    visitor.field("instance_aperture", space_.instance.aperture);
    visitor.field("instance", space_.instance.value);
    visitor.field("pdb_aperture", space_.pdb.aperture);
    visitor.field("pdb", space_.pdb.value);
    visitor.field("replay_tex", space_.replay_tex);
    visitor.field("replay_gcc", space_.replay_gcc);
    visitor.field("generation", generation_);
}

}  // namespace gpu
