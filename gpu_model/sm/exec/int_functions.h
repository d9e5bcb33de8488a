// Integer operations on one lane, for the vector and the uniform datapath. Rules: the sm_75 instruction descriptions
// that the tests check against hardware results.
#pragma once

#include "gpu_model/sm/launch.h"

namespace gpu::sm {

inline u32 prmt(u32 a, u32 selector, u32 c, u32 mode) {
    const u64 bytes = u64{c} << 32 | a;
    const u32 n = selector & 3;
    u32 out = 0;
    for (u32 i = 0; i < 4; ++i) {
        u32 index = 0;
        bool sign = false;
        switch (mode) {
            case 0: {
                const u32 nibble = selector >> (4 * i) & 0xf;
                index = nibble & 7, sign = (nibble & 8) != 0;
                break;
            }
            case 1:
                index = n + i;
                break;  // F4E
            case 2:
                index = (n - i) & 7;
                break;  // B4E
            case 3:
                index = n;
                break;  // RC8
            case 4:
                index = n > i ? n : i;
                break;  // ECL
            case 5:
                index = n < i ? n : i;
                break;  // ECR
            default:
                index = (n & 1) * 2 + (i & 1);
                break;  // RC16
        }
        u32 byte = static_cast<u32>(bytes >> (8 * index)) & 0xff;
        if (sign) byte = (byte & 0x80) != 0 ? 0xff : 0;
        out |= byte << (8 * i);
    }
    return out;
}

struct FunnelShift {
    bool right, wrap, high;
    u32 type;  // 0 S64, 1 U64, 2 S32, 3 U32
};
inline u32 funnel_shift(u32 a, u32 amount, u32 c, FunnelShift how) {
    const u32 width = how.type < 2 ? 64 : 32;
    const bool is_signed = (how.type & 1) == 0;
    const u32 s = how.wrap ? amount & (width - 1) : (amount < width ? amount : width);
    const u64 x = u64{c} << 32 | a;
    u64 r;
    if (s == 64) {
        r = how.right && is_signed && (x >> 63) != 0 ? ~u64{0} : 0;
    } else if (!how.right) {
        r = x << s;
    } else {
        r = is_signed ? static_cast<u64>(static_cast<i64>(x) >> s) : x >> s;
    }
    return static_cast<u32>(how.high ? r >> 32 : r);
}

inline u32 find_leading(u32 x, bool is_signed, bool from_top) {
    if (is_signed && (x >> 31) != 0) x = ~x;
    if (x == 0) return 0xffff'ffff;
    const u32 index = 31 - static_cast<u32>(__builtin_clz(x));
    return from_top ? 31 - index : index;
}

inline u32 reverse_bits(u32 x) {
    x = (x >> 1 & 0x5555'5555) | (x & 0x5555'5555) << 1;
    x = (x >> 2 & 0x3333'3333) | (x & 0x3333'3333) << 2;
    x = (x >> 4 & 0x0f0f'0f0f) | (x & 0x0f0f'0f0f) << 4;
    x = (x >> 8 & 0x00ff'00ff) | (x & 0x00ff'00ff) << 8;
    return x >> 16 | x << 16;
}

inline u32 bit_mask(u32 position, u32 width, bool wrap) {
    if (wrap) position &= 31, width &= 31;
    if (position >= 32) return 0;
    const u32 ones = width >= 32 ? 0xffff'ffff : (u32{1} << width) - 1;
    return ones << position;
}

inline u32 extend(u32 a, u32 bits, bool is_signed, bool wrap) {
    if (wrap) bits &= 31;
    if (bits >= 32) return a;
    if (bits == 0) return 0;
    const u32 shift = 32 - bits;
    return is_signed ? static_cast<u32>(static_cast<i32>(a << shift) >> shift) : a << shift >> shift;
}

// cmp: 0 F, 1 LT, 2 EQ, 3 LE, 4 GT, 5 NE, 6 GE, 7 T.
inline bool compare(u32 a, u32 b, u32 cmp, bool is_signed) {
    const bool less = is_signed ? static_cast<i32>(a) < static_cast<i32>(b) : a < b;
    const bool equal = a == b;
    return ((cmp & 1) != 0 && less) || ((cmp & 2) != 0 && equal) || ((cmp & 4) != 0 && !less && !equal);
}
// Compare of high words given the low words' result.
inline bool compare_extended(u32 a, u32 b, u32 cmp, bool is_signed, bool low) {
    if (cmp == 5) return a != b || low;
    if (cmp == 7) return true;
    const bool strict = compare(a, b, cmp & 5, is_signed);
    return strict || (a == b && low && cmp != 0);
}

// op: 0 AND, 1 OR, 2 XOR.
inline u32 combine(u32 op, u32 a, u32 b) {
    return op == 0 ? a & b : op == 1 ? a | b : a ^ b;
}

// Bitwise function of three words: bit (a << 2 | b << 1 | c) of the table.
inline u32 lut3(u32 table, u32 a, u32 b, u32 c) {
    u32 r = 0;
    if ((table & 0x01) != 0) r |= ~a & ~b & ~c;
    if ((table & 0x02) != 0) r |= ~a & ~b & c;
    if ((table & 0x04) != 0) r |= ~a & b & ~c;
    if ((table & 0x08) != 0) r |= ~a & b & c;
    if ((table & 0x10) != 0) r |= a & ~b & ~c;
    if ((table & 0x20) != 0) r |= a & ~b & c;
    if ((table & 0x40) != 0) r |= a & b & ~c;
    if ((table & 0x80) != 0) r |= a & b & c;
    return r;
}

struct Sum {
    u32 value;
    u32 carries;  // out of bit 31
};
inline Sum add3(u32 a, u32 b, u32 c, u32 extra) {
    const u64 sum = u64{a} + b + c + extra;
    return {static_cast<u32>(sum), static_cast<u32>(sum >> 32)};
}

struct WideSum {
    u64 value;
    bool carry;  // out of bit 63
};
inline WideSum multiply_add_wide(u32 a, u32 b, u64 c, bool is_signed, u32 carry_in) {
    const u64 product = is_signed ? static_cast<u64>(i64{static_cast<i32>(a)} * static_cast<i32>(b)) : u64{a} * b;
    const u64 first = product + c;
    const u64 value = first + carry_in;
    return {value, first < product || value < first};
}

struct LeaShift {
    bool high, sx32, x, negate_a, negate_b;
    u32 shift;
};
inline Sum shifted_add(u32 a, u32 b, u32 c, LeaShift how, u32 carry_in) {
    const u32 upper = how.sx32 ? static_cast<u32>(static_cast<i32>(a) >> 31) : c;
    u32 t = a << how.shift;
    if (how.high) t = static_cast<u32>((u64{upper} << 32 | a) << how.shift >> 32);
    u32 extra = how.x ? carry_in : 0;
    if (how.negate_a) t = ~t, extra += how.x ? 0 : 1;
    if (how.negate_b) b = ~b, extra += how.x ? 0 : 1;
    return add3(t, b, 0, extra);
}

}  // namespace gpu::sm
