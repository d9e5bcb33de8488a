// Laying out and relocating a cubin.
#include "gpu_model/sm/cubin_image.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu_model/sm/elf64.h"

namespace gpu {
namespace {

constexpr u64 kSectionAlign = 256;
constexpr u64 kImageBytesMax = u64{64} << 20;
constexpr u64 kAllocated = 2;  // SHF_ALLOC

// Relocation types; names are descriptive, numbers those met in sm_75 files.
enum RelocationType : u32 { Absolute64 = 2, Low32AtBit32 = 56, High32AtBit32 = 57, Absolute47AtBit34 = 58 };

// Places in the launch header of bank 0.
constexpr std::size_t kBlockAt = 0x00, kGridAt = 0x0c, kSharedWindowAt = 0x18, kLocalWindowAt = 0x20,
                      kStackTopAt = 0x28, kDynamicSharedAt = 0x2c, kConstantImageAt = 0x50, kSmCountAt = 0x10c,
                      kHeaderBytes = 0x160;

void put(std::span<u8> out, std::size_t at, u64 value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) out[at + i] = static_cast<u8>(value >> (8 * i));
}
u64 get(std::span<const u8> in, std::size_t at, std::size_t bytes) {
    u64 value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value |= u64{in[at + i]} << (8 * i);
    return value;
}

std::string relocate(const Cubin& cubin, CubinImage& image, const CubinRelocation& entry) {
    const u64 place = image.sections[entry.section];
    const CubinSymbol& symbol = cubin.symbols[entry.symbol];
    if (place == 0) return {};  // debug information and the like
    const bool has_target = symbol.section < image.sections.size() && image.sections[symbol.section] != 0;
    if (!has_target) return fmt::format("relocation against {}, which has no address", symbol.name);
    const u64 value = image.sections[symbol.section] + symbol.value + static_cast<u64>(entry.addend);
    const std::size_t at = place - image.base + entry.offset;
    const bool of_instruction = entry.type != Absolute64;
    const std::size_t bytes = of_instruction ? sass::kWordBytes : sizeof(u64);
    if (entry.offset + bytes > cubin.sections[entry.section].size)
        return fmt::format("relocation at {:#x} of {} ends beyond it", entry.offset,
                           cubin.sections[entry.section].name);
    constexpr std::size_t slot = 4;  // bit 32 of an instruction
    switch (entry.type) {
        case Absolute64:
            put(image.bytes, at, value, 8);
            return {};
        case Low32AtBit32:
            put(image.bytes, at + slot, value, 4);
            return {};
        case High32AtBit32:
            put(image.bytes, at + slot, value >> 32, 4);
            return {};
        case Absolute47AtBit34: {
            // 48 bits from bit 34 on, counting 4-byte units; bits 33:32 and from 82 on are other fields.
            constexpr u64 field = (u64{1} << 50) - 4;
            const u64 kept = get(image.bytes, at + slot, 8) & ~field;
            put(image.bytes, at + slot, kept | (value & field), 8);
            return {};
        }
        default:
            return fmt::format("relocation type {} is not known", entry.type);
    }
}

}  // namespace

CubinImage load_cubin_image(const Cubin& cubin, u64 base) {
    CubinImage image;
    image.base = base;
    image.sections.assign(cubin.sections.size(), 0);
    u64 next = base;
    for (std::size_t i = 0; i < cubin.sections.size(); ++i) {
        const CubinSection& section = cubin.sections[i];
        const bool shared = section.name.starts_with(".nv.shared");
        if ((section.flags & kAllocated) == 0 || shared || section.size == 0) continue;
        const u64 bytes = (section.size + kSectionAlign - 1) / kSectionAlign * kSectionAlign;
        if (section.size > kImageBytesMax || next - base + bytes > kImageBytesMax) {
            image.error = fmt::format("section {} of {:#x} bytes is too large to load", section.name, section.size);
            return image;
        }
        image.sections[i] = next;
        image.bytes.resize(next - base + bytes);
        std::copy(section.bytes.begin(), section.bytes.end(),
                  image.bytes.begin() + static_cast<std::ptrdiff_t>(next - base));
        next += bytes;
    }
    for (const CubinRelocation& entry : cubin.relocations) {
        image.error = relocate(cubin, image, entry);
        if (!image.error.empty()) return image;
    }
    return image;
}

std::vector<u8> make_bank0(const CubinKernel& kernel, const Bank0& values) {
    std::vector<u8> bank(std::max<std::size_t>(kHeaderBytes, u64{kernel.parameter_base} + kernel.parameter_bytes));
    for (std::size_t axis = 0; axis < 3; ++axis) {
        put(bank, kBlockAt + 4 * axis, values.block[axis], 4);
        put(bank, kGridAt + 4 * axis, values.grid[axis], 4);
    }
    put(bank, kSharedWindowAt, values.shared_window, 8);
    put(bank, kLocalWindowAt, values.local_window, 8);
    put(bank, kStackTopAt, values.stack_top, 4);
    put(bank, kDynamicSharedAt, values.dynamic_shared, 4);
    put(bank, kConstantImageAt, values.constant_image, 8);
    put(bank, kSmCountAt, values.sm_count, 4);
    return bank;
}

}  // namespace gpu
