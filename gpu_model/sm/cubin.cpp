// The ELF half of the cubin reader: header, sections, symbols, relocations. What they mean for a launch is in
// cubin_kernels.cpp.
#include "gpu_model/sm/cubin.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "gpu_model/sm/cubin_kernels.h"
#include "gpu_model/sm/elf64.h"
#include "sim/bits.h"

namespace gpu {
namespace {

using namespace elf64;

// Longer names are damage: mangled names of real code stay far below.
constexpr u64 kNameBytesMax = 16384;

constexpr u32 kSmMajor = 10;  // sm_75: major 7, minor 5

// Toolkits before 13 keep the architecture in the low byte of e_flags, later ones in the next.
u32 sm_of(u8 os_abi, u32 flags) {
    return os_abi == header::kOsAbiOld ? sim::Field<7, 0>::get(flags) : sim::Field<15, 8>::get(flags);
}

class Reader {
public:
    explicit Reader(Cubin& cubin) : cubin_(cubin), file_(*cubin.bytes) {}

    // Each step returns an empty string or the error.
    std::string read(u32 chip_sm) {
        std::string error = read_header(chip_sm);
        if (error.empty()) error = read_sections();
        if (error.empty()) error = read_symbols();
        if (error.empty()) error = read_relocations();
        return error;
    }

private:
    std::string read_header(u32 chip_sm) {
        if (file_.size() < header::kBytes)
            return fmt::format("not a cubin: {} bytes are too few for an ELF header", file_.size());
        if (header::Magic::get(file_) != header::kMagic) return "not a cubin: no ELF magic at offset 0";
        if (header::Class::get(file_) != header::kClass64 || header::Data::get(file_) != header::kLittleEndian) {
            return "not a cubin: not a 64-bit little-endian ELF file";
        }
        const u32 machine = header::Machine::get(file_);
        if (machine != header::kMachineCuda)
            return fmt::format("not a cubin: ELF machine {} is not CUDA (190)", machine);
        const u8 os_abi = header::OsAbi::get(file_);
        if (os_abi != header::kOsAbiOld && os_abi != header::kOsAbiNew) {
            return fmt::format("cubin with unknown OS ABI {:#x} at offset 7 (known: 0x33, 0x41)", os_abi);
        }
        cubin_.flags = header::Flags::get(file_);
        cubin_.abi = header::AbiVersion::get(file_);
        cubin_.sm = sm_of(os_abi, cubin_.flags);
        const bool runs = cubin_.sm / kSmMajor == chip_sm / kSmMajor && cubin_.sm <= chip_sm;
        if (!runs) return fmt::format("this cubin holds code for sm_{}; the chip runs sm_{}", cubin_.sm, chip_sm);
        return {};
    }

    std::string read_sections() {
        const u64 table = header::SectionTable::get(file_);
        const u64 count = header::SectionCount::get(file_);
        const u64 entry_bytes = header::SectionEntrySize::get(file_);
        if (count == 0) return "cubin without sections";
        if (entry_bytes != section::kBytes)
            return fmt::format("section headers of {} bytes at offset {:#x}, expected 64", entry_bytes, table);
        const auto rows = part(file_, table, count * entry_bytes);
        if (!rows) return fmt::format("section table at {:#x} of {} entries ends beyond the file", table, count);
        u64 content_bytes = 0;
        for (u64 i = 0; i < count; ++i) {
            const auto row = rows->subspan(i * entry_bytes, entry_bytes);
            CubinSection entry{.type = section::Type::get(row),
                               .flags = section::Flags::get(row),
                               .offset = section::Offset::get(row),
                               .size = section::Size::get(row),
                               .link = section::Link::get(row),
                               .info = section::Info::get(row),
                               .align = section::Align::get(row)};
            if (i != 0 && entry.type != section::kNobits) {
                const auto bytes = part(file_, entry.offset, entry.size);
                if (!bytes)
                    return fmt::format("section {} ({:#x} bytes at {:#x}) ends beyond the file", i, entry.size,
                                       entry.offset);
                entry.bytes = *bytes;
                content_bytes += entry.size;
                // Bounds the work of everything that walks sections.
                if (content_bytes > file_.size())
                    return fmt::format("section {} at {:#x} overlaps another", i, entry.offset);
            }
            cubin_.sections.push_back(entry);
        }
        const u64 names = header::NameSection::get(file_);
        if (names >= count) return fmt::format("section name table {} of {} sections", names, count);
        for (u64 i = 1; i < count; ++i) {
            const u32 offset = section::Name::get(rows->subspan(i * entry_bytes, entry_bytes));
            const auto name = string_at(cubin_.sections[names], offset);
            if (!name) return fmt::format("name of section {} at string offset {:#x} is damaged", i, offset);
            cubin_.sections[i].name = *name;
        }
        return {};
    }

