// Which words are of a usual form: the conditions that the handlers of memory_lanes.inc and usual_lanes.inc rely on.
#include "gpu_model/sm/exec/usual_forms.h"

#include "gpu_model/sm/exec/special_registers.h"

namespace gpu::sm {

using sass::Mod;
using sass::Op;
using sass::SourceKind;

namespace {

// All usual handlers of one instruction set of the host.
struct UsualHandlers {
#define LANE_OP(name)
#define USUAL_OP(name) Handler name;
#include "gpu_model/sm/exec/lane_ops.def"
#undef USUAL_OP
};
#define USUAL_OP(name) &name,
namespace usual_portable {
using namespace portable;
constexpr UsualHandlers kUsual = {
#include "gpu_model/sm/exec/lane_ops.def"
};
}  // namespace usual_portable
#if defined(__x86_64__)
namespace usual_avx2 {
using namespace avx2;
constexpr UsualHandlers kUsual = {
#include "gpu_model/sm/exec/lane_ops.def"
};
}  // namespace usual_avx2
namespace usual_avx512 {
using namespace avx512;
constexpr UsualHandlers kUsual = {
#include "gpu_model/sm/exec/lane_ops.def"
};
}  // namespace usual_avx512
#endif
#undef USUAL_OP
#undef LANE_OP

const UsualHandlers& usual_of(LaneTarget target) {
#if defined(__x86_64__)
    if (target == LaneTarget::Avx512) return usual_avx512::kUsual;
    if (target == LaneTarget::Avx2) return usual_avx2::kUsual;
#endif
    return usual_portable::kUsual;
}

// Size codes of loads and stores: 4, 5, 6 are one, two and four words.
constexpr u32 kOneWord = 4, kFourWords = 6;
Handler by_size(u32 code, Handler one, Handler two, Handler four) {
    return code < kOneWord || code > kFourWords ? nullptr : code == kOneWord ? one : code == kFourWords ? four : two;
}

// A load without predicate operands.
bool is_plain_load(const sass::Instruction& in) {
    return in.word.bits(67, 64) == 0 && in.mod<Mod::ZeroDefer>() == 0 && sass::at::Pu::get(in.word) == sass::kPt;
}
bool has_uniform_address(const sass::Instruction& in) {
    return in.word.bit(sass::at::Uniform::kLo);
}
bool stores_register(const sass::Instruction& in) {
    return sass::at::Rb::get(in.word) != sass::kRz;
}

bool is_register(const sass::Source& source) {
    return source.kind == SourceKind::Register;
}
bool is_in_slot(const sass::Source& source) {
    return source.kind == SourceKind::Immediate || source.kind == SourceKind::Constant;
}
bool has_modifier(const sass::Source& source) {
    return source.negate || source.absolute;
}
// Round to nearest, no flush, no clamp.
bool is_plain_float(const sass::Instruction& in) {
    return in.mod<Mod::Round>() == 0 && in.mod<Mod::Ftz>() == 0 && in.mod<Mod::Sat>() == 0;
}
bool writes_predicates(const sass::Instruction& in) {
    return sass::at::Pu::get(in.word) != sass::kPt || sass::at::Pv::get(in.word) != sass::kPt;
}

// The handler for the place of the source that is no register. nullptr: several are none, or the uniform datapath
// takes part, or a source has a modifier.
Handler by_b(const sass::Instruction& in, Handler registers, Handler slot_b) {
    if (has_modifier(in.b)) return nullptr;
    return is_register(in.b) ? registers : is_in_slot(in.b) ? slot_b : nullptr;
}
Handler by_ab(const sass::Instruction& in, Handler registers, Handler slot_b) {
    if (!is_register(in.a) || has_modifier(in.a)) return nullptr;
    return by_b(in, registers, slot_b);
}
Handler by_abc(const sass::Instruction& in, Handler registers, Handler slot_b, Handler slot_c) {
    if (has_modifier(in.c)) return nullptr;
    if (is_register(in.c)) return by_ab(in, registers, slot_b);
    return is_in_slot(in.c) ? by_ab(in, slot_c, nullptr) : nullptr;
}

// The tables that compilers write most: bit (a << 2 | b << 1 | c) of each is the result.
Handler usual_lop3(const sass::Instruction& in, const UsualHandlers& usual) {
    if (!is_register(in.c) || has_modifier(in.c) || sass::at::Pu::get(in.word) != sass::kPt) return nullptr;
    switch (in.word.bits(79, 72)) {
        case 0xc0:
            return by_ab(in, usual.usual_and, usual.usual_and_b);
        case 0xfc:
            return by_ab(in, usual.usual_or, usual.usual_or_b);
        case 0x3c:
            return by_ab(in, usual.usual_xor, usual.usual_xor_b);
        case 0x96:
            return by_ab(in, usual.usual_xor3, nullptr);
        case 0xe8:
            return by_ab(in, usual.usual_majority, nullptr);
        case 0xca:
            return by_ab(in, usual.usual_choose_by_a, nullptr);
        case 0xb8:
            return by_ab(in, usual.usual_choose_by_b, nullptr);
        default:
            return nullptr;
    }
}

Handler usual_shift(const sass::Instruction& in, const UsualHandlers& usual) {
    constexpr u32 s32_type = 2, u32_type = 3;
    const u32 type = in.mod<Mod::ShiftType>();
    if (!is_register(in.a) || in.b.kind != SourceKind::Immediate || !is_register(in.c) || type < s32_type)
        return nullptr;
    const bool right = in.mod<Mod::ShiftDir>() != 0, high = in.mod<Mod::High>() != 0;
    if (in.mod<Mod::Wrap>() != 0) {
        if (type != u32_type) return nullptr;
        return in.a.index == in.c.index && right != high ? usual.usual_rotate : usual.usual_shf_wrap;
    }
    if (in.immediate >= 32) return nullptr;
    if (!right && !high) return usual.usual_shift_left;
    if (!right || !high) return nullptr;
    if (type == u32_type) return usual.usual_shift_right;
    return in.a.index == sass::kRz ? usual.usual_shift_right_signed : nullptr;
}

Handler usual_with_destination(const sass::Instruction& in, const UsualHandlers& usual) {
    switch (in.op) {
        case Op::LDG:
            if (!is_plain_load(in) || in.mod<Mod::Extended>() == 0) return nullptr;
            return by_size(in.mod<Mod::Size>(), usual.usual_ldg32, usual.usual_ldg64, usual.usual_ldg128);
        case Op::LDS:
            if (in.mod<Mod::ZeroDefer>() != 0 || has_uniform_address(in)) return nullptr;
            return by_size(in.mod<Mod::SizeNarrow>(), usual.usual_lds32, usual.usual_lds64, usual.usual_lds128);
        case Op::FFMA:
            if (!is_plain_float(in) || in.mod<Mod::Fmz>() != 0) return nullptr;
            return by_abc(in, usual.usual_ffma, usual.usual_ffma_b, usual.usual_ffma_c);
        case Op::FADD:
            return is_plain_float(in) ? by_ab(in, usual.usual_fadd, usual.usual_fadd_b) : nullptr;
        case Op::FMUL: {
            constexpr u32 unscaled = 4;
            if (!is_plain_float(in) || in.mod<Mod::Fmz>() != 0 || in.mod<Mod::Scale>() != unscaled) return nullptr;
            return by_ab(in, usual.usual_fmul, usual.usual_fmul_b);
        }
        case Op::IMAD:
            return in.mod<Mod::X>() != 0 ? nullptr
                                         : by_abc(in, usual.usual_imad, usual.usual_imad_b, usual.usual_imad_c);
        case Op::IMAD_WIDE:
            if (in.mod<Mod::X>() != 0 || sass::at::Pu::get(in.word) != sass::kPt) return nullptr;
            // An immediate third source has no second word.
            if (in.c.kind == SourceKind::Immediate) return nullptr;
            return by_abc(in, usual.usual_imad_wide, usual.usual_imad_wide_b, usual.usual_imad_wide_c);
        case Op::IADD3:
            if (in.mod<Mod::X>() != 0 || writes_predicates(in)) return nullptr;
            return by_abc(in, usual.usual_iadd3, usual.usual_iadd3_b, usual.usual_iadd3_c);
        case Op::LEA:
            if (in.mod<Mod::X>() != 0 || in.mod<Mod::High>() != 0 || sass::at::Pu::get(in.word) != sass::kPt)
                return nullptr;
            return by_ab(in, usual.usual_lea, usual.usual_lea_b);
        case Op::LOP3:
            return usual_lop3(in, usual);
        case Op::MOV: {
            constexpr u32 all_of_quad = 0xf;
            return in.word.bits(75, 72) == all_of_quad ? by_b(in, usual.usual_mov, usual.usual_mov_b) : nullptr;
        }
        case Op::SHF:
            return usual_shift(in, usual);
        case Op::S2R: {
            const u32 id = special_register_id(in);
            return id == TidX || (id >= CtaIdX && id <= CtaIdZ) ? usual.usual_s2r : nullptr;
        }
        default:
            return nullptr;
    }
}

}  // namespace

Handler usual_form(const sass::Instruction& in, LaneTarget target) {
    const UsualHandlers& usual = usual_of(target);
    switch (in.op) {
        case Op::STG:
            if (!stores_register(in) || in.mod<Mod::Extended>() == 0) return nullptr;
            return by_size(in.mod<Mod::Size>(), usual.usual_stg32, usual.usual_stg64, usual.usual_stg128);
        case Op::STS:
            if (!stores_register(in)) return nullptr;
            return by_size(in.mod<Mod::SizeNarrow>(), usual.usual_sts32, usual.usual_sts64, usual.usual_sts128);
        case Op::ISETP:
            return in.mod<Mod::Ex>() != 0 ? nullptr : by_ab(in, usual.usual_isetp, usual.usual_isetp_b);
        default:
            return in.rd == sass::kRz ? nullptr : usual_with_destination(in, usual);
    }
}

Slot::Modifiers usual_modifiers(const sass::Instruction& in) {
    Slot::Modifiers modifiers;
    switch (in.op) {
        case Op::ISETP:
            modifiers.compare = static_cast<u8>(in.mod<Mod::CmpInt>());
            modifiers.bool_op = static_cast<u8>(in.mod<Mod::BoolOp>());
            [[fallthrough]];
        case Op::IMAD_WIDE:
            modifiers.is_signed = in.mod<Mod::Unsigned>() != 0;  // the modifier's name is that of its value 0
            break;
        case Op::SHF: {
            const u32 left = in.mod<Mod::ShiftDir>() != 0 ? 0 - in.immediate : in.immediate;
            modifiers.left = left & 31;
            break;
        }
        default:
            break;
    }
    return modifiers;
}

}  // namespace gpu::sm
