// Labels and relocations are resolved here; spelling of an instruction is the disassembler's business.
#include "gpu_model/sm/cubin_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "gpu_model/sm/elf64.h"
#include "gpu_model/sm/isa/disasm.h"
#include "gpu_model/sm/nv_info_text.h"

namespace gpu {
namespace {

using sass::Instruction;
using sass::kWordBytes;
using sass::Word;

// Relocation types of code (public name list of the format).
constexpr u32 kAbs32Lo = 56, kAbs32Hi = 57, kAbs47 = 58;
constexpr u8 kIndirectBranchTargets = 0x34;  // EIATTR_INDIRECT_BRANCH_TARGETS
constexpr std::size_t kIndirectColumn = 52;  // where the disassembler puts the list of an indirect branch's targets
constexpr u64 kTargetsMax = 4096;            // of one indirect branch

class SectionLister {
public:
    SectionLister(const Cubin& cubin, u32 section, u32 first_label)
        : cubin_(cubin), section_(section), next_label_(first_label), code_(cubin.sections[section].bytes) {
        for (const CubinSymbol& symbol : cubin.symbols) {
            const bool here = symbol.section == section && symbol.type == elf64::symbol::kFunction;
            if (here) functions_.emplace(symbol.value, symbol.name);
        }
        const auto first =
            std::lower_bound(cubin.relocations.begin(), cubin.relocations.end(), section,
                             [](const CubinRelocation& entry, u32 wanted) { return entry.section < wanted; });
        for (auto it = first; it != cubin.relocations.end() && it->section == section; ++it)
            relocations_.emplace(it->offset, *it);
        read_indirect_targets();
    }

    std::vector<ListedInstruction> list() {
        std::vector<ListedInstruction> lines;
        for (u64 offset = 0; code_.size() - offset >= kWordBytes; offset += kWordBytes) {
            lines.push_back({.offset = offset, .word = sass::load_word(code_, offset), .labels = {}, .text = {}});
            lines.back().text = text_at(offset, lines.back().word);
        }
        for (ListedInstruction& line : lines) {
            for (auto [it, end] = functions_.equal_range(line.offset); it != end; ++it)
                line.labels.emplace_back(it->second);
            if (const auto it = labels_.find(line.offset); it != labels_.end())
                line.labels.push_back(label_name(it->second));
        }
        return lines;
    }

private:
    static std::string label_name(u32 number) { return fmt::format(".L_x_{}", number); }

    std::string label_for(u64 target) {
        if (const auto it = functions_.find(target); it != functions_.end()) return std::string(it->second);
        if (target >= code_.size()) return {};
        return local_label(target);
    }

    std::string local_label(u64 target) {
        const auto [it, added] = labels_.try_emplace(target, next_label_);
        if (added) ++next_label_;
        return label_name(it->second);
    }

    std::string text_at(u64 offset, Word word) {
        const sass::Decoded decoded = sass::decode(word);
        if (!decoded.ok()) return ".refused ; " + sass::describe(decoded.refusal);
        sass::TextOptions options;
        options.address = offset;
        options.label = [this](const sass::BranchTarget& target) {
            return target.absolute ? std::string() : label_for(target.address);
        };
        if (const auto it = relocations_.find(offset); it != relocations_.end()) apply_relocation(it->second, options);
        std::string text = sass::disassemble(decoded.instruction, options);
        if (const auto it = indirect_targets_.find(offset); it != indirect_targets_.end())
            text = with_targets(text, it->second);
        return text;
    }

    void apply_relocation(const CubinRelocation& relocation, sass::TextOptions& options) {
        const CubinSymbol& symbol = cubin_.symbols[relocation.symbol];
        std::string name(symbol.name);
        const u64 place = symbol.value + static_cast<u64>(relocation.addend);
        if (relocation.addend != 0 && symbol.section == section_ && place < code_.size()) {
            name = fmt::format("({} + {}@srel)", name, local_label(place));
        } else if (relocation.addend != 0) {
            name = fmt::format("({} + {:#x})", name, static_cast<u64>(relocation.addend));
        }
        if (relocation.type == kAbs32Lo) options.immediate = "32@lo(" + name + ")";
        if (relocation.type == kAbs32Hi) options.immediate = "32@hi(" + name + ")";
        if (relocation.type == kAbs47) options.label = [name](const sass::BranchTarget&) { return name; };
    }

    std::string with_targets(std::string text, const std::vector<u32>& targets) {
        text.erase(text.find_last_not_of(" ;") + 1);
        if (text.size() < kIndirectColumn) text.resize(kIndirectColumn, ' ');
        text += "(*\"BRANCH_TARGETS ";
        for (std::size_t i = 0; i < targets.size(); ++i) text += (i != 0 ? "," : "") + label_for(targets[i]);
        return text + "\"*);";
    }

    // Records of the attribute: offset of the branch, a word unused here, count, targets; all relative to the section.
    void read_indirect_targets() {
        constexpr u64 word_bytes = 4;
        using U32 = elf64::At<u32, 0>;
        for (const CubinAttribute& attribute : cubin_.attributes) {
            const CubinSection& info = cubin_.sections[attribute.section];
            if (attribute.id != kIndirectBranchTargets || info.info != section_) continue;
            u64 at = 0;
            while (const auto head = elf64::part(attribute.payload, at, 3 * word_bytes)) {
                const u64 count = U32::get(head->subspan(2 * word_bytes));
                at += 3 * word_bytes;
                const auto list = elf64::part(attribute.payload, at, count * word_bytes);
                if (!list || count > kTargetsMax) break;
                std::vector<u32>& targets = indirect_targets_[U32::get(*head)];
                for (u64 i = 0; i < count; ++i) targets.push_back(U32::get(list->subspan(i * word_bytes)));
                at += count * word_bytes;
            }
        }
    }

