// See gr_regs.h.
#include "gpu_model/engine/gr/gr_regs.h"

#include "gpu_model/regs/regs.h"

namespace gpu {

namespace {

using namespace regs;
using ESR_RESET = sim::Field<30, 30>;  // of every HWW_ESR
using ESR_EN = sim::Field<31, 31>;

struct Unit {
    u32 esr;
    u32 exception_bit;
};
constexpr Unit kUnits[] = {
    {NV_PGRAPH_PRI_FE_HWW_ESR, static_cast<u32>(NV_PGRAPH_EXCEPTION_FE::kMask)},
    {NV_PGRAPH_PRI_MME_HWW_ESR, static_cast<u32>(NV_PGRAPH_EXCEPTION_MME::kMask)},
    {NV_PGRAPH_PRI_MEMFMT_HWW_ESR, static_cast<u32>(NV_PGRAPH_EXCEPTION_MEMFMT::kMask)},
    {NV_PGRAPH_PRI_SKED_HWW_ESR, static_cast<u32>(NV_PGRAPH_EXCEPTION_SKED::kMask)},
};

}  // namespace

std::string_view class_error_name(u32 code) {
    switch (code) {
#define CLASS_ERROR(name, value) \
    case value: return #name;
#include "gpu_model/engine/gr/class_errors.def"
#undef CLASS_ERROR
        default: return {};
    }
}

GrRegs::GrRegs(sim::Kernel& kernel) : block_(kernel, "pgraph", {{kPgraphRows}}) {
    for (const Unit& unit : kUnits) {
        block_.on_write(unit.esr, [this, unit](u32, u32 value) {
            if (ESR_RESET::get(value) == 0) return;
            // The store has kept the pending bits, which software cannot write; EN stays as it is written.
            block_.set(unit.esr, ESR_EN::set(u32{0}, ESR_EN::get(block_.get(unit.esr))));
            block_.set(NV_PGRAPH_EXCEPTION, block_.get(NV_PGRAPH_EXCEPTION) & ~unit.exception_bit);
        });
    }
    block_.on_write(NV_PGRAPH_INTR, [this](u32, u32) {
        if (block_.get(NV_PGRAPH_INTR) != 0) return;
        block_.set(NV_PGRAPH_EXCEPTION,
                   block_.get(NV_PGRAPH_EXCEPTION) & ~static_cast<u32>(NV_PGRAPH_EXCEPTION_GPC::kMask));
        block_.set(NV_PGRAPH_TRAPPED_ADDR, NV_PGRAPH_TRAPPED_ADDR_STATUS::make(1));
        block_.set(NV_PGRAPH_CLASS_ERROR, 0);
    });
}

EngineError GrRegs::class_error(u32 code, const TrappedMethod& trapped) {
    if (block_.get(NV_PGRAPH_INTR) == 0) block_.set(NV_PGRAPH_CLASS_ERROR, NV_PGRAPH_CLASS_ERROR_CODE::make(code));
    return trap(NV_PGRAPH_INTR_CLASS_ERROR::make(1), code, 0, trapped);
}

EngineError GrRegs::illegal_class(const TrappedMethod& trapped) {
    return trap(NV_PGRAPH_INTR_ILLEGAL_CLASS::make(1), 0, 0, trapped);
}

EngineError GrRegs::exception(u32 esr, u32 bits, u32 unit, const TrappedMethod& trapped) {
    u32 value = block_.get(esr) | bits;
    block_.set(esr, value);
    block_.set(NV_PGRAPH_EXCEPTION, block_.get(NV_PGRAPH_EXCEPTION) | unit);
    if (esr == NV_PGRAPH_PRI_MME_HWW_ESR && trapped.from_macro) {
        u32 info = NV_PGRAPH_PRI_MME_HWW_ESR_INFO_PC::make(trapped.from_macro->pc);
        info = NV_PGRAPH_PRI_MME_HWW_ESR_INFO_MACRO_ADDRESS::set(info, trapped.from_macro->macro);
        info = NV_PGRAPH_PRI_MME_HWW_ESR_INFO_VEID::set(info, trapped.veid);
        block_.set(NV_PGRAPH_PRI_MME_HWW_ESR_INFO, NV_PGRAPH_PRI_MME_HWW_ESR_INFO_PC_VALID::set(info, 1));
        block_.set(NV_PGRAPH_PRI_MME_HWW_ESR_INFO2, trapped.from_macro->instruction[0]);
        block_.set(NV_PGRAPH_PRI_MME_HWW_ESR_INFO3, trapped.from_macro->instruction[1]);
        block_.set(NV_PGRAPH_PRI_MME_HWW_ESR_INFO4, trapped.from_macro->instruction[2]);
    }
    return trap(NV_PGRAPH_INTR_EXCEPTION::make(1), value, esr, trapped);
}

EngineError GrRegs::sm_exception(u32 warp_esr, const TrappedMethod& trapped) {
    // The registers of the GPCs are not published for this chip: their exceptions end with the interrupt.
    block_.set(NV_PGRAPH_EXCEPTION, block_.get(NV_PGRAPH_EXCEPTION) | NV_PGRAPH_EXCEPTION_GPC::make(1));
    return trap(NV_PGRAPH_INTR_EXCEPTION::make(1), warp_esr, 0, trapped);
}

// The trapped method belongs to the first error: later ones only add their bits.
EngineError GrRegs::trap(u32 intr, u32 info2, u64 address, const TrappedMethod& trapped) {
    if (block_.get(NV_PGRAPH_INTR) == 0) {
        u32 place = NV_PGRAPH_TRAPPED_ADDR_MTHD::make(trapped.method >> 2);
        place = NV_PGRAPH_TRAPPED_ADDR_SUBCH::set(place, trapped.subchannel);
        place = NV_PGRAPH_TRAPPED_ADDR_MME_GENERATED::set(place, trapped.from_macro.has_value());
        block_.set(NV_PGRAPH_TRAPPED_ADDR, place);
        block_.set(NV_PGRAPH_TRAPPED_DATA_LOW, trapped.data);
        block_.set(NV_PGRAPH_TRAPPED_ADDR_EX, NV_PGRAPH_TRAPPED_ADDR_EX_VEID::make(trapped.veid));
        u32 macro = 0;
        if (trapped.from_macro) {
            macro = NV_PGRAPH_TRAPPED_DATA_MME_PC::make(trapped.from_macro->pc);
            macro = NV_PGRAPH_TRAPPED_DATA_MME_MACRO_ADDRESS::set(macro, trapped.from_macro->macro);
        }
        block_.set(NV_PGRAPH_TRAPPED_DATA_MME, macro);
    }
    block_.set(NV_PGRAPH_INTR, block_.get(NV_PGRAPH_INTR) | intr);
    EngineError error;
    error.info = intr;
    error.info2 = info2;
    error.address = address;
    error.class_id = trapped.class_id;
    error.method = trapped.method;
    error.data = trapped.data;
    return error;
}

}  // namespace gpu
