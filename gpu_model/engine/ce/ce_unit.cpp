// The register block that all copy engines share: mapping of physical to logical engines, and the LCE windows.
// Source: dev_ce manual of TU104.
#include "gpu_model/engine/ce/ce.h"
#include "gpu_model/regs/unknown_register.h"

namespace gpu {

namespace {

constexpr u32 kPceMap = 0x104028, kGrceConfig = 0x104034, kPce2Lce = 0x104040, kFeCg = 0x104200, kFeCg1 = 0x104204;
constexpr u32 kLceBegin = 0x104400, kLceStride = 0x80;

}  // namespace

CeUnit::CeUnit(sim::Kernel& kernel) : kernel_(kernel) {
    reset();
}

void CeUnit::attach(Ce& ce) {
    SIM_CHECK(ce.instance() < kLces, ce.instance());
    ces_[ce.instance()] = &ce;
    ce.set_unit(*this);
}

u64 CeUnit::sharers(CopyPath path) const {
    u64 count = 0;
    for (const Ce* ce : ces_) {
        if (ce != nullptr && ce->moves_on(path)) ++count;
    }
    return count;
}

void CeUnit::traffic_changed(CopyPath path, const Ce& by) {
    for (Ce* ce : ces_) {
        if (ce != nullptr && ce != &by && ce->moves_on(path)) ce->replan();
    }
}

void CeUnit::reset() {
    // NV_CE_PCE2LCE_CONFIG, GRCE_CONFIG and clock gating at reset: PCE0..3 serve LCE1, 4, 2, 3; GRCE0 is shared with
    // LCE1, GRCE1 with none.
    constexpr u32 kNoLce = 0xF;
    using SHARED = sim::Field<30, 30>;
    pce2lce_ = {1, 4, 2, 3};
    grce_config_ = {SHARED::set(u32{1}, 1), kNoLce};
    fe_cg_ = 0;
    fe_cg1_ = 0x7FE;
}

u32 CeUnit::read(u32 offset) {
    if (offset == kPceMap) return (1u << kPces) - 1;
    if (offset >= kGrceConfig && offset < kGrceConfig + 4 * kGrces) return grce_config_[(offset - kGrceConfig) / 4];
    if (offset >= kPce2Lce && offset < kPce2Lce + 4 * kPces) return pce2lce_[(offset - kPce2Lce) / 4];
    if (offset == kFeCg) return fe_cg_;
    if (offset == kFeCg1) return fe_cg1_;
    if (offset >= kLceBegin && offset < kLceBegin + kLceStride * kLces) {
        const Ce* ce = ces_[(offset - kLceBegin) / kLceStride];
        if (ce != nullptr) return ce->read((offset - kLceBegin) % kLceStride);
    }
    return unknown_register_read(kernel_, offset);
}

void CeUnit::write(u32 offset, u32 value) {
    if (offset >= kGrceConfig && offset < kGrceConfig + 4 * kGrces) {
        grce_config_[(offset - kGrceConfig) / 4] = value & 0xC000000F;
    } else if (offset >= kPce2Lce && offset < kPce2Lce + 4 * kPces) {
        pce2lce_[(offset - kPce2Lce) / 4] = value & 0xF;
    } else if (offset == kFeCg) {
        fe_cg_ = value & 0x000F407F;
    } else if (offset == kFeCg1) {
        fe_cg1_ = value & 0x000007FF;
    } else if (offset >= kLceBegin && offset < kLceBegin + kLceStride * kLces) {
        Ce* ce = ces_[(offset - kLceBegin) / kLceStride];
        if (ce != nullptr) ce->write((offset - kLceBegin) % kLceStride, value);
    } else if (offset != kPceMap) {
        unknown_register_write(kernel_, offset, value);
    }
}

void CeUnit::visit(sim::StateVisitor& visitor) {
    visitor.field("pce2lce", pce2lce_);
    visitor.field("grce_config", grce_config_);
    visitor.field("fe_cg", fe_cg_);
    visitor.field("fe_cg1", fe_cg1_);
}

}  // namespace gpu
