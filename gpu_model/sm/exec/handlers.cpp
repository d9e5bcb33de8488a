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

// Operations besides the vector ones that only read and write registers and predicates, read memory, or trap: they leave
// the group of lanes as it is, and no clock is read.
constexpr std::string_view kStraightOperations[] = {
    "op_plop3", "op_p2r",  "op_r2p",   "op_mufu",  "op_i2f",   "op_f2i",  "op_f2f",   "op_frnd",  "op_hadd2",  "op_hmul2",
    "op_hfma2", "op_vote", "op_shfl",  "op_match", "op_ldg",   "op_lds",  "op_nop",   "op_depbar",
    "op_dadd",  "op_dmul", "op_dfma",  "op_dsetp", "op_hset2", "op_hsetp2", "op_fchk",
};
constexpr std::string_view kLaneOperations[] = {
#define LANE_OP(name) #name,
#define USUAL_OP(name)
#include "gpu_model/sm/exec/lane_ops.def"
#undef USUAL_OP
#undef LANE_OP
};
constexpr bool is_straight(std::string_view semantics) {
    for (std::string_view name : kStraightOperations) {
        if (name == semantics) return true;
    }
    for (std::string_view name : kLaneOperations) {
        if (name == semantics) return true;
    }
    return false;
}
#define SASS(id, text, operation, forms, datapath, immediate, operands, modifiers, semantics, pipe) \
    is_straight(#semantics),
constexpr bool kStraight[sass::kOpCount] = {
#include "gpu_model/sm/isa/sm75.def"
};
#undef SASS

// Whether GridRun may run the instruction in a stretch of straight code.
bool runs_straight(const Slot& slot, bool usual) {
    const bool never = slot.guard.index == sass::kPt && slot.guard.flip != 0;
    if (slot.uniform || never) return false;
    return usual || kStraight[static_cast<std::size_t>(slot.in.op)];
}

PredicateSource predicate(sass::Word word, unsigned hi, unsigned lo, unsigned not_bit) {
    return {static_cast<u8>(word.bits(hi, lo)), word.bit(not_bit) ? ~u32{0} : 0};
}

void op_misaligned_register(Exec& x, Slot& s) {
    x.trap(s, TrapReason::MISALIGNED_REG, x.lanes);
}

// The adders negate one of their first two sources, not both. Measured on a later chip.
bool negates_twice(const sass::Instruction& in) {
    const bool adds = in.op == sass::Op::IADD3 || in.op == sass::Op::UIADD3 || in.op == sass::Op::LEA || in.op == sass::Op::ULEA;
    return adds && in.a.negate && in.b.negate;
}
void op_negates_twice(Exec& x, Slot& s) {
    x.trap(s, TrapReason::ILLEGAL_INSTR_PARAM, x.active, 0, "a sum that negates both of its first sources");
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
    const Handler usual = usual_form(in, target);
    if (usual != nullptr) {
        slot.run = usual;
        slot.modifiers = usual_modifiers(in);
    }
    slot.uniform = in.row().uniform();
    slot.guard = {in.guard, in.guard_not ? ~u32{0} : 0};
    slot.skippable = !slot.uniform && slot.guard.index != sass::kPt;
    slot.pp = predicate(word, 89, 87, 90);
    slot.pq = predicate(word, 79, 77, 80);
    slot.pr = predicate(word, 70, 68, 71);
    slot.pu = static_cast<u8>(sass::at::Pu::get(word));
    slot.pv = static_cast<u8>(sass::at::Pv::get(word));
    for (u32& lane : slot.row.lane) lane = in.immediate;
    const u32 a = in.a.kind == sass::SourceKind::Register ? in.a.index : in.ra;
    slot.rows = {Exec::row_place(in.rd), Exec::row_place(a), Exec::row_place(in.b.index), Exec::row_place(in.c.index)};
    const RegisterUse use = register_use(in);
    slot.register_top = static_cast<u8>(use.top > 255 ? 255 : use.top);
    // A group that runs past the last register is beyond any launch's registers; it also would reach RZ's row.
    if (use.misaligned || use.top > kRegistersMax) {
        slot.run = &op_misaligned_register;
    } else if (negates_twice(in)) {
        slot.run = &op_negates_twice;
        slot.guard = {sass::kPt, 0};  // refused whether or not it would execute
        slot.skippable = false;
    } else if (runs_straight(slot, usual != nullptr)) {
        slot.straight_top = slot.register_top;
    }
}

}  // namespace gpu::sm
