// The decoder. Which source a form's slots hold follows the public form table: in forms 2, 3 and 7 the B slot holds the
// third source and the C slot the second.
#include "gpu_model/sm/isa/decode.h"

#include <fmt/format.h>

namespace gpu::sass {
namespace {

constexpr u32 kFormRri = 2, kFormRrc = 3, kFormRir = 4, kFormRcr = 5, kFormRur = 6, kFormRru = 7;

// Source modifiers belong to the slot, not to the operand.
using NegA = WordField<72, 72>;
using AbsA = WordField<73, 73>;
using SelectA = WordField<75, 74>;
using NegB = WordField<63, 63>;
using AbsB = WordField<62, 62>;
using SelectB = WordField<61, 60>;
using NegC = WordField<75, 75>;
using AbsC = WordField<74, 74>;
using HalfNegC = WordField<84, 84>;
using HalfAbsC = WordField<83, 83>;
using HalfSelectC = WordField<82, 81>;

using BarKind = WordField<79, 77>;
constexpr u32 kBarArrive = 1, kBarScan = 3;

// What may be written before or after a source operand.
enum class Style : u8 { Plain, Negatable, Float, Half, Invertible, Select, SelectFloat };

struct SourceToken {
    enum class Place : u8 { No, A, B, C, E };
    Place place = Place::No;
    Style style = Style::Plain;
};

constexpr SourceToken token_of(Operand operand) {
    using Place = SourceToken::Place;
    switch (operand) {
        case Operand::A:
        case Operand::bA:
        case Operand::MmaA:
            return {Place::A, Style::Plain};
        case Operand::nA:
            return {Place::A, Style::Negatable};
        case Operand::fA:
            return {Place::A, Style::Float};
        case Operand::hA:
            return {Place::A, Style::Half};
        case Operand::B:
        case Operand::MmaB:
            return {Place::B, Style::Plain};
        case Operand::nB:
            return {Place::B, Style::Negatable};
        case Operand::iB:
            return {Place::B, Style::Invertible};
        case Operand::fB:
            return {Place::B, Style::Float};
        case Operand::hB:
            return {Place::B, Style::Half};
        case Operand::bB:
            return {Place::B, Style::Select};
        case Operand::sB:
            return {Place::B, Style::SelectFloat};
        case Operand::C:
        case Operand::HighC:
            return {Place::C, Style::Plain};
        case Operand::nC:
            return {Place::C, Style::Negatable};
        case Operand::fC:
            return {Place::C, Style::Float};
        case Operand::hC:
            return {Place::C, Style::Half};
        case Operand::fE:
            return {Place::E, Style::Float};
        case Operand::hE:
            return {Place::E, Style::Half};
        default:
            return {};
    }
}

bool has_sign(Style style) {
    return style != Style::Plain && style != Style::Select;
}
bool has_absolute(Style style) {
    return style == Style::Float || style == Style::Half || style == Style::SelectFloat;
}
bool has_select(Style style) {
    return style == Style::Half || style == Style::Select || style == Style::SelectFloat;
}

Source source_a(Word word, bool uniform, Style style) {
    Source source{.kind = uniform ? SourceKind::Uniform : SourceKind::Register};
    source.index = static_cast<u8>(at::Ra::get(word) & (uniform ? kUrz : kRz));
    source.negate = has_sign(style) && NegA::get(word) != 0;
    source.absolute = has_absolute(style) && AbsA::get(word) != 0;
    if (has_select(style)) source.select = static_cast<u8>(SelectA::get(word));
    return source;
}

// The source in bits 63:32. Its kind follows the form alone.
Source source_b_slot(Word word, u32 form, bool uniform, Style style) {
    Source source;
    if (form == kFormRir || form == kFormRri) {
        source.kind = SourceKind::Immediate;
        return source;
    }
    if (form == kFormRcr || form == kFormRrc) {
        source.kind = at::Uniform::get(word) != 0 ? SourceKind::Bindless : SourceKind::Constant;
    } else if (uniform || form == kFormRur || form == kFormRru) {
        source.kind = SourceKind::Uniform;
        source.index = static_cast<u8>(at::Ub::get(word));
    } else {
        source.kind = SourceKind::Register;
        source.index = static_cast<u8>(at::Rb::get(word));
    }
    source.negate = has_sign(style) && NegB::get(word) != 0;
    source.absolute = has_absolute(style) && AbsB::get(word) != 0;
    if (has_select(style)) source.select = static_cast<u8>(SelectB::get(word));
    return source;
}

// The source in bits 71:64: always a register.
Source source_c_slot(Word word, bool uniform, Style style) {
    Source source{.kind = uniform ? SourceKind::Uniform : SourceKind::Register};
    source.index = static_cast<u8>(uniform ? at::Uc::get(word) : at::Rc::get(word));
    const bool half = style == Style::Half;
    source.negate = has_sign(style) && (half ? HalfNegC::get(word) : NegC::get(word)) != 0;
    source.absolute = has_absolute(style) && (half ? HalfAbsC::get(word) : AbsC::get(word)) != 0;
    if (half) source.select = static_cast<u8>(HalfSelectC::get(word));
    return source;
}

void decode_sources(Instruction& instruction, const OpcodeRow& row) {
    using Place = SourceToken::Place;
    const Word word = instruction.word;
    const u32 form = instruction.form;
    const bool swapped = form == kFormRri || form == kFormRrc || form == kFormRru;
    for (Operand operand : row.operands) {
        const SourceToken token = token_of(operand);
        switch (token.place) {
            case Place::No:
                break;
            case Place::A:
                instruction.a = source_a(word, row.uniform(), token.style);
                instruction.a.reuse_bit = 0;
                break;
            case Place::B:
                instruction.b = swapped ? source_c_slot(word, row.uniform(), token.style)
                                        : source_b_slot(word, form, row.uniform(), token.style);
                instruction.b.reuse_bit = 1;
                break;
            case Place::C:
                instruction.c = swapped ? source_b_slot(word, form, row.uniform(), token.style)
                                        : source_c_slot(word, row.uniform(), token.style);
                instruction.c.reuse_bit = 2;
                break;
            case Place::E:
                instruction.b = source_b_slot(word, form, row.uniform(), token.style);
                instruction.b.reuse_bit = 2;
                break;
        }
    }
}

bool bit91_is_right(const OpcodeRow& row, u32 form, bool bit91) {
    switch (row.datapath) {
        case Datapath::Vector:
            if (form == kFormRur || form == kFormRru) return bit91;
            return form == kFormRrc || form == kFormRcr || !bit91;
        case Datapath::Uniform:
        case Datapath::One:
            return bit91;
        case Datapath::UniformZero:
        case Datapath::Zero:
            return !bit91;
        case Datapath::UniformC:
        case Datapath::Any:
        case Datapath::Either:
            return true;
    }
    return false;
}

// Values that a single field's list cannot express.
Refusal check_combination(Op op, Word word) {
    const bool high = modifier<Mod::High>(word) != 0;
    const bool sx32 = modifier<Mod::Sx32>(word) != 0;
    constexpr ModifierRow sx32_row = detail::kModifiers[static_cast<std::size_t>(Mod::Sx32)];
    constexpr ModifierRow high_row = detail::kModifiers[static_cast<std::size_t>(Mod::High)];
    const Refusal wrong_sx32{Refusal::Reason::Combination, sx32_row.hi, sx32_row.lo, 1};
    // .SX32 replaces the high word, so it needs .HI; an immediate high word needs .HI and leaves nothing to replace.
    if ((op == Op::LEA || op == Op::ULEA) && sx32 && !high) return wrong_sx32;
    if (op == Op::LEA_HI && !high) return {Refusal::Reason::Combination, high_row.hi, high_row.lo, 0};
    if (op == Op::LEA_HI && sx32) return wrong_sx32;
    // Only the barrier operations that wait can defer blocking.
    const bool bar = op == Op::BAR_RR || op == Op::BAR_RI || op == Op::BAR_IR || op == Op::BAR_II;
    const u32 bar_kind = static_cast<u32>(BarKind::get(word));
    if (bar && modifier<Mod::BarDefer>(word) != 0 && (bar_kind == kBarArrive || bar_kind == kBarScan)) {
        return {Refusal::Reason::Combination, BarKind::kHi, BarKind::kLo, bar_kind};
    }
    return {};
}

Refusal check_modifiers(const OpcodeRow& row, Word word) {
    for (Mod mod : row.modifiers) {
        if (mod == Mod::None) break;
        const ModifierRow& modifier_row = row_of(mod);
        if (modifier_row.kind != ModifierRow::Kind::Field) continue;
        const u32 value = modifier_row.value(word);
        if (value < ModifierRow::kTextsMax && modifier_row.texts[value] == kRefused) {
            const u64 bits = word.bits(modifier_row.hi, modifier_row.lo);
            return {Refusal::Reason::Modifier, modifier_row.hi, modifier_row.lo, static_cast<u32>(bits)};
        }
    }
    return {};
}

}  // namespace

Word load_word(std::span<const u8> bytes, u64 offset) {
    Word word;
    if (offset > bytes.size() || bytes.size() - offset < kWordBytes) return word;
    for (unsigned i = 0; i < 8; ++i) {
        word.lo |= u64{bytes[offset + i]} << (8 * i);
        word.hi |= u64{bytes[offset + 8 + i]} << (8 * i);
    }
    return word;
}

Decoded decode(Word word) {
    Decoded decoded;
    const u32 opcode = static_cast<u32>(at::Opcode::get(word));
    const OpcodeRow* row = find_opcode(opcode);
    if (row == nullptr) {
        const auto reason = named_only(opcode).empty() ? Refusal::Reason::UnknownOpcode : Refusal::Reason::NamedOnly;
        decoded.refusal = {reason, at::Opcode::kHi, at::Opcode::kLo, opcode};
        return decoded;
    }
    Instruction& instruction = decoded.instruction;
    instruction.word = word;
    instruction.op = op_of(*row);
    instruction.form = static_cast<u8>(at::Form::get(word));
    if (!bit91_is_right(*row, instruction.form, word.bit(at::Uniform::kLo))) {
        decoded.refusal = {Refusal::Reason::UniformBit, at::Uniform::kHi, at::Uniform::kLo,
                           static_cast<u32>(at::Uniform::get(word))};
        return decoded;
    }
    decoded.refusal = check_modifiers(*row, word);
    if (decoded.ok()) decoded.refusal = check_combination(instruction.op, word);
    if (!decoded.ok()) return decoded;

    const u8 register_mask = row->uniform() ? kUrz : kRz;
    instruction.guard = static_cast<u8>(at::Guard::get(word));
    instruction.guard_not = at::GuardNot::get(word) != 0;
    instruction.rd = static_cast<u8>(at::Rd::get(word) & register_mask);
    instruction.ra = static_cast<u8>(at::Ra::get(word) & register_mask);
    instruction.immediate = static_cast<u32>(at::Imm32::get(word));
    instruction.bank = static_cast<u8>(at::Bank::get(word));
    instruction.bank_offset = static_cast<i32>(at::BankOffset::get_signed(word));
    instruction.handle = static_cast<u8>(at::Ub::get(word));
    decode_sources(instruction, *row);
    return decoded;
}

std::string describe(const Refusal& refusal) {
    const std::string bits = refusal.hi == refusal.lo
                                 ? fmt::format("bit {} = {}", refusal.hi, refusal.value)
                                 : fmt::format("bits {}:{} = {:#x}", refusal.hi, refusal.lo, refusal.value);
    switch (refusal.reason) {
        case Refusal::Reason::None:
            return "decodes";
        case Refusal::Reason::UnknownOpcode:
            return bits + ": no sm_75 instruction has this opcode";
        case Refusal::Reason::NamedOnly:
            return fmt::format("{}: {} is not modelled", bits, named_only(refusal.value));
        case Refusal::Reason::UniformBit:
            return bits + ": wrong for this opcode (uniform operand flag)";
        case Refusal::Reason::Modifier:
            return bits + ": no such modifier of this opcode";
        case Refusal::Reason::Combination:
            return bits + ": not allowed with the other modifiers of this word";
    }
    return bits;
}

}  // namespace gpu::sass
