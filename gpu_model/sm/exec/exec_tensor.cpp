// Matrix operations. Element places follow the PTX manual's fragment layouts for m8n8k4, m16n8k8, m8n8k16, m8n8k32 and
// m8n8k128; a group of four lanes holds one row.
#include <algorithm>
#include <cmath>

#include "gpu_model/sm/exec/access.h"
#include "gpu_model/sm/exec/float_functions.h"
#include "gpu_model/sm/exec/operations.h"

namespace gpu::sm {

using sass::Mod;
using soft::kF16;
using soft::kF32;
using soft::kF64;
using soft::Round;

namespace {

u32 half_of(u32 word, u32 index) {
    return word >> (16 * index) & 0xffff;
}

// A part of a warp does nothing.
bool is_whole_warp(const Exec& x) {
    return x.lanes == kAllLanes;
}

double widen(u32 half) {
    return std::bit_cast<double>(kF16.is_nan(half) ? u64{0x7ff8'0000'0000'0000}
                                                   : soft::convert(kF16, kF64, half, Round::Nearest));
}

double widen32(u32 bits) {
    return std::bit_cast<double>(is_nan32(bits) ? u64{0x7ff8'0000'0000'0000}
                                                : soft::convert(kF32, kF64, bits, Round::Nearest));
}

// Sum of products in double, then one rounding. (model: the chip's own order and truncation differ in the last bits)
u64 round_sum(soft::Format format, double value, u64 nan) {
    if (std::isnan(value)) return nan;
    return soft::convert(kF64, format, std::bit_cast<u64>(value), Round::Nearest);
}

}  // namespace

namespace {

// m8n8k4: lanes 4q..4q+3 and 16+4q..16+4q+3 hold the four products of quad pair q.
struct QuadPair {
    double a[8][4], b[4][8];
};
constexpr u32 kQuadPairs = 4, kUpperLanes = 16;
u32 lane_of(u32 pair, u32 index) {
    return pair * 4 + index % 4 + (index >= 4 ? kUpperLanes : 0);
}

QuadPair load_quad_pair(Exec& x, const Slot& s, u32 pair) {
    const bool a_columns = s.in.word.bit(73), b_columns = s.in.word.bit(74);
    QuadPair out;
    for (u32 index = 0; index < 8; ++index) {
        const u32 lane = lane_of(pair, index), low = index % 4, group = index / 4 * 4;
        for (u32 k = 0; k < 4; ++k) {
            const double a =
                widen(half_of(x.reg(s.in.a.index == sass::kRz ? sass::kRz : s.in.a.index + k / 2)[lane], k % 2));
            const double b =
                widen(half_of(x.reg(s.in.b.index == sass::kRz ? sass::kRz : s.in.b.index + k / 2)[lane], k % 2));
            (a_columns ? out.a[k + group][low] : out.a[index][k]) = a;
            (b_columns ? out.b[k][index] : out.b[low][k + group]) = b;
        }
    }
    return out;
}

// Which element of the 8 x 8 sums a lane of the pair holds in single precision as its i-th of eight.
constexpr u32 single_row(u32 index, u32 i) {
    return (index & 1) + (i & 2) + (index & 4);
}
constexpr u32 single_column(u32 index, u32 i) {
    return (i & 4) + (index & 2) + (i & 1);
}

}  // namespace

// One step of m8n8k4: two registers of the result. With half results a step is four columns, with single ones the
// elements 2 * step and 2 * step + 1 of each lane.
void op_hmma_884(Exec& x, Slot& s) {
    if (!is_whole_warp(x)) return;
    const bool single = s.in.mod<Mod::MmaType>() != 0, single_c = s.in.mod<Mod::MmaTypeC>() != 0;
    const u32 step = s.in.mod<Mod::MmaStep>();
    constexpr u32 half_steps = 2;
    if ((!single && (single_c || step >= half_steps))) {
        x.trap(s, TrapReason::UNMODELLED, x.lanes, 0, "HMMA.884 with half results in this step or with single addends");
        return;
    }
    Row result[2]{};
    for (u32 pair = 0; pair < kQuadPairs; ++pair) {
        const QuadPair m = load_quad_pair(x, s, pair);
        const auto sum = [&](u32 row, u32 column, double addend) {
            double total = 0;
            for (u32 k = 0; k < 4; ++k) total += m.a[row][k] * m.b[k][column];
            return total + addend;
        };
        const auto addend_register = [&](u32 which) {
            return s.in.c.index == sass::kRz ? sass::kRz : s.in.c.index + which;
        };
        // Half addends: the row is the lane's number in the pair, the register pair holds four columns of it.
        const auto half_addend = [&](u32 row, u32 column) {
            return widen(half_of(x.reg(addend_register(column % 4 / 2))[lane_of(pair, row)], column % 2));
        };
        for (u32 index = 0; index < 8; ++index) {
            const u32 lane = lane_of(pair, index);
            for (u32 k = 0; k < 4; ++k) {
                constexpr u64 nan16 = 0x7fff;
                if (!single) {
                    const u32 column = step * 4 + k;
                    const u64 bits = round_sum(kF16, sum(index, column, half_addend(index, column)), nan16);
                    result[k / 2].lane[lane] |= static_cast<u32>(bits) << (k % 2 * 16);
                } else if (k < 2) {
                    const u32 i = step * 2 + k, row = single_row(index, i), column = single_column(index, i);
                    const double c = single_c ? widen32(x.reg(addend_register(k))[lane]) : half_addend(row, column);
                    result[k].lane[lane] = static_cast<u32>(round_sum(kF32, sum(row, column, c), kNan32));
                }
            }
        }
    }
    if (s.in.rd == sass::kRz) return;
    for (u32 k = 0; k < 2; ++k) std::copy_n(result[k].lane, kLanes, x.reg(s.in.rd + k));
}

void op_hmma_1688(Exec& x, Slot& s) {
    if (!is_whole_warp(x)) return;
    constexpr u32 rows = 16, columns = 8, depth = 8;
    const bool single = s.in.mod<Mod::MmaType>() != 0;
    double a[rows][depth], b[depth][columns], d[rows][columns];
    for (u32 lane = 0; lane < kLanes; ++lane) {
        const u32 group = lane / 4, pair = lane % 4 * 2;
        for (u32 k = 0; k < 2; ++k) {
            a[group][pair + k] = widen(half_of(x.reg(s.in.a.index)[lane], k));
            a[group + 8][pair + k] = widen(half_of(x.src_pair(s.in.a.index)[lane], k));
            b[pair + k][group] = widen(half_of(x.reg(s.in.b.index)[lane], k));
            for (u32 half = 0; half < 2; ++half) {
                double& c = d[group + 8 * half][pair + k];
                if (s.in.c.index == sass::kRz) {
                    c = 0;
                } else if (single) {
                    c = widen32(x.reg(s.in.c.index + 2 * half + k)[lane]);
                } else {
                    c = widen(half_of(x.reg(s.in.c.index + half)[lane], k));
                }
            }
        }
    }
    for (u32 i = 0; i < rows; ++i) {
        for (u32 j = 0; j < columns; ++j) {
            double sum = 0;
            for (u32 k = 0; k < depth; ++k) sum += a[i][k] * b[k][j];
            d[i][j] += sum;
        }
    }
    if (s.in.rd == sass::kRz) return;
    for (u32 lane = 0; lane < kLanes; ++lane) {
        const u32 group = lane / 4, pair = lane % 4 * 2;
        for (u32 half = 0; half < 2; ++half) {
            const double* row = &d[group + 8 * half][pair];
            if (single) {
                for (u32 k = 0; k < 2; ++k)
                    x.reg(s.in.rd + 2 * half + k)[lane] = static_cast<u32>(round_sum(kF32, row[k], kNan32));
            } else {
                constexpr u64 nan16 = 0x7fff;
                const u64 low = round_sum(kF16, row[0], nan16), high = round_sum(kF16, row[1], nan16);
                x.reg(s.in.rd + half)[lane] = static_cast<u32>(low | high << 16);
            }
        }
    }
}

namespace {

// D = A * B + C with 8 x 8 results of 32 bits: C and D hold two of a row in each lane. dot: products of one word of A
// and one word of B. sat: clamp each sum.
template <typename Dot>
void multiply_8x8(Exec& x, Slot& s, bool sat, Dot dot) {
    if (!is_whole_warp(x)) return;
    const u32* a = x.reg(s.in.a.index);
    const u32* b = x.reg(s.in.b.index);
    Row result[2];
    for (u32 lane = 0; lane < kLanes; ++lane) {
        const u32 row = lane / 4;
        for (u32 k = 0; k < 2; ++k) {
            const u32 column = lane % 4 * 2 + k;
            const u32* c = k == 0 ? x.reg(s.in.c.index) : x.src_pair(s.in.c.index);
            i64 sum = static_cast<i32>(c[lane]);
            for (u32 part = 0; part < 4; ++part) sum += dot(a[row * 4 + part], b[column * 4 + part]);
            if (sat) {
                constexpr i64 most = 0x7fff'ffff;
                sum = sum > most ? most : sum < -most - 1 ? -most - 1 : sum;
            }
            result[k].lane[lane] = static_cast<u32>(sum);
        }
    }
    for (u32 lane = 0; lane < kLanes; ++lane) {
        x.dst(s.in.rd)[lane] = result[0].lane[lane];
        x.dst_pair(s.in.rd)[lane] = result[1].lane[lane];
    }
}

i64 element(u32 word, u32 index, u32 bits, bool is_signed) {
    const u32 value = word >> (index * bits) & ((u32{1} << bits) - 1);
    return is_signed && (value >> (bits - 1)) != 0 ? i64{value} - (i64{1} << bits) : i64{value};
}

}  // namespace

void op_imma(Exec& x, Slot& s) {
    // Shapes 8816 take bytes, 8832 nibbles; types 0 U8, 1 S8, 2 U4, 3 S4.
    const u32 shape = s.in.mod<Mod::ImmaShape>();
    const u32 type_a = s.in.mod<Mod::ImmaTypeA>(), type_b = s.in.mod<Mod::ImmaTypeB>();
    const bool nibbles = shape == 1;
    if (shape > 1 || (type_a >= 2) != nibbles || (type_b >= 2) != nibbles) {
        x.trap(s, TrapReason::UNMODELLED, x.lanes, 0, "an IMMA shape with this element type");
        return;
    }
    const u32 bits = nibbles ? 4 : 8;
    const bool a_signed = (type_a & 1) != 0, b_signed = (type_b & 1) != 0;
    multiply_8x8(x, s, s.in.mod<Mod::ImmaSat>() != 0, [=](u32 a, u32 b) {
        i64 sum = 0;
        for (u32 i = 0; i < 32 / bits; ++i) sum += element(a, i, bits, a_signed) * element(b, i, bits, b_signed);
        return sum;
    });
}

void op_bmma(Exec& x, Slot& s) {
    if (s.in.mod<Mod::BmmaOp>() == 0) {
        x.trap(s, TrapReason::UNMODELLED, x.lanes, 0, "BMMA without .XOR.POPC");
        return;
    }
    multiply_8x8(x, s, false, [](u32 a, u32 b) { return i64{std::popcount(a ^ b)}; });
}

namespace {

// Lane l of a transposed 8 x 8 matrix of halves whose row r is rows[r][0..3].
u32 transposed_word(const u32 (&rows)[8][4], u32 lane) {
    const u32 column = lane / 4, first = lane % 4 * 2;
    return half_of(rows[first][column / 2], column % 2) | half_of(rows[first + 1][column / 2], column % 2) << 16;
}

}  // namespace

void op_movm(Exec& x, Slot& s) {
    if (!is_whole_warp(x)) return;
    u32 rows[8][4];
    for (u32 lane = 0; lane < kLanes; ++lane) rows[lane / 4][lane % 4] = x.reg(s.in.ra)[lane];
    for (u32 lane = 0; lane < kLanes; ++lane) x.dst(s.in.rd)[lane] = transposed_word(rows, lane);
}

void op_ldsm(Exec& x, Slot& s) {
    if (!is_whole_warp(x)) return;
    const u32 count_code = s.in.mod<Mod::MatrixCount>(), shape = s.in.mod<Mod::MatrixShape>();
    if (count_code > 2 || shape > 1) {
        x.trap(s, TrapReason::ILLEGAL_INSTR_PARAM, x.lanes);
        return;
    }
    AddressRow addresses;
    narrow_addresses(x, s, address_form(s.in), false, addresses);
    for (u32 matrix = 0; matrix < (u32{1} << count_code); ++matrix) {
        u32 rows[8][4];
        for (u32 row = 0; row < 8; ++row) {
            const u32 lane = matrix * 8 + row;
            if (!load_lane(x, s, Space::Shared, lane, addresses.lane[lane], 16, rows[row])) return;
        }
        for (u32 lane = 0; lane < kLanes && s.in.rd != sass::kRz; ++lane) {
            x.reg(s.in.rd + matrix)[lane] = shape == 1 ? transposed_word(rows, lane) : rows[lane / 4][lane % 4];
        }
    }
}

}  // namespace gpu::sm
