// Expands mme_isa.def: decode, encode, disassemble.
#include "gpu_model/engine/mme/mme_isa.h"

#include <fmt/format.h>

namespace gpu::mme {

namespace {

struct FieldRow {
    u32 low;
    u32 high;
};
enum FieldIndex : u32 {
#define MME_FIELD(name, low, high) name##_field,
#include "gpu_model/engine/mme/mme_isa.def"
    kFieldCount
};
constexpr FieldRow kFields[] = {
#define MME_FIELD(name, low, high) {low, high},
#include "gpu_model/engine/mme/mme_isa.def"
};

constexpr bool fields_cover_the_instruction() {
    u32 next = 0;
    for (const FieldRow& row : kFields) {
        if (row.low != next || row.high < row.low || row.high - row.low >= 32) return false;
        next = row.high + 1;
    }
    return next == 32 * kWordsPerInstruction;
}
static_assert(fields_cover_the_instruction());

constexpr std::string_view kOpNames[] = {
#define MME_OP(name, code, immediate) #name,
#include "gpu_model/engine/mme/mme_isa.def"
};
constexpr Immediate kOpImmediates[] = {
#define MME_OP(name, code, immediate) Immediate::immediate,
#include "gpu_model/engine/mme/mme_isa.def"
};
constexpr std::string_view kPredicateNames[] = {
#define MME_PREDICATE(name, code) #name,
#include "gpu_model/engine/mme/mme_isa.def"
};
constexpr std::string_view kOutNames[] = {
#define MME_OUT(name, code) #name,
#include "gpu_model/engine/mme/mme_isa.def"
};

// Word `index` of the 96 bits, the least significant first.
u32 low_first(const Words& words, u32 index) { return words[kWordsPerInstruction - 1 - index]; }

u32 field(const Words& words, FieldIndex index) {
    const FieldRow& row = kFields[index];
    u32 word = row.low / 32;
    u64 pair = low_first(words, word);
    if (row.high / 32 != word) pair |= u64{low_first(words, word + 1)} << 32;
    return static_cast<u32>(sim::extract_bits(pair, row.high - 32 * word, row.low - 32 * word));
}

void set_field(Words& words, FieldIndex index, u32 value) {
    const FieldRow& row = kFields[index];
    for (u32 bit = row.low; bit <= row.high; ++bit) {
        u32& word = words[kWordsPerInstruction - 1 - bit / 32];
        u32 mask = u32{1} << bit % 32;
        word = (value >> (bit - row.low) & 1) != 0 ? word | mask : word & ~mask;
    }
}

u8 small(const Words& words, FieldIndex index) { return static_cast<u8>(field(words, index)); }

std::string source_text(u8 code, const Instruction& instruction, u32 alu) {
    if (code < kRegisters) return fmt::format("r{}", code);
    auto signed_text = [](u16 value) { return fmt::format("{}", static_cast<i16>(value)); };
    switch (code) {
        case source::Imm: return signed_text(instruction.alu[alu].immediate);
        case source::ImmPair: return signed_text(instruction.alu[1 - alu].immediate);
        case source::Imm32:
            return fmt::format("0x{:x}", u32{instruction.alu[0].immediate} << 16 | instruction.alu[1].immediate);
        case source::Zero: return "0";
        case source::Load0: return "load0";
        case source::Load1: return "load1";
        default: return fmt::format("source{}", code);
    }
}

std::string alu_text(const Instruction& instruction, u32 index, const MethodNamer& method_name) {
    const Alu& alu = instruction.alu[index];
    std::string text;
    if (alu.destination < kRegisters)
        text = fmt::format("r{} = ", alu.destination);
    else if (alu.destination != source::Zero)
        text = fmt::format("destination{} = ", alu.destination);
    text += fmt::format("{} {} {}", kOpNames[static_cast<u32>(alu.op)], source_text(alu.source[0], instruction, index),
                        source_text(alu.source[1], instruction, index));
    u32 immediate = alu.immediate;
    switch (immediate_of(alu.op)) {
        case Immediate::None: break;
        case Immediate::Merge:
            text += fmt::format(" dst {} bits {} src {}", MERGE_DST_POS::get(immediate), MERGE_BITS::get(immediate),
                                MERGE_SRC_POS::get(immediate));
            break;
        case Immediate::Loop: text += fmt::format(" to +{}", i32{alu.immediate} - 1); break;
        case Immediate::Jump:
            text += fmt::format(" +{}{}", JUMP_OFFSET::get(immediate), JUMP_PLAIN::get(immediate) != 0 ? "" : " linked");
            break;
        case Immediate::Branch: {
            i32 offset = branch_offset(alu.immediate);
            text += BRANCH_IF_TRUE::get(immediate) != 0 ? " if true" : " if false";
            text += offset == kBranchExit ? std::string(" exit") : fmt::format(" {:+}", offset);
            if (BRANCH_RESERVED::get(immediate) != 0) text += fmt::format(" reserved {}", BRANCH_RESERVED::get(immediate));
            break;
        }
    }
    bool constant = alu.op == Op::STATE && alu.source[0] == source::Imm;
    if (constant) {
        std::string name = method_name(METHOD_ADDRESS::get(immediate) * 4);
        if (!name.empty()) text += fmt::format(" ({})", name);
    }
    return text;
}

std::string out_text(Out out, const Instruction& instruction) {
    u32 index = static_cast<u32>(out);
    u32 high = instruction.alu[0].immediate, low = instruction.alu[1].immediate;
    switch (out) {
        case Out::IMM0: return fmt::format("0x{:x}", high);
        case Out::IMM1: return fmt::format("0x{:x}", low);
        case Out::IMMHIGH0: return fmt::format("0x{:x}", high >> 12);
        case Out::IMMHIGH1: return fmt::format("0x{:x}", low >> 12);
        case Out::IMM32: return fmt::format("0x{:x}", high << 16 | low);
        case Out::NONE:
        case Out::ALU0:
        case Out::ALU1:
        case Out::LOAD0:
        case Out::LOAD1:
        case Out::RESERVED: break;
    }
    return index < std::size(kOutNames) ? fmt::format("{}", kOutNames[index]) : fmt::format("out{}", index);
}

bool does_nothing(const Alu& alu) {
    return alu.op == Op::ADD && alu.destination == source::Zero;
}

}  // namespace

Instruction decode(const Words& words) {
    Instruction out;
    out.end_next = field(words, end_next_field) != 0;
    out.predicate_mode = small(words, predicate_mode_field);
    out.predicate = small(words, predicate_field);
    out.alu[0] = {static_cast<Op>(small(words, op0_field)), small(words, destination0_field),
                  {small(words, source00_field), small(words, source01_field)},
                  static_cast<u16>(field(words, immediate0_field))};
    out.alu[1] = {static_cast<Op>(small(words, op1_field)), small(words, destination1_field),
                  {small(words, source10_field), small(words, source11_field)},
                  static_cast<u16>(field(words, immediate1_field))};
    out.out[0] = {static_cast<Out>(small(words, method0_field)), static_cast<Out>(small(words, emit0_field))};
    out.out[1] = {static_cast<Out>(small(words, method1_field)), static_cast<Out>(small(words, emit1_field))};
    return out;
}

Words encode(const Instruction& in) {
    Words words{};
    set_field(words, end_next_field, in.end_next ? 1 : 0);
    set_field(words, predicate_mode_field, in.predicate_mode);
    set_field(words, predicate_field, in.predicate);
    constexpr FieldIndex kAlu[2][5] = {
        {op0_field, destination0_field, source00_field, source01_field, immediate0_field},
        {op1_field, destination1_field, source10_field, source11_field, immediate1_field}};
    constexpr FieldIndex kOut[2][2] = {{method0_field, emit0_field}, {method1_field, emit1_field}};
    for (u32 i = 0; i < 2; ++i) {
        set_field(words, kAlu[i][0], static_cast<u32>(in.alu[i].op));
        set_field(words, kAlu[i][1], in.alu[i].destination);
        set_field(words, kAlu[i][2], in.alu[i].source[0]);
        set_field(words, kAlu[i][3], in.alu[i].source[1]);
        set_field(words, kAlu[i][4], in.alu[i].immediate);
        set_field(words, kOut[i][0], static_cast<u32>(in.out[i].method));
        set_field(words, kOut[i][1], static_cast<u32>(in.out[i].emit));
    }
    return words;
}

i32 branch_offset(u16 immediate) {
    i32 offset = static_cast<i32>(BRANCH_OFFSET::get(u32{immediate}));
    constexpr i32 kSpan = i32{1} << BRANCH_OFFSET::kBits;
    return offset >= kSpan / 2 ? offset - kSpan : offset;
}

Immediate immediate_of(Op op) { return kOpImmediates[static_cast<u32>(op)]; }

std::string_view predicate_text(u8 mode) { return kPredicateNames[mode % std::size(kPredicateNames)]; }

std::string disassemble(const Instruction& instruction, const MethodNamer& method_name) {
    std::string text;
    auto part = [&text](std::string_view more) {
        if (!text.empty()) text += "; ";
        text += more;
    };
    for (u32 i = 0; i < 2; ++i) {
        bool used = false;
        for (const Output& out : instruction.out) {
            Out result = i == 0 ? Out::ALU0 : Out::ALU1;
            used = used || out.method == result || out.emit == result;
        }
        if (!does_nothing(instruction.alu[i]) || used) part(alu_text(instruction, i, method_name));
    }
    for (const Output& out : instruction.out) {
        if (out.method != Out::NONE) {
            std::string named = out_text(out.method, instruction);
            bool constant = out.method == Out::IMM0 || out.method == Out::IMM1;
            if (constant) {
                u32 word = instruction.alu[out.method == Out::IMM0 ? 0 : 1].immediate;
                std::string name = method_name(METHOD_ADDRESS::get(word) * 4);
                if (name.empty()) name = fmt::format("0x{:04x}", METHOD_ADDRESS::get(word) * 4);
                named = fmt::format("{} +{}", name, METHOD_INCREMENT::get(word));
            }
            part("method " + named);
        }
        if (out.emit != Out::NONE) part("emit " + out_text(out.emit, instruction));
    }
    if (text.empty()) text = "nop";
    if (instruction.predicate_mode != 0) {
        text = fmt::format("[{} {}] {}", predicate_text(instruction.predicate_mode),
                           source_text(instruction.predicate, instruction, 0), text);
    }
    if (instruction.end_next) text += "; end after next";
    return text;
}

}  // namespace gpu::mme
