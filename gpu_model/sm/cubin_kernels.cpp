// A kernel is a .text.NAME section whose symbol NAME has the entry mark. Its registers are in the section's sh_info,
// its stack and parameters in attributes, its constant banks and shared memory in sections named after it.
#include "gpu_model/sm/cubin_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "gpu_model/sm/elf64.h"

namespace gpu {
namespace {

using namespace elf64;

enum Attribute : u8 {
#define NV_INFO(id, name, shape) name = id,
#include "gpu_model/sm/nv_info.def"
#undef NV_INFO
};

// Layout of an attribute record and of the payloads that a launch needs.
namespace record {
using Format = At<u8, 0>;
using Id = At<u8, 1>;
using Value = At<u16, 2>;
inline constexpr u64 kHeadBytes = 4;
inline constexpr u8 kSized = 4;
}  // namespace record
namespace symbol_and_value {  // REGCOUNT, MIN_STACK_SIZE, FRAME_SIZE
using Symbol = At<u32, 0>;
using Value = At<u32, 4>;
inline constexpr u64 kBytes = 8;
}  // namespace symbol_and_value
namespace parameter {  // KPARAM_INFO
using Ordinal = At<u16, 4>;
using Offset = At<u16, 6>;
using Packed = At<u32, 8>;
inline constexpr u64 kBytes = 12;
inline constexpr u32 kSizeShift = 18;
}  // namespace parameter
namespace parameter_bank {  // PARAM_CBANK
using Offset = At<u16, 4>;
using Size = At<u16, 6>;
inline constexpr u64 kBytes = 8;
}  // namespace parameter_bank

constexpr u32 kRegisterCountShift = 24;  // sh_info of a text section: registers above the symbol index
constexpr u64 kSectionIndexMask = 0xffffff;
constexpr std::string_view kTextPrefix = ".text.";
constexpr std::string_view kSharedPrefix = ".nv.shared.";
constexpr std::string_view kConstantPrefix = ".nv.constant";

using KernelByName = std::map<std::string_view, std::size_t>;

// ".nv.constant0.NAME" or ".nv.constant3".
struct BankName {
    bool valid = false;
    u32 bank = 0;
    std::string_view kernel = {};
};

BankName parse_bank(std::string_view section_name) {
    if (!section_name.starts_with(kConstantPrefix)) return {};
    section_name.remove_prefix(kConstantPrefix.size());
    BankName name{.valid = !section_name.empty() && section_name[0] >= '0' && section_name[0] <= '9'};
    constexpr u32 bank_limit = 32;
    while (!section_name.empty() && section_name[0] >= '0' && section_name[0] <= '9' && name.bank < bank_limit) {
        name.bank = name.bank * 10 + static_cast<u32>(section_name[0] - '0');
        section_name.remove_prefix(1);
    }
    name.valid = name.valid && name.bank < bank_limit && (section_name.empty() || section_name[0] == '.');
    if (!section_name.empty()) name.kernel = section_name.substr(1);
    return name;
}

void apply_kernel_attribute(CubinKernel& kernel, const CubinAttribute& attribute) {
    switch (attribute.id) {
        case EIATTR_KPARAM_INFO: {
            if (attribute.payload.size() < parameter::kBytes) return;
            const u32 packed = parameter::Packed::get(attribute.payload);
            kernel.parameters.push_back({parameter::Ordinal::get(attribute.payload),
                                         parameter::Offset::get(attribute.payload), packed >> parameter::kSizeShift});
            return;
        }
        case EIATTR_PARAM_CBANK:
            if (attribute.payload.size() < parameter_bank::kBytes) return;
            kernel.parameter_base = parameter_bank::Offset::get(attribute.payload);
            kernel.parameter_bytes = parameter_bank::Size::get(attribute.payload);
            return;
        case EIATTR_NUM_BARRIERS:
            kernel.barriers = attribute.value;
            return;
        default:
            return;
    }
}

void apply_module_attribute(Cubin& cubin, const std::map<u32, std::size_t>& by_symbol,
                            const CubinAttribute& attribute) {
    if (attribute.payload.size() < symbol_and_value::kBytes) return;
    const auto it = by_symbol.find(symbol_and_value::Symbol::get(attribute.payload));
    if (it == by_symbol.end()) return;
    const u32 value = symbol_and_value::Value::get(attribute.payload);
    if (attribute.id == EIATTR_REGCOUNT) cubin.kernels[it->second].registers = value;
    if (attribute.id == EIATTR_MIN_STACK_SIZE) cubin.kernels[it->second].local_bytes = value;
}

void find_kernels(Cubin& cubin) {
    std::map<std::string_view, u32> entries;
    for (u32 i = 0; i < cubin.symbols.size(); ++i) {
        const CubinSymbol& entry = cubin.symbols[i];
        if (entry.type == symbol::kFunction && (entry.other & symbol::kOtherEntry) != 0) entries.emplace(entry.name, i);
    }
    for (u32 i = 0; i < cubin.sections.size(); ++i) {
        const CubinSection& section = cubin.sections[i];
        if (!section.name.starts_with(kTextPrefix) || section.type != section::kProgbits) continue;
        const auto it = entries.find(section.name.substr(kTextPrefix.size()));
        if (it == entries.end() || cubin.symbols[it->second].section != i) continue;
        CubinKernel kernel;
        kernel.name = it->first;
        kernel.symbol = it->second;
        kernel.text = i;
        kernel.registers = section.info >> kRegisterCountShift;
        cubin.kernels.push_back(std::move(kernel));
    }
}

}  // namespace

std::string_view nv_info_name(u8 id) {
    switch (id) {
#define NV_INFO(id, name, shape) \
    case id:                     \
        return #name;
#include "gpu_model/sm/nv_info.def"
#undef NV_INFO
        default:
            return {};
    }
}

std::string read_attributes(Cubin& cubin) {
    for (u32 i = 0; i < cubin.sections.size(); ++i) {
        const CubinSection& section = cubin.sections[i];
        if (section.type != section::kNvInfo) continue;
        u64 at = 0;
        while (at < section.bytes.size()) {
            const auto head = part(section.bytes, at, record::kHeadBytes);
            if (!head) return fmt::format("attribute record at {:#x} is cut off", section.offset + at);
            CubinAttribute attribute{.section = i,
                                     .format = record::Format::get(*head),
                                     .id = record::Id::get(*head),
                                     .value = record::Value::get(*head)};
            if (attribute.format == 0 || attribute.format > record::kSized) {
                return fmt::format("attribute record at {:#x} has unknown format {}", section.offset + at,
                                   attribute.format);
            }
            at += record::kHeadBytes;
            if (attribute.format == record::kSized) {
                const auto payload = part(section.bytes, at, attribute.value);
                if (!payload)
                    return fmt::format("attribute {:#x} at {:#x} ends beyond its section", attribute.id,
                                       section.offset + at);
                attribute.payload = *payload;
                at += attribute.value;
            }
            cubin.attributes.push_back(attribute);
        }
    }
    return {};
}

std::string collect_kernels(Cubin& cubin) {
    find_kernels(cubin);
    KernelByName by_name;
    std::map<u32, std::size_t> by_symbol, by_text;
    for (std::size_t i = 0; i < cubin.kernels.size(); ++i) {
        by_name.emplace(cubin.kernels[i].name, i);
        by_symbol.emplace(cubin.kernels[i].symbol, i);
        by_text.emplace(cubin.kernels[i].text, i);
    }
    for (u32 i = 0; i < cubin.sections.size(); ++i) {
        const CubinSection& section = cubin.sections[i];
        if (const BankName bank = parse_bank(section.name); bank.valid) {
            if (const auto it = by_name.find(bank.kernel); it != by_name.end()) {
                cubin.kernels[it->second].banks.push_back({bank.bank, i});
            } else if (bank.kernel.empty()) {
                cubin.module_banks.push_back({bank.bank, i});
            }
        } else if (section.name.starts_with(kSharedPrefix)) {
            const auto it = by_name.find(section.name.substr(kSharedPrefix.size()));
            constexpr u64 shared_max = 0x10000;
            if (section.size > shared_max)
                return fmt::format("{} wants {:#x} bytes; a block has at most 64 KiB", section.name, section.size);
            if (it != by_name.end()) cubin.kernels[it->second].shared_bytes = static_cast<u32>(section.size);
        }
    }
    for (const CubinAttribute& attribute : cubin.attributes) {
        const auto it = by_text.find(static_cast<u32>(cubin.sections[attribute.section].info & kSectionIndexMask));
        const bool of_kernel = cubin.sections[attribute.section].info != 0 && it != by_text.end();
        if (of_kernel)
            apply_kernel_attribute(cubin.kernels[it->second], attribute);
        else
            apply_module_attribute(cubin, by_symbol, attribute);
    }
    for (CubinKernel& kernel : cubin.kernels) {
        if (cubin.sections[kernel.text].bytes.size() % 16 != 0) {
            return fmt::format("code of {} is not a whole number of 16-byte instructions", kernel.name);
        }
        std::stable_sort(kernel.parameters.begin(), kernel.parameters.end(),
                         [](const auto& a, const auto& b) { return a.ordinal < b.ordinal; });
    }
    return {};
}

}  // namespace gpu
