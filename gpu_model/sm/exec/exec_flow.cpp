// Control flow: branches, calls, exits, and the convergence barriers.
#include <algorithm>

#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/exec/operations.h"

namespace gpu::sm {

using sass::Mod;
using State = LaneGroup::State;

void Exec::jump(const Slot& s, u32 taken, u64 target) {
    if (taken == 0) return;
    if (target % sass::kWordBytes != 0) {
        trap(s, TrapReason::MISALIGNED_PC, taken, target);
        return;
    }
    if (taken != active) {
        // The lower address goes first: that keeps the lanes of a loop together.
        LaneGroup other{.pc = next_pc, .lanes = active & ~taken};
        if (target > next_pc) {
            std::swap(other.pc, target);
            std::swap(other.lanes, taken);
        }
        add_group(*warp, other);
        active = taken;
        stop_pc = std::min(stop_pc, other.pc);
    }
    next_pc = target;
    if (target <= pc && warp->group_count != 0 && --patience == 0) give_way();
}

void Exec::give_way() {
    patience = kPatience;
    add_group(*warp, {.pc = next_pc, .lanes = active});
    active = 0;
    oldest_first = true;
    event = Event::Switch;
}

void Exec::wait(State state, u8 barrier, u32 sync_mask) {
    add_group(*warp, {.pc = next_pc, .lanes = lanes, .sync_mask = sync_mask, .state = state, .barrier = barrier});
    active &= ~lanes;
    event = Event::Switch;
}

namespace {

u64 relative_target(const Exec& x, const Slot& s) {
    return x.next_pc + static_cast<u64>(sass::branch_displacement(s.in.word));
}
u64 absolute_target(const Slot& s) {
    return static_cast<u64>(sass::branch_displacement(s.in.word));
}

u64 register_pair(Exec& x, u32 index, u32 lane) {
    return u64{x.src_pair(index)[lane]} << 32 | x.reg(index)[lane];
}

// Each lane to base + its register pair.
void jump_indirect(Exec& x, Slot& s, u32 taken, u64 base) {
    if (taken == 0) return;
    const u64 first = base + register_pair(x, s.in.ra, static_cast<u32>(std::countr_zero(taken)));
    u32 same = 0;
    for_lanes(taken, [&](u32 lane) { same |= base + register_pair(x, s.in.ra, lane) == first ? lane_bit(lane) : 0; });
    if (same == taken) {
        x.jump(s, taken, first);
        return;
    }
    u32 rest = taken;
    while (rest != 0) {
        const u64 target = base + register_pair(x, s.in.ra, static_cast<u32>(std::countr_zero(rest)));
        if (target % sass::kWordBytes != 0) {
            x.trap(s, TrapReason::MISALIGNED_PC, rest, target);
            return;
        }
        u32 lanes = 0;
        for_lanes(rest,
                  [&](u32 lane) { lanes |= base + register_pair(x, s.in.ra, lane) == target ? lane_bit(lane) : 0; });
        add_group(*x.warp, {.pc = target, .lanes = lanes});
        rest &= ~lanes;
    }
    if ((x.active & ~taken) != 0) add_group(*x.warp, {.pc = x.next_pc, .lanes = x.active & ~taken});
    x.active = 0;
    x.event = Event::Switch;
}

u32 convergence_index(const Slot& s) {
    return static_cast<u32>(s.in.word.bits(19, 16));
}

}  // namespace

void op_nop(Exec&, Slot&) {}
void op_depbar(Exec&, Slot&) {}
void op_errbar(Exec&, Slot&) {}
// One coherent memory and accesses in order: nothing is left to wait for.
void op_membar(Exec&, Slot&) {}
void op_cctl(Exec&, Slot&) {}

void op_bra(Exec& x, Slot& s) {
    enum Kind : u32 { Plain, Uniform, Diverged, Converged };
    const u32 kind = s.in.mod<Mod::BranchKind>();
    // What .INC and .DEC count, calls, has no other effect. (model)
    const bool together = x.active == x.warp->live;
    if ((kind == Diverged && together) || (kind == Converged && !together)) return;
    x.jump(s, x.lanes & x.pred(s.pp), relative_target(x, s));
}

void op_brx(Exec& x, Slot& s) {
    const u32 taken = x.lanes & x.pred(s.pp);
    if (s.in.op != sass::Op::BRXU) {
        jump_indirect(x, s, taken, relative_target(x, s));
        return;
    }
    const u32 index = s.in.ra & sass::kUrz;
    const u64 high = index == sass::kUrz ? 0 : x.warp->uniform[index + 1];
    x.jump(s, taken, relative_target(x, s) + (high << 32 | x.warp->uniform[index]));
}

void op_jmp(Exec& x, Slot& s) {
    x.jump(s, x.lanes & x.pred(s.pp), absolute_target(s));
}
void op_jmx(Exec& x, Slot& s) {
    jump_indirect(x, s, x.lanes & x.pred(s.pp), absolute_target(s));
}

void op_call(Exec& x, Slot& s) {
    const u32 taken = x.lanes & x.pred(s.pp);
    switch (s.in.op) {
        case sass::Op::CALL_ABS_R:
            jump_indirect(x, s, taken, absolute_target(s));
            break;
        case sass::Op::CALL_REL_R:
            jump_indirect(x, s, taken, relative_target(x, s));
            break;
        case sass::Op::CALL_ABS:
            x.jump(s, taken, absolute_target(s));
            break;
        default:
            x.jump(s, taken, relative_target(x, s));
            break;
    }
}

void op_ret(Exec& x, Slot& s) {
    const bool absolute = s.in.mod<Mod::RetKind>() != 0;
    jump_indirect(x, s, x.lanes & x.pred(s.pp), absolute ? absolute_target(s) : relative_target(x, s));
}

void op_exit(Exec& x, Slot& s) {
    const u32 leaving = x.lanes & x.pred(s.pp);
    if (leaving == 0) return;
    x.warp->live &= ~leaving;
    x.active &= ~leaving;
    if (x.warp->group_count != 0) release_waiting(*x.warp);
    x.cta->recheck_barriers();
    x.event = Event::Switch;
}

void op_bssy(Exec& x, Slot& s) {
    x.warp->convergence[convergence_index(s)] = x.lanes & x.pred(s.pp);
}

void op_bsync(Exec& x, Slot& s) {
    const u32 index = convergence_index(s);
    u32& members = x.warp->convergence[index];
    if ((members & x.warp->live & ~x.lanes) == 0) {
        members = 0;
        return;
    }
    // Lanes that are no members (any more) do not wait.
    x.lanes &= members;
    if (x.lanes == 0) return;
    x.wait(State::AtBsync, static_cast<u8>(index), 0);
    release_waiting(*x.warp);
}

void op_break(Exec& x, Slot& s) {
    x.warp->convergence[convergence_index(s)] &= ~(x.lanes & x.pred(s.pp));
    if (x.warp->group_count != 0) release_waiting(*x.warp);
}

void op_warpsync(Exec& x, Slot& s) {
    const u32 mask = x.src(s, s.in.b, 1)[std::countr_zero(x.lanes)];
    if ((mask & x.warp->live & ~x.lanes) == 0) return;
    x.wait(State::AtWarpsync, 0, mask);
    release_waiting(*x.warp);
}

void op_yield(Exec& x, Slot&) {
    if (x.warp->group_count != 0) x.give_way();
}
void op_nanosleep(Exec& x, Slot&) {
    if (x.warp->group_count != 0) x.give_way();
}

namespace {

// Every lane of each quad that has one in the mask.
u32 whole_quads(u32 mask) {
    constexpr u32 first_lanes = 0x1111'1111, quad = 0xf;
    return ((mask | mask >> 1 | mask >> 2 | mask >> 3) & first_lanes) * quad;
}

}  // namespace

void op_bmov(Exec& x, Slot& s) {
    constexpr u32 state_flag = 0x10, active_mask = 0x1a;
    const u32 index = static_cast<u32>(s.in.word.bits(28, 24));
    u32* convergence = x.warp->convergence;
    const bool state = (index & state_flag) != 0;
    if (s.in.op == sass::Op::BMOV_S_B && index == active_mask) {
        // Compiled code makes the other lanes of its quads active to take derivatives, and takes that back.
        u32 wanted = convergence[convergence_index(s)];
        if (s.in.mod<Mod::BarrierQuad>() != 0) wanted = whole_quads(wanted);
        if (wanted != x.active) x.trap(s, TrapReason::UNMODELLED, x.lanes, 0, "quads of which some lanes are not active");
        return;
    }
    const bool writes = s.in.op == sass::Op::BMOV_S_B || s.in.op == sass::Op::BMOV_B_R;
    if (state && (writes || index != active_mask)) {
        x.trap(s, TrapReason::UNMODELLED, x.lanes, 0, "convergence state other than MACTIVE");
        return;
    }
    const u32 value = state ? x.active : convergence[index & 0xf];
    if (s.in.op == sass::Op::BMOV_B_S) {
        convergence[convergence_index(s)] = value;
    } else if (s.in.op == sass::Op::BMOV_S_B) {
        convergence[index] = convergence[convergence_index(s)];
    } else if (s.in.op == sass::Op::BMOV_B_R) {
        convergence[index] = x.reg(static_cast<u32>(sass::at::Rb::get(s.in.word)))[std::countr_zero(x.lanes)];
    } else {
        u32* d = x.dst(s.in.rd);
        for_lanes(x.lanes, [&](u32 lane) { d[lane] = value; });
        if (s.in.mod<Mod::BarrierClear>() != 0 && !state) convergence[index] = 0;
    }
    if (x.warp->group_count != 0) release_waiting(*x.warp);
}

void op_bar(Exec& x, Slot& s) {
    using Op = sass::Op;
    enum Kind : u32 { Sync, Arrive, Reduce, Scan, SyncAll };
    const u32 what = s.in.mod<Mod::BarOpAll>();
    const u32 kind = what >> 2;
    const u32 from_register = x.reg(static_cast<u32>(sass::at::Rb::get(s.in.word)))[std::countr_zero(x.lanes)];
    const bool register_number = s.in.op == Op::BAR_RR || s.in.op == Op::BAR_RI;
    const bool register_count = s.in.op == Op::BAR_RR || s.in.op == Op::BAR_IR;
    constexpr u32 number_mask = 0xf, count_mask = 0xfff, count_shift = 16;
    const u32 number = register_number ? from_register & number_mask : static_cast<u32>(s.in.word.bits(57, 54));
    const u32 threads =
        register_count ? from_register >> count_shift & count_mask : static_cast<u32>(s.in.word.bits(53, 42));
    constexpr CtaBarrier::Reduction reductions[] = {CtaBarrier::Reduction::Popc, CtaBarrier::Reduction::And, CtaBarrier::Reduction::Or};
    const u32 reduction = what & 3;
    if (kind == Scan || (kind == Reduce && reduction >= std::size(reductions))) {
        x.trap(s, TrapReason::ILLEGAL_INSTR_PARAM, x.lanes, 0, "BAR.SCAN or a reduction without a name");
        return;
    }
    const u32 warp_threads = static_cast<u32>(x.cta->warps.size()) * kLanes;
    if (number >= x.grid->launch().barriers || threads % kLanes != 0 || threads > warp_threads ||
        (kind == Arrive && threads == 0)) {
        x.trap(s, TrapReason::BAD_BARRIER, x.lanes);
        return;
    }
    const u32 lanes = x.lanes;
    if (kind != Arrive) x.wait(State::AtBarrier, static_cast<u8>(number), 0);
    if (kind == Reduce) {
        x.cta->arrive_reducing(number, *x.warp, lanes, threads, x.pred(s.pp) & lanes, reductions[reduction]);
    } else {
        x.cta->arrive(number, *x.warp, lanes, threads);
    }
}

void op_b2r(Exec& x, Slot& s) {
    if (s.in.mod<Mod::R2BResult>() == 0) {
        x.trap(s, TrapReason::UNMODELLED, x.lanes, 0, "B2R without .RESULT");
        return;
    }
    u32* d = x.dst(s.in.rd);
    for_lanes(x.lanes, [&](u32 lane) { d[lane] = x.warp->barrier_result; });
    x.set_pred(s.pu, x.warp->barrier_pred ? kAllLanes : 0);
}

void op_bpt(Exec& x, Slot& s) {
    x.trap(s, TrapReason::BREAKPOINT, x.lanes);
}

void op_lepc(Exec& x, Slot& s) {
    u32* lo = x.dst(s.in.rd);
    u32* hi = x.dst_pair(s.in.rd);
    for_lanes(x.lanes, [&](u32 lane) {
        lo[lane] = static_cast<u32>(x.next_pc);
        hi[lane] = static_cast<u32>(x.next_pc >> 32);
    });
}

}  // namespace gpu::sm
