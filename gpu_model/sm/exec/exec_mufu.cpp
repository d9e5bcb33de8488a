// MUFU: the approximate functions, lane by lane.
#include "gpu_model/sm/exec/mufu.h"
#include "gpu_model/sm/exec/operations.h"

namespace gpu::sm {

void op_mufu(Exec& x, Slot& s) {
    const u32 function = s.in.mod<sass::Mod::Function>();
    if (function > static_cast<u32>(MufuFunction::Tanh)) {
        x.trap(s, TrapReason::ILLEGAL_INSTR_PARAM, x.lanes);
        return;
    }
    const u32* b = x.src(s, s.in.b, 1);
    u32* d = x.dst(s.in.rd);
    const u32 keep = s.in.b.absolute ? 0x7fff'ffff : ~u32{0}, flip = s.in.b.negate ? u32{1} << 31 : 0;
    for_lanes(x.lanes, [&](u32 lane) { d[lane] = mufu(static_cast<MufuFunction>(function), (b[lane] & keep) ^ flip); });
}

}  // namespace gpu::sm
