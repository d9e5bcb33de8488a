// See gsp_unit.h.
#include "gpu_model/falcon/gsp_unit.h"

#include <array>

#include "gpu_model/intr/intr_vectors.h"
#include "sim/bits.h"

namespace gpu {

namespace {

using namespace regs;

using EMEM_WORD = sim::Field<7, 2>;

}  // namespace

GspUnit::GspUnit(sim::Kernel& kernel, Bar0& bar0, PhysicalMemory& memory, MmuRegs& mmu_regs, IntrTree& intr,
                 const Vbios& vbios)
    : kernel_(kernel), bar0_(bar0), memory_(memory), mmu_regs_(mmu_regs), intr_(intr),
      gsp_(kernel, "gsp", kGspBase, kGspRows, *this), sec2_(kernel, "sec2", kSec2Base, {}, *this),
      programs_(kernel, bar0, memory, mmu_regs, vbios) {
    intr_.attach_level_listener(*this);
    gsp_.block().on_write(NV_PGSP_QUEUE_HEAD, [this](u32 index, u32) {
        if (firmware_ != nullptr && gsp_.riscv_active()) firmware_->on_queue_doorbell(index);
    });
    gsp_.block().on_access(
        NV_PGSP_EMEMD,
        [this](u32 port) {
            u32 control = gsp_.block().get(NV_PGSP_EMEMC.at(port));
            u32 word = EMEM_WORD::get(control);
            if (NV_PGSP_EMEMC_AINCR::get(control) != 0)
                gsp_.block().set(NV_PGSP_EMEMC.at(port), EMEM_WORD::set(control, u64{word} + 1));
            return emem_[port][word];
        },
        [this](u32 port, u32 value) {
            u32 control = gsp_.block().get(NV_PGSP_EMEMC.at(port));
            u32 word = EMEM_WORD::get(control);
            if (NV_PGSP_EMEMC_AINCW::get(control) != 0)
                gsp_.block().set(NV_PGSP_EMEMC.at(port), EMEM_WORD::set(control, u64{word} + 1));
            emem_[port][word] = value;
        });
}

u32 GspUnit::reg_read(u32 bar0_offset) { return static_cast<u32>(bar0_.read(bar0_offset, sizeof(u32))); }
void GspUnit::reg_write(u32 bar0_offset, u32 value) { bar0_.write(bar0_offset, sizeof(u32), value); }
bool GspUnit::fb_read(FbPa address, std::span<u8> out) { return memory_.read({Aperture::Vid, address.value}, out); }
bool GspUnit::fb_write(FbPa address, std::span<const u8> bytes) {
    return memory_.write({Aperture::Vid, address.value}, bytes);
}
bool GspUnit::dma_read(SysPa address, std::span<u8> out) {
    return memory_.read({Aperture::SysCoh, address.value}, out);
}
bool GspUnit::dma_write(SysPa address, std::span<const u8> bytes) {
    return memory_.write({Aperture::SysCoh, address.value}, bytes);
}
void GspUnit::raise_swgen0() { gsp_.raise(NV_PFALCON_FALCON_IRQSTAT_SWGEN0::make(1)); }
void GspUnit::raise_halt() { gsp_.raise(NV_PFALCON_FALCON_IRQSTAT_HALT::make(1)); }
void GspUnit::set_mailbox(unsigned index, u32 value) { gsp_.set_mailbox(index, value); }

void GspUnit::on_falcon_start(Falcon& falcon) {
    if (&falcon == &sec2_) {
        bool boot = programs_.run_booter(sec2_, gsp_);
        sec2_.set_halted(true);
        if (boot) start_riscv();
        return;
    }
    bool protected_region = NV_PFB_PRI_MMU_WPR2_ADDR_HI_VAL::get(reg_read(NV_PFB_PRI_MMU_WPR2_ADDR_HI)) != 0;
    if (!gsp_.program_loaded() && !protected_region) return start_riscv();
    if (gsp_.program_loaded()) programs_.run_fwsec(gsp_);
    gsp_.set_halted(true);
    gsp_.raise(NV_PFALCON_FALCON_IRQSTAT_HALT::make(1));
}

void GspUnit::start_riscv() {
    if (gsp_.riscv_active()) return;
    if (firmware_ == nullptr) {
        kernel_.unmodelled().refused("GSP started without firmware", kernel_.now());
        gsp_.set_halted(true);
        return;
    }
    gsp_.set_halted(false);
    gsp_.set_riscv_active(true);
    firmware_->on_start(gsp_.mailbox(0), gsp_.mailbox(1));
}

void GspUnit::on_falcon_reset(Falcon& falcon) {
    if (&falcon == &gsp_ && firmware_ != nullptr) firmware_->on_reset();
}

void GspUnit::on_falcon_interrupt(Falcon& falcon, bool asserted) {
    if (&falcon == &gsp_) intr_.set_level(vector::gsp_stall, asserted);
    else intr_.set_level(vector::sec0_stall, asserted);
}

void GspUnit::on_level(u32 vector) {
    if (firmware_ != nullptr && gsp_.riscv_active()) firmware_->on_stall_interrupt(vector);
}

void GspUnit::reset() {
    gsp_.reset();
    sec2_.reset();
    emem_ = {};
    mmu_regs_.set_wpr2({}, {});
    if (firmware_ != nullptr) firmware_->on_reset();
}

void GspUnit::visit(sim::StateVisitor& visitor) {
    visitor.part("gsp", gsp_);
    visitor.part("sec2", sec2_);
    visitor.field("emem", emem_);
}

}  // namespace gpu
