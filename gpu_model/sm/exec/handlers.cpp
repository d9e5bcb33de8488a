// The tables of handlers, expanded from sm75.def, and what a slot keeps of an instruction.
#include "gpu_model/sm/exec/handlers.h"

#include "gpu_model/sm/exec/operations.h"
#include "gpu_model/sm/exec/usual_forms.h"
#include "gpu_model/sm/exec/register_use.h"

namespace gpu::sm {
namespace {

#define SASS(id, text, operation, forms, datapath, immediate, operands, modifiers, semantics, pipe) &semantics,
namespace of_portable {
using namespace portable;
constexpr Handler kHandlers[sass::kOpCount] = {
#include "gpu_model/sm/isa/sm75.def"
};
}  // namespace of_portable
#if defined(__x86_64__)
namespace of_avx2 {
using namespace avx2;
constexpr Handler kHandlers[sass::kOpCount] = {
#include "gpu_model/sm/isa/sm75.def"
};
}  // namespace of_avx2
namespace of_avx512 {
using namespace avx512;
constexpr Handler kHandlers[sass::kOpCount] = {
#include "gpu_model/sm/isa/sm75.def"
};
}  // namespace of_avx512
#endif
#undef SASS

PredicateSource predicate(sass::Word word, unsigned hi, unsigned lo, unsigned not_bit) {
    return {static_cast<u8>(word.bits(hi, lo)), word.bit(not_bit) ? ~u32{0} : 0};
}

void op_misaligned_register(Exec& x, Slot& s) {
    x.trap(s, TrapReason::MISALIGNED_REG, x.lanes);
}

}  // namespace

LaneTarget best_lane_target() {
#if defined(__x86_64__)
    static const LaneTarget best = [] {
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vpopcntdq"))
            return LaneTarget::Avx512;
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
            return LaneTarget::Avx2;
        return LaneTarget::Portable;
    }();
    return best;
#else
    return LaneTarget::Portable;
#endif
}

std::string_view lane_target_name(LaneTarget target) {
    switch (target) {
        case LaneTarget::Portable:
            return "portable";
        case LaneTarget::Avx2:
            return "avx2";
        case LaneTarget::Avx512:
            return "avx512";
    }
    return "?";
}

Handler handler_of(sass::Op op, LaneTarget target) {
    const auto index = static_cast<std::size_t>(op);
#if defined(__x86_64__)
    if (target == LaneTarget::Avx512) return of_avx512::kHandlers[index];
    if (target == LaneTarget::Avx2) return of_avx2::kHandlers[index];
#endif
    return of_portable::kHandlers[index];
}

void prepare(Slot& slot, LaneTarget target) {
    const sass::Instruction& in = slot.in;
    const sass::Word word = in.word;
    slot.run = handler_of(in.op, target);
    if (Handler usual = usual_form(in, target)) slot.run = usual;
    slot.uniform = in.row().uniform();
    slot.guard = {in.guard, in.guard_not ? ~u32{0} : 0};
    slot.pp = predicate(word, 89, 87, 90);
    slot.pq = predicate(word, 79, 77, 80);
    slot.pr = predicate(word, 70, 68, 71);
    slot.pu = static_cast<u8>(sass::at::Pu::get(word));
    slot.pv = static_cast<u8>(sass::at::Pv::get(word));
    for (u32& lane : slot.row.lane) lane = in.immediate;
    const RegisterUse use = register_use(in);
    slot.register_top = static_cast<u8>(use.top > 255 ? 255 : use.top);
    // A group that runs past the last register is beyond any launch's registers; it also would reach RZ's row.
    if (use.misaligned || use.top > kRegistersMax) slot.run = &op_misaligned_register;
}

}  // namespace gpu::sm