    const Cubin& cubin_;
    u32 section_;
    u32 next_label_;
    std::span<const u8> code_;
    std::multimap<u64, std::string_view> functions_;
    std::map<u64, CubinRelocation> relocations_;
    std::map<u64, u32> labels_;
    std::map<u64, std::vector<u32>> indirect_targets_;
};

// "B01----:R-:W2:Y:S04": waits for 0 and 1, raises 2 for its result, may yield, 4 cycles.
std::string control_text(const sass::Control& control) {
    constexpr u8 scoreboards = 6;
    std::string text = "B";
    for (u8 i = 0; i < scoreboards; ++i) text += (control.wait_mask >> i & 1) != 0 ? static_cast<char>('0' + i) : '-';
    const auto barrier = [](u8 index) { return index < scoreboards ? std::to_string(index) : index == 7 ? "-" : "?"; };
    return text + fmt::format(":R{}:W{}:{}:S{:02}", barrier(control.read_barrier), barrier(control.write_barrier),
                              control.yield ? 'Y' : '-', control.stall);
}

std::string attribute_text(const Cubin& cubin, const CubinAttribute& attribute) {
    const std::string_view name = nv_info_name(attribute.id);
    std::string text = name.empty() ? fmt::format("attribute {:#04x}", attribute.id) : std::string(name);
    const std::string value = nv_info_value(cubin, attribute);
    return value.empty() ? text : text + " " + value;
}

class Listing {
public:
    Listing(const Cubin& cubin, const ListingOptions& options) : cubin_(cubin), options_(options) {}

    std::string make() {
        line(fmt::format("// sm_{} cubin, ABI {}, flags {:#x}, {} kernels", cubin_.sm, cubin_.abi, cubin_.flags,
                         cubin_.kernels.size()));
        attributes_of(0, true);
        u32 labels = 0;
        for (u32 i = 0; i < cubin_.sections.size() && !full(); ++i) {
            const CubinSection& section = cubin_.sections[i];
            if (section.type != elf64::section::kProgbits || (section.flags & elf64::section::kFlagExec) == 0) continue;
            line(fmt::format("\n//--------------------- {}", section.name));
            for (const CubinKernel& kernel : cubin_.kernels) {
                if (kernel.text == i) needs(kernel);
            }
            attributes_of(i, false);
            code(i, labels);
        }
        if (full()) text_ += "// ... the listing is cut here\n";
        return std::move(text_);
    }

private:
    bool full() const { return text_.size() >= options_.bytes_max; }
    void line(const std::string& text) {
        if (!full()) text_ += text + "\n";
    }

    void needs(const CubinKernel& kernel) {
        line(fmt::format("// kernel {}: {} registers, {} barriers, {} bytes shared, {} bytes local a thread",
                         kernel.name, kernel.registers, kernel.barriers, kernel.shared_bytes, kernel.local_bytes));
        for (const KernelParameter& parameter : kernel.parameters) {
            line(fmt::format("//   parameter {}: {} bytes at c[0x0][{:#x}]", parameter.ordinal, parameter.size,
                             kernel.parameter_base + parameter.offset));
        }
        for (const ConstantBank& bank : kernel.banks) {
            line(fmt::format("//   bank {}: {:#x} bytes", bank.bank, cubin_.sections[bank.section].size));
        }
    }

    void attributes_of(u32 section, bool module) {
        if (!options_.attributes) return;
        for (const CubinAttribute& attribute : cubin_.attributes) {
            const u32 owner = cubin_.sections[attribute.section].info;
            if (module ? owner == 0 : owner == section) line("//   " + attribute_text(cubin_, attribute));
            if (full()) return;
        }
    }

    void code(u32 section, u32& labels) {
        for (const ListedInstruction& instruction : list_section(cubin_, section, labels)) {
            for (const std::string& label : instruction.labels) {
                if (label.starts_with(".L_x_")) ++labels;
                line(label + ":");
            }
            std::string text = fmt::format("        /*{:04x}*/  {:<60}", instruction.offset, instruction.text);
            if (options_.control) text += "  // " + control_text(sass::control_of(instruction.word));
            if (options_.encoding)
                text += fmt::format("  /* {:#018x} {:#018x} */", instruction.word.lo, instruction.word.hi);
            line(text.substr(0, text.find_last_not_of(' ') + 1));
            if (full()) return;
        }
    }

    const Cubin& cubin_;
    const ListingOptions& options_;
    std::string text_;
};

}  // namespace

std::vector<ListedInstruction> list_section(const Cubin& cubin, u32 section, u32 first_label) {
    return SectionLister(cubin, section, first_label).list();
}

std::string list_cubin(std::span<const u8> bytes, const ListingOptions& options) {
    const CubinResult result = read_cubin(bytes);
    if (!result.cubin) return "error: " + result.error + "\n";
    return Listing(*result.cubin, options).make();
}

}  // namespace gpu
