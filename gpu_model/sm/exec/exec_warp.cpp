// Operations across the lanes of a warp, predicates as data, and special registers.
#include <algorithm>

#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/exec/int_functions.h"
#include "gpu_model/sm/exec/operations.h"
#include "gpu_model/sm/exec/special_registers.h"
#include "gpu_model/sm/isa/disasm.h"

namespace gpu::sm {

using sass::Mod;

namespace {

void store(Exec& x, u32 rd, u32 value) {
    u32* d = x.dst(rd);
    for_lanes(x.lanes, [&](u32 lane) { d[lane] = value; });
}

// VOTE's three questions about the active lanes.
bool vote(u32 mode, u32 ballot, u32 lanes) {
    enum Mode : u32 { All, Any, Equal };
    switch (mode) {
        case All:
            return ballot == lanes;
        case Any:
            return ballot != 0;
        default:
            return ballot == lanes || ballot == 0;
    }
}

}  // namespace

void op_vote(Exec& x, Slot& s) {
    const u32 ballot = x.pred(s.pp) & x.lanes;
    store(x, s.in.rd, ballot);
    x.set_pred(s.pu, vote(s.in.mod<Mod::VoteMode>(), ballot, x.lanes) ? kAllLanes : 0);
}

void op_voteu(Exec& x, Slot& s) {
    const u32 ballot = x.pred(s.pp) & x.lanes;
    x.set_uniform(s.in.rd & sass::kUrz, ballot);
    x.set_uniform_pred(s.pu, vote(s.in.mod<Mod::VoteMode>(), ballot, x.lanes));
}

void op_shfl(Exec& x, Slot& s) {
    using Op = sass::Op;
    enum Mode : u32 { Idx, Up, Down, Bfly };
    const sass::Word word = s.in.word;
    const bool lane_register = s.in.op == Op::SHFL_RR || s.in.op == Op::SHFL_RI;
    const bool segment_register = s.in.op == Op::SHFL_RR || s.in.op == Op::SHFL_IR;
    const u32* lane_row = x.reg(static_cast<u32>(sass::at::Rb::get(word)));
    const u32* segment_row = x.reg(static_cast<u32>(sass::at::Rc::get(word)));
    const u32 mode = s.in.mod<Mod::ShuffleMode>();
    const u32* source = x.reg(s.in.ra);
    Row result;
    u32 valid = 0;
    for (u32 j = 0; j < kLanes; ++j) {
        const u32 b = (lane_register ? lane_row[j] : static_cast<u32>(word.bits(57, 53))) & 31;
        const u32 c = segment_register ? segment_row[j] : static_cast<u32>(word.bits(52, 40));
        const u32 segment = c >> 8 & 31, clamp = c & 31;
        const u32 least = j & segment, most = least | (clamp & ~segment);
        u32 k = j;
        bool ok = false;
        switch (mode) {
            case Up:
                k = j - b, ok = static_cast<i32>(k) >= static_cast<i32>(most);
                break;
            case Down:
                k = j + b, ok = k <= most;
                break;
            case Bfly:
                k = j ^ b, ok = k <= most;
                break;
            default:
                k = least | (b & ~segment), ok = k <= most;
                break;
        }
        if (!ok) k = j;
        valid |= ok ? lane_bit(j) : 0;
        result.lane[j] = (x.lanes >> (k & 31) & 1) != 0 ? source[k & 31] : 0;  // a lane that does not execute it has nothing to give
    }
    u32* d = x.dst(s.in.rd);
    for_lanes(x.lanes, [&](u32 lane) { d[lane] = result.lane[lane]; });
    x.set_pred(s.pu, valid);
}

void op_match(Exec& x, Slot& s) {
    const bool any = s.in.mod<Mod::MatchMode>() != 0, wide = s.in.mod<Mod::MatchWide>() != 0;
    const u32* lo = x.reg(s.in.ra);
    const u32* hi = x.src_pair(s.in.ra);
    Row result;
    for_lanes(x.lanes, [&](u32 j) {
        u32 equal = 0;
        for_lanes(x.lanes, [&](u32 k) {
            if (lo[j] == lo[k] && (!wide || hi[j] == hi[k])) equal |= lane_bit(k);
        });
        result.lane[j] = any ? equal : (equal == x.lanes ? x.lanes : 0);
    });
    u32* d = x.dst(s.in.rd);
    u32 all = 0;
    for_lanes(x.lanes, [&](u32 lane) {
        d[lane] = result.lane[lane];
        all |= result.lane[lane] == x.lanes ? lane_bit(lane) : 0;
    });
    x.set_pred(s.pu, all);
}

void op_plop3(Exec& x, Slot& s) {
    const sass::Word word = s.in.word;
    const u32 table_u = static_cast<u32>(word.bits(76, 72) << 3 | word.bits(66, 64));
    const u32 table_v = static_cast<u32>(word.bits(23, 16));
    const u32 a = x.pred(s.pp), b = x.pred(s.pq);
    constexpr unsigned uniform_c = 67;
    const u32 c = word.bit(uniform_c) ? x.uniform_pred(s.pr) : x.pred(s.pr);
    x.set_preds(s, lut3(table_u, a, b, c), lut3(table_v, a, b, c));
}

void op_p2r(Exec& x, Slot& s) {
    const u32* a = x.src(s, s.in.a, 0);
    const u32 mask = static_cast<u32>(s.in.word.bits(39, 32));
    const u32 shift = 8 * s.in.mod<Mod::PredByte>();
    u32* d = x.dst(s.in.rd);
    for_lanes(x.lanes, [&](u32 lane) {
        u32 byte = 0;
        for (u32 j = 0; j < sass::kPt; ++j) byte |= (x.warp->preds[j] >> lane & 1) << j;
        d[lane] = (a[lane] & ~(mask << shift)) | (byte & mask) << shift;
    });
}

void op_r2p(Exec& x, Slot& s) {
    const u32* a = x.src(s, s.in.a, 0);
    const u32 mask = static_cast<u32>(s.in.word.bits(39, 32));
    const u32 shift = 8 * s.in.mod<Mod::PredByte>();
    for (u8 j = 0; j < sass::kPt; ++j) {
        if ((mask >> j & 1) == 0) continue;
        u32 bits = 0;
        for_lanes(x.lanes, [&](u32 lane) { bits |= (a[lane] >> (shift + j) & 1) << lane; });
        x.set_pred(j, bits);
    }
}

namespace {

// The lanes' thread indices along the block's axes: x fastest, as lanes are numbered.
void thread_indices(const Exec& x, Row (&axes)[3]) {
    const std::array<u32, 3>& block = x.grid->launch().block;
    const u32 first = x.warp->index * kLanes;
    u32 tid_x = first % block[0], tid_y = first / block[0] % block[1], tid_z = first / block[0] / block[1];
    for (u32 lane = 0; lane < kLanes; ++lane) {
        axes[0].lane[lane] = tid_x, axes[1].lane[lane] = tid_y, axes[2].lane[lane] = tid_z;
        if (++tid_x != block[0]) continue;
        tid_x = 0;
        if (++tid_y != block[1]) continue;
        tid_y = 0;
        ++tid_z;
    }
}

// A special register that differs from lane to lane. False: it is none of them.
bool lane_register(const Exec& x, u32 id, Row& out) {
    Row axes[3];
    const std::array<u32, 3>& block = x.grid->launch().block;
    if (id == TidX && block[1] == 1 && block[2] == 1) {
        for (u32 i = 0; i < kLanes; ++i) out.lane[i] = x.warp->index * kLanes + i;
        return true;
    }
    switch (id) {
        case TidX:
        case TidY:
        case TidZ:
            thread_indices(x, axes);
            out = axes[id - TidX];
            return true;
        case Tid:
            thread_indices(x, axes);
            for (u32 i = 0; i < kLanes; ++i)
                out.lane[i] = axes[0].lane[i] | axes[1].lane[i] << 16 | axes[2].lane[i] << 26;
            return true;
        case LaneId:
            for (u32 i = 0; i < kLanes; ++i) out.lane[i] = i;
            return true;
        case EqMask:
            for (u32 i = 0; i < kLanes; ++i) out.lane[i] = lane_bit(i);
            return true;
        case LtMask:
            for (u32 i = 0; i < kLanes; ++i) out.lane[i] = lane_bit(i) - 1;
            return true;
        case LeMask:
            for (u32 i = 0; i < kLanes; ++i) out.lane[i] = lane_bit(i) | (lane_bit(i) - 1);
            return true;
        case GtMask:
            for (u32 i = 0; i < kLanes; ++i) out.lane[i] = ~(lane_bit(i) | (lane_bit(i) - 1));
            return true;
        case GeMask:
            for (u32 i = 0; i < kLanes; ++i) out.lane[i] = ~(lane_bit(i) - 1);
            return true;
        default:
            return false;
    }
}

// A special register that is the same in all lanes. False: nobody models it.
bool warp_register(const Exec& x, u32 id, u32& value) {
    const KernelLaunch& launch = x.grid->launch();
    switch (id) {
        // Where the compiler finds %warpid and the SM. (model: the slot is the warp's number in its block)
        case VirtId:
            value = x.warp->index << 8 | x.cta->sm << 20;
            return true;
        case CtaIdX:
            value = x.cta->id[0];
            return true;
        case CtaIdY:
            value = x.cta->id[1];
            return true;
        case CtaIdZ:
            value = x.cta->id[2];
            return true;
        case SharedSize:
            value = launch.shared_bytes;
            return true;
        // Lowest address of the stack: code that recurses compares its stack pointer with it.
        case LocalHighOffset:
            value = static_cast<u32>(kWindowBytes) - launch.local_high_bytes;
            return true;
        case VirtualSmId:
            value = x.cta->sm;
            return true;
        case Clock:
        case ClockLo:
            value = static_cast<u32>(x.grid->cycles());
            return true;
        case ClockHi:
            value = static_cast<u32>(x.grid->cycles() >> 32);
            return true;
        case GlobalTimerLo:
            value = static_cast<u32>(x.grid->clock().global_timer_ns());
            return true;
        case GlobalTimerHi:
            value = static_cast<u32>(x.grid->clock().global_timer_ns() >> 32);
            return true;
        case Zero:
            value = 0;
            return true;
        default:
            // Performance counters that nobody has started.
            value = 0;
            return id >= Pm0 && id <= PmHi3;
    }
}

void trap_special(Exec& x, Slot& s) {
    x.trap(s, TrapReason::UNMODELLED, x.lanes, 0, "special register " + sass::special_register_name(special_register_id(s.in)));
}

}  // namespace

void op_s2r(Exec& x, Slot& s) {
    const u32 id = special_register_id(s.in);
    u32* d = x.dst(s.in.rd);
    Row row;
    u32 value = 0;
    if (!lane_register(x, id, row)) {
        if (!warp_register(x, id, value)) {
            trap_special(x, s);
            return;
        }
        std::fill(std::begin(row.lane), std::end(row.lane), value);
    }
    if (x.lanes == kAllLanes) {
        std::copy_n(row.lane, kLanes, d);
    } else {
        for_lanes(x.lanes, [&](u32 lane) { d[lane] = row.lane[lane]; });
    }
}

void op_cs2r(Exec& x, Slot& s) {
    if (s.in.mod<Mod::Wide32>() == 0) {
        op_s2r(x, s);
        return;
    }
    const u32 id = special_register_id(s.in);
    u32 low = 0, high = 0;
    const bool known = id == Zero || ((id == ClockLo || id == GlobalTimerLo) && warp_register(x, id, low) &&
                                      warp_register(x, id + 1, high));
    if (!known) {
        trap_special(x, s);
        return;
    }
    u32* lo = x.dst(s.in.rd);
    u32* hi = x.dst_pair(s.in.rd);
    for_lanes(x.lanes, [&](u32 i) { lo[i] = low, hi[i] = high; });
}

void op_s2ur(Exec& x, Slot& s) {
    const u32 id = special_register_id(s.in);
    Row row;
    u32 value = 0;
    if (lane_register(x, id, row)) {
        value = row.lane[std::countr_zero(x.lanes)];
    } else if (!warp_register(x, id, value)) {
        trap_special(x, s);
        return;
    }
    x.set_uniform(s.in.rd, value);
}

}  // namespace gpu::sm
