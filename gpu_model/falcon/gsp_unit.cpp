// See gsp_unit.h.
#include "gpu_model/falcon/gsp_unit.h"

#include <array>

#include "gpu_model/intr/intr_vectors.h"
#include "sim/bits.h"

namespace gpu {

namespace {

using namespace regs;

// GspFwWprMeta, byte offsets.
constexpr u32 kMetaBytes = 256;
constexpr u32 kMetaMagic = 0;
constexpr u32 kMetaRevision = 8;
constexpr u32 kMetaWprStart = 112;
constexpr u32 kMetaWprEnd = 168;
constexpr u32 kMetaVerified = 248;
constexpr u64 kMagic = 0xDC3AAE21371A60B3;
constexpr u64 kRevision = 1;
constexpr u64 kVerified = 0xA0A0A0A0A0A0A0A0;
constexpr u64 kUnloadRequest = 0xFF000000FF;  // 0xFF in both mailboxes
// (model): Booter's own error numbers are not published; any value but zero is a failure to the driver.
constexpr u32 kBooterBadMetadata = 1;
constexpr u32 kBooterUnreachable = 2;
using HIGH = sim::Field<63, 32>;
using EMEM_WORD = sim::Field<7, 2>;

u64 load_le64(std::span<const u8> bytes, u32 offset) {
    u64 value = 0;
    for (unsigned i = 0; i < sizeof(u64); ++i) value |= u64{bytes[offset + i]} << (8 * i);
    return value;
}

std::array<u8, 8> le64(u64 value) {
    std::array<u8, 8> bytes;
    for (unsigned i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<u8>(extract_bits(value, 8 * i + 7, 8 * i));
    return bytes;
}

}  // namespace

GspUnit::GspUnit(sim::Kernel& kernel, Bar0& bar0, PhysicalMemory& memory, MmuRegs& mmu_regs, IntrTree& intr)
    : kernel_(kernel), bar0_(bar0), memory_(memory), mmu_regs_(mmu_regs), intr_(intr),
      gsp_(kernel, "gsp", kGspBase, kGspRows, *this), sec2_(kernel, "sec2", kSec2Base, {}, *this) {
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
void GspUnit::set_mailbox(unsigned index, u32 value) { gsp_.set_mailbox(index, value); }

void GspUnit::on_falcon_start(Falcon& falcon) {
    if (&falcon == &sec2_) {
        u64 request = HIGH::set(u64{sec2_.mailbox(0)}, sec2_.mailbox(1));
        u32 result = run_booter(request);
        sec2_.set_mailbox(0, result);
        sec2_.set_halted(true);
        return;
    }
    if (!gsp_.program_loaded()) return start_riscv();
    kernel_.unmodelled().refused("falcon program on GSP (FWSEC)", kernel_.now());
    gsp_.set_halted(true);
    gsp_.raise(NV_PFALCON_FALCON_IRQSTAT_HALT::make(1));
}

u32 GspUnit::run_booter(u64 request) {
    if (request == kUnloadRequest) {
        mmu_regs_.set_wpr2({}, {});
        return 0;
    }
    std::array<u8, kMetaBytes> meta;
    if (!dma_read(SysPa{request}, meta)) return kBooterUnreachable;
    if (load_le64(meta, kMetaMagic) != kMagic || load_le64(meta, kMetaRevision) != kRevision) return kBooterBadMetadata;
    u64 start = load_le64(meta, kMetaWprStart);
    u64 end = load_le64(meta, kMetaWprEnd);
    if (start >= end || end > memory_.vram().size()) return kBooterBadMetadata;
    if (!dma_write(SysPa{request + kMetaVerified}, le64(kVerified))) return kBooterUnreachable;
    mmu_regs_.set_wpr2(FbPa{start}, FbPa{end});
    start_riscv();
    return 0;
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

void GspUnit::reset() {
    gsp_.reset();
    sec2_.reset();
    emem_ = {};
    mmu_regs_.set_wpr2({}, {});
    if (firmware_ != nullptr) firmware_->on_reset();
}

void GspUnit::visit(sim::StateVisitor& visitor) {
    visitor.field("gsp", gsp_);
    visitor.field("sec2", sec2_);
    visitor.field("emem", emem_);
}

}  // namespace gpu