    std::string read_symbols() {
        for (u64 i = 0; i < cubin_.sections.size(); ++i) {
            const CubinSection& table = cubin_.sections[i];
            if (table.type != section::kSymtab) continue;
            if (!cubin_.symbols.empty()) return fmt::format("second symbol table in section {}", i);
            if (table.link >= cubin_.sections.size())
                return fmt::format("symbol table {} links to section {}", i, table.link);
            if (table.bytes.size() % symbol::kBytes != 0)
                return fmt::format("symbol table {} of {:#x} bytes has a torn entry", i, table.size);
            for (u64 at = 0; at < table.bytes.size(); at += symbol::kBytes) {
                const auto row = table.bytes.subspan(at, symbol::kBytes);
                const auto name = string_at(cubin_.sections[table.link], symbol::Name::get(row));
                if (!name) return fmt::format("name of symbol at {:#x} is damaged", table.offset + at);
                const u8 info = symbol::Info::get(row);
                constexpr u8 type_mask = 15;
                constexpr u8 binding_shift = 4;
                cubin_.symbols.push_back({.name = *name,
                                          .value = symbol::Value::get(row),
                                          .size = symbol::Size::get(row),
                                          .section = symbol::Section::get(row),
                                          .type = static_cast<u8>(info & type_mask),
                                          .binding = static_cast<u8>(info >> binding_shift),
                                          .other = symbol::Other::get(row)});
            }
        }
        return {};
    }

    std::string read_relocations() {
        for (u64 i = 0; i < cubin_.sections.size(); ++i) {
            const CubinSection& table = cubin_.sections[i];
            const bool has_addend = table.type == section::kRela;
            if (!has_addend && table.type != section::kRel) continue;
            if (table.info >= cubin_.sections.size())
                return fmt::format("relocations in section {} patch section {}", i, table.info);
            const u64 entry_bytes = has_addend ? relocation::kRelaBytes : relocation::kRelBytes;
            if (table.bytes.size() % entry_bytes != 0)
                return fmt::format("relocation section {} of {:#x} bytes has a torn entry", i, table.size);
            for (u64 at = 0; at < table.bytes.size(); at += entry_bytes) {
                const auto row = table.bytes.subspan(at, entry_bytes);
                CubinRelocation entry{.section = table.info,
                                      .offset = relocation::Offset::get(row),
                                      .type = relocation::Type::get(row),
                                      .symbol = relocation::Symbol::get(row)};
                if (has_addend) entry.addend = static_cast<i64>(relocation::Addend::get(row));
                if (entry.symbol >= cubin_.symbols.size()) {
                    return fmt::format("relocation at {:#x} names symbol {} of {}", table.offset + at, entry.symbol,
                                       cubin_.symbols.size());
                }
                if (entry.offset >= cubin_.sections[table.info].size) {
                    return fmt::format("relocation at {:#x} patches offset {:#x} of a section of {:#x} bytes",
                                       table.offset + at, entry.offset, cubin_.sections[table.info].size);
                }
                cubin_.relocations.push_back(entry);
            }
        }
        std::stable_sort(cubin_.relocations.begin(), cubin_.relocations.end(), [](const auto& a, const auto& b) {
            return std::tie(a.section, a.offset) < std::tie(b.section, b.offset);
        });
        return {};
    }

    static std::optional<std::string_view> string_at(const CubinSection& table, u64 offset) {
        if (offset >= table.bytes.size()) return std::nullopt;
        const auto tail = table.bytes.subspan(offset);
        const auto limit = tail.begin() + static_cast<std::ptrdiff_t>(std::min<u64>(tail.size(), kNameBytesMax));
        const auto end = std::find(tail.begin(), limit, u8{0});
        if (end == limit) return std::nullopt;
        const auto length = static_cast<std::size_t>(end - tail.begin());
        return std::string_view(reinterpret_cast<const char*>(tail.data()), length);
    }

    Cubin& cubin_;
    std::span<const u8> file_;
};

}  // namespace

const CubinKernel* Cubin::find_kernel(std::string_view name) const {
    for (const CubinKernel& kernel : kernels) {
        if (kernel.name == name) return &kernel;
    }
    return nullptr;
}

CubinResult read_cubin(std::span<const u8> bytes, u32 chip_sm) {
    CubinResult result;
    Cubin cubin;
    cubin.bytes = std::make_shared<const std::vector<u8>>(bytes.begin(), bytes.end());
    result.error = Reader(cubin).read(chip_sm);
    if (result.error.empty()) result.error = read_attributes(cubin);
    if (result.error.empty()) result.error = collect_kernels(cubin);
    if (result.error.empty()) result.cubin = std::move(cubin);
    return result;
}

}  // namespace gpu
