// Little-endian ELF64 layout as far as cubins use it: field offsets of the headers, section types, and a bounds-checked
// reader.
#pragma once

#include <optional>
#include <span>

#include "sim/types.h"

namespace gpu::elf64 {

using sim::u16;
using sim::u32;
using sim::u64;
using sim::u8;

// A field at a fixed offset of a header.
template <typename T, u64 Offset>
struct At {
    static constexpr u64 kOffset = Offset;
    static constexpr u64 kEnd = Offset + sizeof(T);
    // Precondition: bytes.size() >= kEnd.
    static T get(std::span<const u8> bytes) {
        T value = 0;
        for (u64 i = sizeof(T); i-- > 0;) value = static_cast<T>(u64{value} << 8 | bytes[Offset + i]);
        return value;
    }
};

namespace header {
using Magic = At<u32, 0>;
using Class = At<u8, 4>;
using Data = At<u8, 5>;
using OsAbi = At<u8, 7>;
using AbiVersion = At<u8, 8>;
using Type = At<u16, 16>;
using Machine = At<u16, 18>;
using SectionTable = At<u64, 40>;
using Flags = At<u32, 48>;
using SectionEntrySize = At<u16, 58>;
using SectionCount = At<u16, 60>;
using NameSection = At<u16, 62>;
inline constexpr u64 kBytes = 64;
inline constexpr u32 kMagic = 0x464c457f;
inline constexpr u8 kClass64 = 2;
inline constexpr u8 kLittleEndian = 1;
inline constexpr u16 kMachineCuda = 190;
inline constexpr u8 kOsAbiOld = 0x33;  // toolkits before 13
inline constexpr u8 kOsAbiNew = 0x41;
}  // namespace header

namespace section {
using Name = At<u32, 0>;
using Type = At<u32, 4>;
using Flags = At<u64, 8>;
using Offset = At<u64, 24>;
using Size = At<u64, 32>;
using Link = At<u32, 40>;
using Info = At<u32, 44>;
using Align = At<u64, 48>;
inline constexpr u64 kBytes = 64;
inline constexpr u32 kProgbits = 1, kSymtab = 2, kStrtab = 3, kRela = 4, kNobits = 8, kRel = 9, kNvInfo = 0x70000000;
inline constexpr u64 kFlagExec = 4;
}  // namespace section

namespace symbol {
using Name = At<u32, 0>;
using Info = At<u8, 4>;
using Other = At<u8, 5>;
using Section = At<u16, 6>;
using Value = At<u64, 8>;
using Size = At<u64, 16>;
inline constexpr u64 kBytes = 24;
inline constexpr u8 kFunction = 2;
inline constexpr u8 kOtherEntry = 0x10;  // st_other of a kernel
}  // namespace symbol

namespace relocation {
using Offset = At<u64, 0>;
using Type = At<u32, 8>;
using Symbol = At<u32, 12>;
using Addend = At<u64, 16>;
inline constexpr u64 kRelBytes = 16, kRelaBytes = 24;
}  // namespace relocation

// The part [offset, offset + size) of bytes, or nothing when it does not lie inside.
inline std::optional<std::span<const u8>> part(std::span<const u8> bytes, u64 offset, u64 size) {
    if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
    return bytes.subspan(offset, size);
}

}  // namespace gpu::elf64
