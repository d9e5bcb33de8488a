// Puts an instruction's text together: guard, mnemonic, modifiers in table order, operands, semicolon.
#include "gpu_model/sm/isa/disasm.h"

#include <array>

#include "gpu_model/sm/isa/operand_text.h"
#include "gpu_model/sm/isa/text_parts.h"

namespace gpu::sass {
namespace {

constexpr u32 kSpecialRegisterCount = 256;

constexpr std::array<std::string_view, kSpecialRegisterCount> make_special_registers() {
    std::array<std::string_view, kSpecialRegisterCount> names{};
#define SPECIAL_REG(id, name) names[id] = name;
#include "gpu_model/sm/isa/special_registers.def"
#undef SPECIAL_REG
    return names;
}
constexpr std::array<std::string_view, kSpecialRegisterCount> kSpecialRegisters = make_special_registers();

// No space stands before the semicolon when the control information asks for nothing at all.
bool ends_tight(const Instruction& instruction) {
    const Control control = instruction.control();
    return control.stall == 0 && control.yield && control.write_barrier == 7 && control.read_barrier == 7 &&
           control.wait_mask == 0;
}

}  // namespace

std::string special_register_name(u32 id) {
    if (id < kSpecialRegisterCount && !kSpecialRegisters[id].empty()) return std::string(kSpecialRegisters[id]);
    return "SR" + std::to_string(id);
}

BranchTarget branch_target(const Instruction& instruction, u64 address) {
    const u64 next = address + kWordBytes;
    const u64 displacement = static_cast<u64>(branch_displacement(instruction.word));
    for (Operand operand : instruction.row().operands) {
        switch (operand) {
            case Operand::Target:
            case Operand::RaTarget:
                return {true, false, next + displacement};
            case Operand::RaTargetRet:
                if (instruction.mod<Mod::RetKind>() == 0) return {true, false, next + displacement};
                return {true, true, displacement};
            case Operand::TargetSync:
                return {true, false, next + static_cast<u64>(reconvergence_displacement(instruction.word))};
            case Operand::TargetAbs:
                return {true, true, displacement};
            default:
                break;
        }
    }
    return {};
}

std::string disassemble(const Instruction& instruction, const TextOptions& options) {
    const OpcodeRow& row = instruction.row();
    std::string text;
    const Predicate guard{instruction.guard, instruction.guard_not, row.uniform()};
    if (!guard.is_true()) text = "@" + predicate_text(guard) + " ";
    text += row.text;
    for (Mod mod : row.modifiers) {
        if (mod == Mod::None) break;
        text += modifier_text(instruction, mod);
    }
    bool first = true;
    for (Operand operand : row.operands) {
        if (operand == Operand::NoOperand) break;
        const std::string part = operand_text(instruction, operand, options);
        if (part.empty()) continue;
        text += (first ? " " : ", ") + part;
        first = false;
    }
    return text + (ends_tight(instruction) ? ";" : " ;");
}

std::string disassemble(Word word, const TextOptions& options) {
    const Decoded decoded = decode(word);
    return decoded.ok() ? disassemble(decoded.instruction, options) : "(refused) " + describe(decoded.refusal);
}

}  // namespace gpu::sass
