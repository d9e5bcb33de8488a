// PGRAPH registers of the graphics engine's front end, and how it traps: every error of a graphics class goes through
// GrRegs, which latches it for whoever reads the registers and gives the words that the firmware is told.
// Source: pri_eng, pri_fe, pri_mme, pri_memfmt, pri_sked manuals of TU104.
#pragma once

#include <optional>

#include "gpu_model/engine/engine.h"
#include "gpu_model/regs/reg_block.h"

namespace gpu {

// NV_PGRAPH_CLASS_ERROR_CODE: the codes that the model raises.
namespace class_error {
#define CLASS_ERROR(name, code) inline constexpr u32 name = code;
#include "gpu_model/engine/gr/class_errors.def"
#undef CLASS_ERROR
}  // namespace class_error
// "INVALID_VALUE"; empty for a code that no row names.
std::string_view class_error_name(u32 code);

// The method on which the front end trapped.
struct TrappedMethod {
    u32 class_id = 0;
    u32 subchannel = 0;
    u32 method = 0;
    u32 data = 0;
    u32 veid = 0;
    struct Macro {
        u32 pc = 0;
        u32 macro = 0;
        std::array<u32, 3> instruction{};
    };
    std::optional<Macro> from_macro;  // it was emitted by this macro
};

class GrRegs final : public RegisterUnit {
public:
    explicit GrRegs(sim::Kernel& kernel);

    // Latches the first error until software clears NV_PGRAPH_INTR; returns what goes to the firmware in any case.
    EngineError class_error(u32 code, const TrappedMethod& trapped);
    EngineError illegal_class(const TrappedMethod& trapped);
    // `esr`: a *_HWW_ESR register; `bits` of it; `unit`: its bit of NV_PGRAPH_EXCEPTION.
    EngineError exception(u32 esr, u32 bits, u32 unit, const TrappedMethod& trapped);

    // A warp trapped: `warp_esr` is the error number that the SM's own register would hold.
    EngineError sm_exception(u32 warp_esr, const TrappedMethod& trapped);

    u32 read(u32 offset) override { return block_.read(offset); }
    void write(u32 offset, u32 value) override { block_.write(offset, value); }
    std::string_view unit_name() const override { return block_.unit_name(); }
    void reset() { block_.reset(); }
    void visit(sim::StateVisitor& visitor) { visitor.field("registers", block_); }

private:
    EngineError trap(u32 intr, u32 info2, u64 address, const TrappedMethod& trapped);
    RegBlock block_;
};

}  // namespace gpu
