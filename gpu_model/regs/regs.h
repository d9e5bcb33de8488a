// Expands the register tables: `regs::NV_PMC_BOOT_0` is a Reg, `regs::NV_PMC_BOOT_0_ARCHITECTURE` a field,
// `regs::kPmcRows` the rows. Units of other folders (host, copy engine) keep their tables beside their code.
#pragma once

#include "gpu_model/regs/reg_row.h"
#include "sim/bits.h"

namespace gpu::regs {

#define REG(name, offset, stride, count, access, reset, writable, tier) \
    inline constexpr Reg name{offset, stride, count};
#define FLD(reg, field, hi, lo) using reg##_##field = sim::Field<hi, lo>;
#include "gpu_model/regs/falcon.def"
#include "gpu_model/regs/gsp.def"
#include "gpu_model/regs/identity.def"
#include "gpu_model/regs/intr.def"
#include "gpu_model/regs/mmu.def"
#include "gpu_model/regs/pbus.def"
#include "gpu_model/regs/pgraph.def"
#include "gpu_model/regs/pmc.def"
#include "gpu_model/regs/ptimer.def"
#include "gpu_model/regs/usermode.def"
#undef REG
#undef FLD

#define REG(name, offset, stride, count, access, reset, writable, tier) \
    {#name, offset, stride, count, RegAccess::access, reset, writable, RegTier::tier},
#define FLD(reg, field, hi, lo)
inline constexpr RegRow kFalconRows[] = {
#include "gpu_model/regs/falcon.def"
};
inline constexpr RegRow kGspRows[] = {
#include "gpu_model/regs/gsp.def"
};
inline constexpr RegRow kIdentityRows[] = {
#include "gpu_model/regs/identity.def"
};
inline constexpr RegRow kIntrRows[] = {
#include "gpu_model/regs/intr.def"
};
inline constexpr RegRow kMmuRows[] = {
#include "gpu_model/regs/mmu.def"
};
inline constexpr RegRow kPbusRows[] = {
#include "gpu_model/regs/pbus.def"
};
inline constexpr RegRow kPgraphRows[] = {
#include "gpu_model/regs/pgraph.def"
};
inline constexpr RegRow kPmcRows[] = {
#include "gpu_model/regs/pmc.def"
};
inline constexpr RegRow kPtimerRows[] = {
#include "gpu_model/regs/ptimer.def"
};
inline constexpr RegRow kUsermodeRows[] = {
#include "gpu_model/regs/usermode.def"
};
#undef REG
#undef FLD

}  // namespace gpu::regs
