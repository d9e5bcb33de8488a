// Which words are of a usual form: the conditions that the handlers of memory_lanes.inc and usual_lanes.inc rely on.
#include "gpu_model/sm/exec/usual_forms.h"

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

// A load without predicate operands into a register.
bool is_plain_load(const sass::Instruction& in) {
    return in.word.bits(67, 64) == 0 && in.mod<Mod::ZeroDefer>() == 0 && sass::at::Pu::get(in.word) == sass::kPt &&
           in.rd != sass::kRz;
}
bool has_uniform_address(const sass::Instruction& in) {
    return in.word.bit(sass::at::Uniform::kLo);
}
bool stores_register(const sass::Instruction& in) {
    return sass::at::Rb::get(in.word) != sass::kRz;
}

bool is_direct(const sass::Source& source) {
    return source.kind == SourceKind::Register || source.kind == SourceKind::Immediate ||
           source.kind == SourceKind::Constant;
}
bool is_plain(const sass::Source& source) {
    return is_direct(source) && !source.negate && !source.absolute;
}
// Round to nearest, no flush, no clamp.
bool is_plain_float(const sass::Instruction& in) {
    return in.mod<Mod::Round>() == 0 && in.mod<Mod::Ftz>() == 0 && in.mod<Mod::Sat>() == 0;
}

}  // namespace

Handler usual_form(const sass::Instruction& in, LaneTarget target) {
    const UsualHandlers& usual = usual_of(target);
    switch (in.op) {
        case Op::LDG:
            if (!is_plain_load(in) || in.mod<Mod::Extended>() == 0) return nullptr;
            return by_size(in.mod<Mod::Size>(), usual.usual_ldg32, usual.usual_ldg64, usual.usual_ldg128);
        case Op::LDS:
            if (in.mod<Mod::ZeroDefer>() != 0 || in.rd == sass::kRz || has_uniform_address(in)) return nullptr;
            return by_size(in.mod<Mod::SizeNarrow>(), usual.usual_lds32, usual.usual_lds64, usual.usual_lds128);
        case Op::STG:
            if (!stores_register(in) || in.mod<Mod::Extended>() == 0) return nullptr;
            return by_size(in.mod<Mod::Size>(), usual.usual_stg32, usual.usual_stg64, usual.usual_stg128);
        case Op::STS:
            if (!stores_register(in)) return nullptr;
            return by_size(in.mod<Mod::SizeNarrow>(), usual.usual_sts32, usual.usual_sts64, usual.usual_sts128);
        case Op::FFMA:
            if (!is_plain_float(in) || in.mod<Mod::Fmz>() != 0) return nullptr;
            return is_plain(in.a) && is_plain(in.b) && is_plain(in.c) ? usual.usual_ffma : nullptr;
        case Op::FADD:
            return is_plain_float(in) && is_plain(in.a) && is_plain(in.b) ? usual.usual_fadd : nullptr;
        case Op::FMUL: {
            constexpr u32 unscaled = 4;
            if (!is_plain_float(in) || in.mod<Mod::Fmz>() != 0 || in.mod<Mod::Scale>() != unscaled) return nullptr;
            return is_plain(in.a) && is_plain(in.b) ? usual.usual_fmul : nullptr;
        }
        case Op::IMAD:
            if (in.mod<Mod::X>() != 0 || !is_plain(in.a) || !is_plain(in.b) || !is_plain(in.c)) return nullptr;
            return usual.usual_imad;
        case Op::IADD3:
            if (in.mod<Mod::X>() != 0 || sass::at::Pu::get(in.word) != sass::kPt ||
                sass::at::Pv::get(in.word) != sass::kPt)
                return nullptr;
            return is_plain(in.a) && is_plain(in.b) && is_plain(in.c) ? usual.usual_iadd3 : nullptr;
        case Op::MOV: {
            constexpr u32 all_of_quad = 0xf;
            return is_direct(in.b) && in.word.bits(75, 72) == all_of_quad ? usual.usual_mov : nullptr;
        }
        case Op::SHF: {
            // Both words are one: a rotation.
            constexpr u32 u32_type = 3;
            const bool rotates = in.mod<Mod::Wrap>() != 0 && in.mod<Mod::ShiftType>() == u32_type &&
                                 in.a.kind == SourceKind::Register && in.b.kind == SourceKind::Immediate &&
                                 in.c.kind == SourceKind::Register;
            return rotates ? usual.usual_shf_wrap : nullptr;
        }
        default:
            return nullptr;
    }
}

}  // namespace gpu::sm
