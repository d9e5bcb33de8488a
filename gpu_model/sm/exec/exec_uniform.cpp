// The uniform datapath: the integer operations once per warp on uniform registers and predicates.
#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/exec/int_functions.h"
#include "gpu_model/sm/exec/operations.h"

namespace gpu::sm {

using sass::Mod;

namespace {

u32 inverted(u32 value, const sass::Source& source) {
    return source.negate ? ~value : value;
}
bool truth(const Exec& x, PredicateSource p) {
    return x.uniform_pred(p) != 0;
}
u32 pair_high(const Exec& x, u32 index) {
    return index == sass::kUrz ? 0 : x.warp->uniform[index + 1];
}

}  // namespace

void op_umov(Exec& x, Slot& s) {
    x.set_uniform(s.in.rd, x.scalar(s, s.in.b));
}

void op_up2ur(Exec& x, Slot& s) {
    const u32 mask = static_cast<u32>(s.in.word.bits(39, 32));
    const u32 shift = 8 * s.in.mod<Mod::PredByte>();
    u32 byte = 0;
    for (u32 j = 0; j < sass::kPt; ++j) byte |= (x.warp->uniform_preds[j] & 1) << j;
    x.set_uniform(s.in.rd, (x.scalar(s, s.in.a) & ~(mask << shift)) | (byte & mask) << shift);
}

void op_usel(Exec& x, Slot& s) {
    x.set_uniform(s.in.rd, truth(x, s.pp) ? x.scalar(s, s.in.a) : x.scalar(s, s.in.b));
}

void op_uisetp(Exec& x, Slot& s) {
    const u32 a = x.scalar(s, s.in.a), b = x.scalar(s, s.in.b), cmp = s.in.mod<Mod::CmpInt>();
    const bool is_signed = s.in.mod<Mod::Unsigned>() != 0;
    const bool result = s.in.mod<Mod::Ex>() != 0 ? compare_extended(a, b, cmp, is_signed, truth(x, s.pr))
                                                 : compare(a, b, cmp, is_signed);
    const u32 p = truth(x, s.pp) ? 1 : 0, op = s.in.mod<Mod::BoolOp>();
    x.set_uniform_preds(s, combine(op, result ? 1 : 0, p) != 0, combine(op, result ? 0 : 1, p) != 0);
}

void op_uiadd3(Exec& x, Slot& s) {
    const bool extended = s.in.mod<Mod::X>() != 0;
    const u32 ones = (s.in.a.negate ? 1u : 0u) + (s.in.b.negate ? 1u : 0u) + (s.in.c.negate ? 1u : 0u);
    const u32 carries = (truth(x, s.pp) ? 1u : 0u) + (truth(x, s.pq) ? 1u : 0u);
    const Sum sum = add3(inverted(x.scalar(s, s.in.a), s.in.a), inverted(x.scalar(s, s.in.b), s.in.b),
                         inverted(x.scalar(s, s.in.c), s.in.c), extended ? carries : ones);
    x.set_uniform(s.in.rd, sum.value);
    x.set_uniform_preds(s, sum.carries >= 1, sum.carries >= 2);
}

void op_ulea(Exec& x, Slot& s) {
    const LeaShift how{.high = s.in.mod<Mod::High>() != 0,
                       .sx32 = s.in.mod<Mod::Sx32>() != 0,
                       .x = s.in.mod<Mod::X>() != 0,
                       .negate_a = s.in.a.negate,
                       .negate_b = s.in.b.negate,
                       .shift = static_cast<u32>(s.in.word.bits(79, 75))};
    const Sum sum =
        shifted_add(x.scalar(s, s.in.a), x.scalar(s, s.in.b), x.scalar(s, s.in.c), how, truth(x, s.pp) ? 1 : 0);
    x.set_uniform(s.in.rd, sum.value);
    x.set_uniform_pred(s.pu, sum.carries != 0);
}

void op_ulop3(Exec& x, Slot& s) {
    const u32 r =
        lut3(static_cast<u32>(s.in.word.bits(79, 72)), x.scalar(s, s.in.a), x.scalar(s, s.in.b), x.scalar(s, s.in.c));
    x.set_uniform(s.in.rd, r);
    const bool p = truth(x, s.pp);
    x.set_uniform_pred(s.pu, s.in.mod<Mod::Lut>() != 0 ? r != 0 && p : r != 0 || p);
}

void op_uprmt(Exec& x, Slot& s) {
    x.set_uniform(s.in.rd,
                  prmt(x.scalar(s, s.in.a), x.scalar(s, s.in.b), x.scalar(s, s.in.c), s.in.mod<Mod::PrmtMode>()));
}

void op_ushf(Exec& x, Slot& s) {
    const FunnelShift how{.right = s.in.mod<Mod::ShiftDir>() != 0,
                          .wrap = s.in.mod<Mod::Wrap>() != 0,
                          .high = s.in.mod<Mod::High>() != 0,
                          .type = s.in.mod<Mod::ShiftType>()};
    x.set_uniform(s.in.rd, funnel_shift(x.scalar(s, s.in.a), x.scalar(s, s.in.b), x.scalar(s, s.in.c), how));
}

void op_usgxt(Exec& x, Slot& s) {
    x.set_uniform(s.in.rd, extend(x.scalar(s, s.in.a), x.scalar(s, s.in.b), s.in.mod<Mod::Unsigned>() != 0,
                                  s.in.mod<Mod::Wrap>() != 0));
}

void op_ubmsk(Exec& x, Slot& s) {
    x.set_uniform(s.in.rd, bit_mask(x.scalar(s, s.in.a), x.scalar(s, s.in.b), s.in.mod<Mod::Wrap>() != 0));
}

void op_uplop3(Exec& x, Slot& s) {
    const sass::Word word = s.in.word;
    const u32 table_u = static_cast<u32>(word.bits(76, 72) << 3 | word.bits(66, 64));
    const u32 table_v = static_cast<u32>(word.bits(23, 16));
    const u32 a = x.uniform_pred(s.pp), b = x.uniform_pred(s.pq), c = x.uniform_pred(s.pr);
    x.set_uniform_preds(s, lut3(table_u, a, b, c) != 0, lut3(table_v, a, b, c) != 0);
}

void op_uimad(Exec& x, Slot& s) {
    const bool extended = s.in.mod<Mod::X>() != 0;
    const u32 c = inverted(x.scalar(s, s.in.c), s.in.c);
    const u32 extra = extended ? (truth(x, s.pp) ? 1 : 0) : (s.in.c.negate ? 1 : 0);
    x.set_uniform(s.in.rd, x.scalar(s, s.in.a) * x.scalar(s, s.in.b) + c + extra);
}

void op_uimad_wide(Exec& x, Slot& s) {
    const bool extended = s.in.mod<Mod::X>() != 0;
    u64 c = u64{pair_high(x, s.in.c.index)} << 32 | x.scalar(s, s.in.c);
    if (s.in.c.negate) c = ~c + (extended ? 0 : 1);
    const WideSum sum = multiply_add_wide(x.scalar(s, s.in.a), x.scalar(s, s.in.b), c, s.in.mod<Mod::Unsigned>() != 0,
                                          extended && truth(x, s.pp) ? 1 : 0);
    x.set_uniform(s.in.rd, static_cast<u32>(sum.value));
    if (s.in.rd != sass::kUrz) x.set_uniform(s.in.rd + 1u, static_cast<u32>(sum.value >> 32));
    x.set_uniform_pred(s.pu, sum.carry);
}

void op_uflo(Exec& x, Slot& s) {
    const u32 r = find_leading(inverted(x.scalar(s, s.in.b), s.in.b), s.in.mod<Mod::Unsigned>() != 0,
                               s.in.mod<Mod::FindShift>() != 0);
    x.set_uniform(s.in.rd, r);
    x.set_uniform_pred(s.pu, r != 0xffff'ffff);
}
void op_ubrev(Exec& x, Slot& s) {
    x.set_uniform(s.in.rd, reverse_bits(x.scalar(s, s.in.b)));
}
void op_upopc(Exec& x, Slot& s) {
    x.set_uniform(s.in.rd, static_cast<u32>(std::popcount(inverted(x.scalar(s, s.in.b), s.in.b))));
}

void op_r2ur(Exec& x, Slot& s) {
    if (s.in.mod<Mod::UniformOr>() != 0 || s.pu != sass::kPt) {
        x.trap(s, TrapReason::UNMODELLED, x.lanes, 0, "R2UR with .OR or a predicate result");
        return;
    }
    x.set_uniform(s.in.rd & sass::kUrz, x.reg(s.in.ra)[std::countr_zero(x.lanes)]);
}

}  // namespace gpu::sm
