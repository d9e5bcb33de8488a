// Fat binaries: containers in which driver libraries and programs keep cubins and PTX for several chips.
// Source: the toolkit header fatbinary_section.h and public readers of the format.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/types.h"

namespace gpu {

using sim::u16;
using sim::u32;
using sim::u64;
using sim::u8;

struct FatbinEntry {
    enum class Kind : u16 { Ptx = 1, Cubin = 2 };
    enum class Packing : u8 { None, Lz4, Zstd };

    Kind kind{};
    Packing packing = Packing::None;
    u32 sm = 0;
    u64 flags = 0;
    u64 offset = 0;                    // of the entry in the file
    u64 unpacked_bytes = 0;            // 0 when not packed
    std::span<const u8> payload = {};  // into the caller's bytes
};

struct FatbinResult {
    std::vector<FatbinEntry> entries;
    std::string error;  // one sentence with an offset; entries before the damage are kept
};

inline constexpr u32 kFatbinMagic = 0xba55ed50;

// One container, or several one after the other. Kinds of entries that are neither PTX nor cubin are skipped.
FatbinResult read_fatbin(std::span<const u8> bytes);

// Decompressor of a library that this layer does not have: packed bytes and the exact size of the answer.
using Unpacker = std::function<std::optional<std::vector<u8>>(std::span<const u8> packed, u64 unpacked_bytes)>;

struct UnpackResult {
    std::vector<u8> bytes;
    std::string error;
};
// LZ4 is unpacked here; zstd needs the caller's unpacker. Never allocates more than the packed size can produce.
UnpackResult unpack(const FatbinEntry& entry, const Unpacker& zstd = {});

}  // namespace gpu
