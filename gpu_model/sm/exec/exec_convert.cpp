// Conversions between formats and integers, FRND, FCHK and FSWZADD.
#include "gpu_model/sm/exec/float_functions.h"
#include "gpu_model/sm/exec/operations.h"

namespace gpu::sm {

using sass::Mod;
using soft::Format;
using soft::Round;

namespace {

// Size codes of the conversions: 1 F16, 2 F32, 3 F64; 0 is an 8-bit float that the chip does not convert.
enum Size : u32 { Bits8 = 0, Bits16 = 1, Bits32 = 2, Bits64 = 3 };

constexpr Format format_of(u32 size) {
    return size == Bits16 ? soft::kF16 : size == Bits64 ? soft::kF64 : soft::kF32;
}
constexpr u64 canonical_nan(u32 size) {
    return size == Bits16 ? 0x7fff : size == Bits64 ? 0xfff8'0000'0000'0000 : kNan32;
}
constexpr u32 bits_of(u32 size) {
    return 8u << size;
}

// The source of a conversion: bytes and halves by selection, doubles from a pair, modifiers on its own sign.
struct ConvertSource {
    const u32* lo;
    const u32* hi;
    u32 bits;
    u32 shift;

    u64 operator()(u32 lane) const {
        if (bits == 64) return u64{hi[lane]} << 32 | lo[lane];
        const u32 value = lo[lane] >> shift;
        return bits == 32 ? value : value & ((u32{1} << bits) - 1);
    }
};

ConvertSource convert_source(Exec& x, Slot& s, u32 bits) {
    const sass::Source& b = s.in.b;
    ConvertSource source{x.src(s, b, 1), nullptr, bits, 0};
    if (bits == 64) {
        if (b.kind == sass::SourceKind::Immediate) {  // the high word, also of an integer
            source.hi = source.lo;
            source.lo = x.reg(sass::kRz);
        } else {
            source.hi = x.src_high(s, b, 1, 0);
        }
    } else if (bits == 16) {
        source.shift = (b.select & 1) * 16;
    } else if (bits == 8) {
        source.shift = b.select * 8;
    }
    return source;
}

// A NaN keeps its sign.
u64 with_modifiers(const Slot& s, Format format, u64 bits) {
    if (format.is_nan(bits)) return bits;
    if (s.in.b.absolute) bits &= ~format.sign_bit();
    if (s.in.b.negate) bits ^= format.sign_bit();
    return bits;
}

void store(Exec& x, Slot& s, u32 bits, u32 lane, u64 value) {
    x.dst(s.in.rd)[lane] = static_cast<u32>(value);
    if (bits == 64) x.dst_pair(s.in.rd)[lane] = static_cast<u32>(value >> 32);
}

bool refuse_size(Exec& x, Slot& s, u32 size) {
    if (size != Bits8) return false;
    x.trap(s, TrapReason::ILLEGAL_INSTR_PARAM, x.lanes, 0, "a conversion of an 8-bit float");
    return true;
}

// A NaN to or from a double keeps its sign and the upper part of its payload.
u64 convert_nan(Format from, Format to, u64 bits) {
    const u64 sign = (bits & from.sign_bit()) != 0 ? to.sign_bit() : 0;
    const u64 fraction = bits & from.fraction_mask();
    const u64 payload = to.fraction_bits >= from.fraction_bits ? fraction << (to.fraction_bits - from.fraction_bits)
                                                               : fraction >> (from.fraction_bits - to.fraction_bits);
    return sign | to.infinity() | payload | to.quiet_bit();
}

}  // namespace

void op_f2f(Exec& x, Slot& s) {
    const u32 to_size = s.in.mod<Mod::DstFloat>(), from_size = s.in.mod<Mod::SrcFloat>();
    if (refuse_size(x, s, to_size) || refuse_size(x, s, from_size)) return;
    const Format from = format_of(from_size), to = format_of(to_size);
    const auto round = static_cast<Round>(s.in.mod<Mod::Round>());
    const bool ftz = s.in.mod<Mod::Ftz>() != 0;
    const ConvertSource source = convert_source(x, s, bits_of(from_size));
    for_lanes(x.lanes, [&](u32 lane) {
        u64 bits = with_modifiers(s, from, source(lane));
        if (ftz) bits = from.flush(bits);
        u64 result = canonical_nan(to_size);
        if (!from.is_nan(bits)) {
            result = soft::convert(from, to, bits, round);
            if (ftz) result = to.flush(result);
        } else if (to_size == Bits64 || from_size == Bits64) {
            result = convert_nan(from, to, bits);
        }
        store(x, s, bits_of(to_size), lane, result);
    });
}

void op_frnd(Exec& x, Slot& s) {
    const u32 size = s.in.mod<Mod::DstFloatQ>();
    if (refuse_size(x, s, size)) return;
    const Format format = format_of(size);
    const auto round = static_cast<Round>(s.in.mod<Mod::RoundInt>());
    const bool ftz = s.in.mod<Mod::Ftz>() != 0;
    const ConvertSource source = convert_source(x, s, bits_of(size));
    for_lanes(x.lanes, [&](u32 lane) {
        u64 bits = with_modifiers(s, format, source(lane));
        if (ftz) bits = format.flush(bits);
        u64 result = soft::round_to_integral(format, bits, round);
        if (format.is_nan(bits)) result = size == Bits64 ? bits | format.quiet_bit() : canonical_nan(size);
        store(x, s, bits_of(size), lane, result);
    });
}

void op_f2i(Exec& x, Slot& s) {
    const u32 type = s.in.mod<Mod::DstInt>(), from_size = s.in.mod<Mod::SrcFloatQ>();
    if (refuse_size(x, s, from_size)) return;
    const u32 width = bits_of(type & 3);
    const bool is_signed = type >= 4;
    const Format from = format_of(from_size);
    const auto round = static_cast<Round>(s.in.mod<Mod::RoundInt>());
    const bool ftz = s.in.mod<Mod::Ftz>() != 0;
    // .NTZ: what is not a number becomes zero.
    const u64 nan_result = s.in.mod<Mod::Ntz>() != 0 ? 0 : u64{1} << (width - 1);
    const ConvertSource source = convert_source(x, s, bits_of(from_size));
    for_lanes(x.lanes, [&](u32 lane) {
        u64 bits = with_modifiers(s, from, source(lane));
        if (ftz) bits = from.flush(bits);
        u64 result = nan_result;
        if (!from.is_nan(bits)) {
            result = soft::to_integer(from, bits, width, is_signed, round);
            if (width < 32 && is_signed && (result >> (width - 1) & 1) != 0) result |= ~u64{0} << width;
        }
        store(x, s, width, lane, result);
    });
}

void op_i2f(Exec& x, Slot& s) {
    const u32 type = s.in.mod<Mod::SrcInt>(), to_size = s.in.mod<Mod::DstFloatQ>();
    if (refuse_size(x, s, to_size)) return;
    const u32 width = bits_of(type & 3);
    const bool is_signed = type >= 4;
    const Format to = format_of(to_size);
    const auto round = static_cast<Round>(s.in.mod<Mod::Round>());
    const ConvertSource source = convert_source(x, s, width);
    for_lanes(x.lanes, [&](u32 lane) {
        u64 bits = source(lane);
        if (is_signed && width < 64 && (bits >> (width - 1) & 1) != 0) bits |= ~u64{0} << width;
        bool negative = is_signed && (bits >> 63) != 0;
        u64 magnitude = negative ? u64{0} - bits : bits;
        if (!is_signed && width < 64) magnitude &= (u64{1} << width) - 1;
        store(x, s, bits_of(to_size), lane, soft::from_integer(to, magnitude, negative, round));
    });
}

// Whether a / b needs the slow path: by the exponents alone, as every pair of them was measured to.
void op_fchk(Exec& x, Slot& s) {
    const u32* a = x.src(s, s.in.a, 0);
    const u32* b = x.src(s, s.in.b, 1);
    u32 unsafe = 0;
    for_lanes(x.lanes, [&](u32 lane) {
        constexpr i32 field_max = 255, quotient_min = -124, quotient_max = 126;
        constexpr i32 numerator_min = 26, denominator_min = 2, denominator_max = 251;
        const auto exponent = [](u32 bits) { return static_cast<i32>(bits >> 23 & 0xff); };
        const i32 ea = exponent(a[lane]), eb = exponent(b[lane]), quotient = ea - eb;
        const bool safe = ea >= numerator_min && ea < field_max && eb >= denominator_min && eb <= denominator_max &&
                          quotient >= quotient_min && quotient <= quotient_max;
        unsafe |= safe ? 0 : lane_bit(lane);
    });
    x.set_pred(s.pu, unsafe);
}

// Sums for derivatives: each lane of a quad adds with signs of its own.
void op_fswzadd(Exec& x, Slot& s) {
    enum Signs : u32 { Add, FromA, FromB, OnlyB };  // PP, PN, NP, ZP
    constexpr u32 quad = 4, bits_of_lane = 2;
    const u32* a = x.src(s, s.in.a, 0);
    const u32* b = x.src(s, s.in.c, 2);
    const FloatRules rules{.round = static_cast<Round>(s.in.mod<Mod::Round>()), .ftz = s.in.mod<Mod::Ftz>() != 0};
    const u32 pattern = static_cast<u32>(s.in.word.bits(39, 32));
    u32* d = x.dst(s.in.rd);
    for_lanes(x.lanes, [&](u32 lane) {
        // The first lane's signs are the highest.
        const u32 signs = pattern >> (bits_of_lane * (quad - 1 - lane % quad)) & (quad - 1);
        const u32 p = signs == OnlyB ? 0 : signs == FromB ? a[lane] ^ kSign32 : a[lane];
        const u32 q = signs == FromA ? b[lane] ^ kSign32 : b[lane];
        d[lane] = fadd32(p, q, rules);
    });
}

}  // namespace gpu::sm
