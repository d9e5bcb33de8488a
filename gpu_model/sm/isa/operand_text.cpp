// Operand spelling. Every kind of operand_kinds.def has one case here; conditions under which an optional operand
// prints were read off the disassembler's text for words that differ in one field.
#include "gpu_model/sm/isa/operand_text.h"

#include <fmt/format.h>

#include "gpu_model/sm/isa/memory_text.h"
#include "gpu_model/sm/isa/text_parts.h"

namespace gpu::sass {
namespace {

constexpr u32 kAllQuads = 0xf;
constexpr u32 kAllComponents = 0xf;
constexpr u32 kAllPredicates = 0xff;
constexpr u32 kSourceByte = 0;  // Mod::SrcInt and SrcFloat: size code of an 8-bit source

using SourceSize = WordField<85, 84>;
using MmaColA = WordField<73, 73>;
using MmaColB = WordField<74, 74>;

Predicate destination(const Instruction& in, u64 index, bool uniform) {
    return {static_cast<u8>(index), false, uniform || in.row().uniform()};
}

Predicate predicate_at(const Instruction& in, unsigned hi, unsigned lo, unsigned not_bit) {
    return {static_cast<u8>(in.word.bits(hi, lo)), in.word.bit(not_bit), in.row().uniform()};
}

std::string unless_true(Predicate predicate) {
    return predicate.is_true() ? "" : predicate_text(predicate);
}

// MUFU's seeds for double precision take the high word of a double.
bool takes_high_word(const Instruction& in) {
    constexpr u32 rcp64h = 6, rsq64h = 7;
    const u32 function = in.mod<Mod::Function>();
    return in.op == Op::MUFU && (function == rcp64h || function == rsq64h);
}

std::string immediate_text(const Instruction& in) {
    switch (in.row().immediate) {
        case Immediate::S:
            return signed_hex(static_cast<i32>(in.immediate));
        case Immediate::U:
            return hex(in.immediate);
        case Immediate::F32:
            return takes_high_word(in) ? f64_text(in.immediate) : f32_text(in.immediate);
        case Immediate::F64:
            return f64_text(in.immediate);
        case Immediate::H2:
            return f16_text(in.immediate >> 16) + ", " + f16_text(in.immediate);
    }
    return {};
}

std::string select_text(const Instruction& in, const Source& source, bool packed) {
    if (packed) {
        constexpr const char* texts[] = {"", ".F32", ".H0_H0", ".H1_H1"};
        return texts[source.select & 3];
    }
    if (source.select == 0) return "";
    return fmt::format("{}{}", SourceSize::get(in.word) == kSourceByte ? ".B" : ".H", source.select);
}

// negation: what a set negate flag prints.
std::string source_text(const Instruction& in, const Source& source, const char* negation = "-", bool packed = false) {
    if (source.kind == SourceKind::None) return {};
    if (source.kind == SourceKind::Immediate) return immediate_text(in);
    std::string text;
    if (source.kind == SourceKind::Register || source.kind == SourceKind::Uniform) {
        text = register_text(source.index, source.kind == SourceKind::Uniform);
    } else {
        text = constant_text(in, source.kind == SourceKind::Bindless);
    }
    // The half of a register is named after the bars, that of any other source between them.
    const std::string select = select_text(in, source, packed);
    const bool is_register = source.kind == SourceKind::Register;
    if (!is_register) text += select;
    if (source.absolute) text = "|" + text + "|";
    if (source.negate) text = negation + text;
    const bool reusable = is_register && source.index != kRz;
    if (reusable && (in.control().reuse >> source.reuse_bit & 1) != 0) text += ".reuse";
    return is_register ? text + select : text;
}

bool has_modifier(const Instruction& in, Mod wanted) {
    for (Mod mod : in.row().modifiers) {
        if (mod == wanted) return true;
    }
    return false;
}

// Negation of an integer source is bitwise under .X.
const char* integer_negation(const Instruction& in) {
    return has_modifier(in, Mod::X) && in.mod<Mod::X>() != 0 ? "~" : "-";
}

enum class BarKind : u32 { Sync, Arrive, Reduce, Scan, SyncAll };
BarKind bar_kind(const Instruction& in) {
    return static_cast<BarKind>(in.mod<Mod::BarOpAll>() >> 2);
}
bool bar_reduces(const Instruction& in) {
    return bar_kind(in) == BarKind::Reduce || bar_kind(in) == BarKind::Scan;
}

std::string scoreboards_text(const Instruction& in) {
    constexpr u64 scoreboard_count = 6;
    const u64 scoreboard = in.word.bits(46, 44);
    const u64 mask = in.word.bits(37, 32);
    std::string list;
    for (u64 i = scoreboard_count; i-- > 0;) {
        if ((mask >> i & 1) != 0) list += (list.empty() ? "{" : ",") + std::to_string(i);
    }
    if (!list.empty()) list += "}";
    if (in.mod<Mod::LessEqual>() == 0) return list;
    const char* prefix = scoreboard < scoreboard_count ? "SB" : "INVALID";
    std::string text = fmt::format("{}{}, {}", prefix, scoreboard, hex(in.word.bits(43, 38)));
    return list.empty() ? text : text + ", " + list;
}

// Two letters a lane, first lane in the high bits: signs of the two addends.
std::string swizzle_text(u64 pattern) {
    constexpr const char* lanes[] = {"PP", "PN", "NP", "ZP"};
    std::string text;
    for (int lane = 3; lane >= 0; --lane) text += lanes[pattern >> (2 * lane) & 3];
    return text;
}

std::string texture_dimension(u64 value) {
    constexpr const char* texts[] = {"1D", "2D", "3D", "CUBE", "ARRAY_1D", "ARRAY_2D", "INVALID6", "ARRAY_CUBE"};
    return texts[value & 7];
}

std::string texture_query(u64 value) {
    constexpr const char* texts[] = {"TEX_HEADER_DIMENSION", "TEX_HEADER_TEXTURE_TYPE", "TEX_HEADER_SAMPLER_POS",
                                     "INVALID3"};
    return texts[value & 3];
}

std::string target_text(const Instruction& in, const TextOptions& options) {
    const BranchTarget target = branch_target(in, options.address);
    if (options.label) {
        std::string label = options.label(target);
        if (!label.empty()) return "`(" + label + ")";
    }
    return signed_hex(static_cast<i64>(target.address));
}

std::string state_or_barrier(u64 value) {
    constexpr u64 state_flag = 0x10;
    constexpr u64 active_mask_state = 0x1a;
    if (value == active_mask_state) return "MACTIVE";
    return (value & state_flag) != 0 ? fmt::format("STATE{}", value & 0xf) : fmt::format("B{}", value);
}

std::string register_operand(const Instruction& in, Operand operand) {
    const Word word = in.word;
    switch (operand) {
        case Operand::Rd:
            return register_text(in.rd, in.row().uniform());
        case Operand::OptRd:
            return in.rd == kRz ? "" : register_text(in.rd, false);
        case Operand::OptURd:
            return (in.rd & kUrz) == kUrz ? "" : register_text(static_cast<u8>(in.rd & kUrz), true);
        case Operand::Rd2:
            return register_text(static_cast<u8>(at::Rc::get(word)), false);
        case Operand::URd:
            return register_text(static_cast<u8>(in.rd & kUrz), true);
        case Operand::Ra:
            return register_text(in.ra, false);
        case Operand::Rs:
            return register_text(static_cast<u8>(at::Rb::get(word)), false);
        case Operand::RsHigh:
            return register_text(static_cast<u8>(at::Rc::get(word)), false);
        case Operand::Bn:
            return fmt::format("B{}", word.bits(19, 16));
        case Operand::BnHigh:
            return state_or_barrier(word.bits(28, 24));
        default:
            return {};
    }
}

std::string predicate_operand(const Instruction& in, Operand operand) {
    const Word word = in.word;
    const Predicate pu = destination(in, at::Pu::get(word), false);
    const Predicate pv = destination(in, at::Pv::get(word), false);
    const Predicate pp = predicate_at(in, 89, 87, 90);
    const Predicate pq = predicate_at(in, 79, 77, 80);
    Predicate pr = predicate_at(in, 70, 68, 71);
    switch (operand) {
        case Operand::Pu:
            return predicate_text(pu);
        case Operand::OptPu:
            return unless_true(pu);
        case Operand::ZdPu:
            return in.mod<Mod::ZeroDefer>() != 0 ? predicate_text(pu) : "";
        case Operand::OptZdPu:
            return in.mod<Mod::ZeroDefer>() != 0 ? predicate_text(pu) : unless_true(pu);
        case Operand::OrPu:
            return in.mod<Mod::UniformOr>() != 0 ? predicate_text(pu) : unless_true(pu);
        case Operand::Pv:
            return predicate_text(pv);
        case Operand::OptPv:
            return unless_true(pv);
        case Operand::UPu:
            return predicate_text(destination(in, at::Pu::get(word), true));
        case Operand::Pp:
            return predicate_text(pp);
        case Operand::OptPp:
            return unless_true(pp);
        case Operand::XPp:
            return in.mod<Mod::X>() != 0 ? predicate_text(pp) : "";
        case Operand::Pq:
            return predicate_text(pq);
        case Operand::XPq:
            return in.mod<Mod::X>() != 0 ? predicate_text(pq) : "";
        case Operand::Pr:
            pr.uniform = pr.uniform || word.bit(67);
            return predicate_text(pr);
        case Operand::OptPr:
            return unless_true(pr);
        case Operand::ExPr:
            return in.mod<Mod::Ex>() != 0 ? predicate_text(pr) : "";
        case Operand::LoadPp:
            return unless_true({static_cast<u8>(kPt - word.bits(66, 64)), word.bit(67), false});
        case Operand::BarPp:
            return bar_reduces(in) ? predicate_text(pp) : "";
        case Operand::PR:
            return in.row().uniform() ? "UPR" : "PR";
        default:
            return {};
    }
}

std::string source_operand(const Instruction& in, Operand operand, const TextOptions& options) {
    if (operand == Operand::B && in.b.kind == SourceKind::Immediate && !options.immediate.empty())
        return options.immediate;
    switch (operand) {
        case Operand::bA: {
            const u64 byte = in.word.bits(77, 76);
            return source_text(in, in.a) + (byte == 0 ? "" : fmt::format(".B{}", byte));
        }
        case Operand::MmaA:
            return source_text(in, in.a) + (MmaColA::get(in.word) != 0 ? ".COL" : ".ROW");
        case Operand::MmaB:
            return source_text(in, in.b) + (MmaColB::get(in.word) != 0 ? ".COL" : ".ROW");
        case Operand::A:
        case Operand::fA:
            return source_text(in, in.a);
        case Operand::nA:
            return source_text(in, in.a, integer_negation(in));
        case Operand::hA:
            return source_text(in, in.a, "-", true);
        case Operand::B:
        case Operand::fB:
        case Operand::bB:
        case Operand::sB:
        case Operand::fE:
            return source_text(in, in.b);
        case Operand::nB:
            return source_text(in, in.b, integer_negation(in));
        case Operand::iB:
            return source_text(in, in.b, "~");
        case Operand::hB:
        case Operand::hE:
            return source_text(in, in.b, "-", true);
        case Operand::C:
        case Operand::fC:
            return source_text(in, in.c);
        case Operand::nC:
            return source_text(in, in.c, integer_negation(in));
        case Operand::hC:
            return source_text(in, in.c, "-", true);
        case Operand::HighC:
            return in.mod<Mod::High>() != 0 && in.mod<Mod::Sx32>() == 0 ? source_text(in, in.c) : "";
        default:
            return {};
    }
}

std::string small_operand(const Instruction& in, Operand operand) {
    const Word word = in.word;
    switch (operand) {
        case Operand::Lut:
            return hex(word.bits(79, 72));
        case Operand::LutU:
            return hex(word.bits(76, 72) << 3 | word.bits(66, 64));
        case Operand::LutV:
            return hex(word.bits(23, 16));
        case Operand::Shift:
            return hex(word.bits(79, 75));
        case Operand::QuadMask:
            return word.bits(75, 72) == kAllQuads ? "" : hex(word.bits(75, 72));
        case Operand::OptPredMask:
            return word.bits(39, 32) == kAllPredicates ? "" : hex(word.bits(39, 32));
        case Operand::PredMask:
            return hex(word.bits(39, 32));
        case Operand::Swizzle:
            return swizzle_text(word.bits(39, 32));
        case Operand::SReg:
            return special_register_name(static_cast<u32>(word.bits(79, 72)));
        case Operand::PmTrigger:
            return hex(word.bits(47, 32));
        case Operand::TrapCode:
            return hex(word.bits(53, 34));
        case Operand::LaneR:
            return register_text(static_cast<u8>(at::Rb::get(word)), false);
        case Operand::LaneI:
            return hex(word.bits(57, 53));
        case Operand::SegmentR:
            return register_text(static_cast<u8>(at::Rc::get(word)), false);
        case Operand::SegmentI:
            return hex(word.bits(52, 40));
        case Operand::Scoreboards:
            return scoreboards_text(in);
        default:
            return {};
    }
}

std::string barrier_operand(const Instruction& in, Operand operand) {
    if (bar_kind(in) == BarKind::SyncAll) return {};
    const u64 count = in.word.bits(53, 42);
    // A count of zero means all threads; the operations that need a count print it all the same.
    const bool needs_count = bar_kind(in) == BarKind::Arrive || bar_kind(in) == BarKind::Scan;
    switch (operand) {
        case Operand::BarI:
            return hex(in.word.bits(57, 54));
        case Operand::BarR:
        case Operand::BarCountR:
            return register_text(static_cast<u8>(at::Rb::get(in.word)), false);
        case Operand::BarCountI:
            return count != 0 || needs_count ? hex(count) : "";
        default:
            return {};
    }
}

std::string flow_operand(const Instruction& in, Operand operand, const TextOptions& options) {
    const bool uniform = operand == Operand::URaDisp;
    const std::string base = register_text(uniform ? static_cast<u8>(in.ra & kUrz) : in.ra, uniform);
    switch (operand) {
        case Operand::Target:
        case Operand::TargetSync:
        case Operand::TargetAbs:
            return target_text(in, options);
        case Operand::RaTarget:
        case Operand::RaTargetRet:
            return base + " " + target_text(in, options);
        case Operand::RaDisp:
        case Operand::URaDisp:
            return base + " " + signed_hex(branch_displacement(in.word));
        case Operand::RaAbs: {
            const i64 address = branch_displacement(in.word);
            return address == 0 ? base : base + " " + signed_hex(address);
        }
        default:
            return {};
    }
}

std::string texture_operand(const Instruction& in, Operand operand) {
    const Word word = in.word;
    const u8 rb = static_cast<u8>(at::Rb::get(word));
    switch (operand) {
        case Operand::TexRb:
            return rb == kRz ? "" : register_text(rb, false);
        case Operand::TexConst:
            return hex(at::Bank::get(word)) + ", " + hex(at::BankWords::get(word));
        case Operand::TexUniform:
            return register_text(static_cast<u8>(word.bits(45, 40)), true) + ", " + hex(at::Bank::get(word));
        case Operand::TexDim:
            return texture_dimension(word.bits(63, 61));
        case Operand::TexMask:
            return word.bits(75, 72) == kAllComponents ? "" : hex(word.bits(75, 72));
        case Operand::TexQuery:
            return texture_query(word.bits(63, 62));
        default:
            return {};
    }
}

// Shift, add and move are what the compiler uses multiply-add for when its other pipe is busy; the disassembler names
// them so.
std::string imad_alias(const Instruction& in) {
    if (in.mod<Mod::X>() != 0) return {};
    const bool immediate_b = in.b.kind == SourceKind::Immediate;
    const auto is_rz = [](const Source& source) { return source.kind == SourceKind::Register && source.index == kRz; };
    const bool plain_c =
        in.c.kind == SourceKind::Register || in.c.kind == SourceKind::Immediate || in.c.kind == SourceKind::Constant;
    const bool zero_product = is_rz(in.a) || is_rz(in.b) || (immediate_b && in.immediate == 0);
    if (zero_product && plain_c) return ".MOV";
    if (!immediate_b) return {};
    const u32 factor = in.immediate;
    if (factor == 1) return is_rz(in.c) ? ".MOV" : ".IADD";
    // The disassembler does not call a shift by 16 a shift.
    constexpr u32 unnamed_shift = 0x10000;
    const bool power_of_two = factor != 0 && (factor & (factor - 1)) == 0;
    return power_of_two && factor != unnamed_shift && is_rz(in.c) ? ".SHL" : "";
}

}  // namespace

std::string operand_text(const Instruction& in, Operand operand, const TextOptions& options) {
    std::string text = register_operand(in, operand);
    if (text.empty()) text = source_operand(in, operand, options);
    if (text.empty()) text = predicate_operand(in, operand);
    if (text.empty()) text = small_operand(in, operand);
    if (text.empty()) text = memory_operand(in, operand);
    if (text.empty()) text = barrier_operand(in, operand);
    if (text.empty()) text = flow_operand(in, operand, options);
    if (text.empty()) text = texture_operand(in, operand);
    return text;
}

std::string modifier_text(const Instruction& in, Mod mod) {
    const ModifierRow& row = row_of(mod);
    switch (row.kind) {
        case ModifierRow::Kind::Computed:
            return imad_alias(in);
        case ModifierRow::Kind::Fixed:
            return row.texts[0];
        case ModifierRow::Kind::Field:
            break;
    }
    const u32 value = row.value(in.word);
    if (value >= ModifierRow::kTextsMax || row.texts[value] == nullptr) return fmt::format(".INVALID{}", value);
    return row.texts[value];
}

}  // namespace gpu::sass
