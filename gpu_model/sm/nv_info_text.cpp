// What an attribute's words mean is a column of nv_info.def. Source: cuobjdump's listing of the kernel corpus.
#include "gpu_model/sm/nv_info_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "gpu_model/sm/elf64.h"

namespace gpu {
namespace {

enum class NvInfoShape : u8 { Words, Registers, FrameSize, StackSize, Parameter, Targets, Pairs, Version };

NvInfoShape nv_info_shape(u8 id) {
    switch (id) {
#define NV_INFO(id, name, shape) \
    case id:                     \
        return NvInfoShape::shape;
#include "gpu_model/sm/nv_info.def"
#undef NV_INFO
        default:
            return NvInfoShape::Words;
    }
}

constexpr u64 kWordSize = 4;

std::optional<u32> word_at(const CubinAttribute& attribute, u64 index) {
    const auto bytes = elf64::part(attribute.payload, index * kWordSize, kWordSize);
    return bytes ? std::optional(elf64::At<u32, 0>::get(*bytes)) : std::nullopt;
}

std::string words_text(const CubinAttribute& attribute, u64 first, u64 count) {
    std::string text;
    for (u64 i = 0; i < count; ++i) {
        const auto word = word_at(attribute, first + i);
        if (!word) {
            text += fmt::format(" +{} bytes", attribute.payload.size() % kWordSize);
            break;
        }
        text += fmt::format("{}{:#x}", i == 0 ? "" : " ", *word);
    }
    return text;
}

std::string function_text(const Cubin& cubin, u32 symbol) {
    const std::string_view name = symbol < cubin.symbols.size() ? cubin.symbols[symbol].name : std::string_view("?");
    return fmt::format("function: {}({:#x})", name, symbol);
}

// KPARAM_INFO: index, ordinal and offset, then packed: 31:18 size in bytes, 17 in shared memory instead of a constant bank,
// 16:12 bank, 11:8 address space and 7:0 alignment of what a pointer points to. Guess: what a set bit 17 means.
std::string parameter_text(const CubinAttribute& attribute) {
    const u32 places = *word_at(attribute, 1), packed = *word_at(attribute, 2);
    constexpr u32 half = 0xffff, half_shift = 16, size_shift = 18, shared_flag = 17, bank_shift = 12, bank_mask = 0x1f;
    constexpr u32 space_shift = 8, space_mask = 0xf, alignment_mask = 0xff;
    return fmt::format(
        "Index : {:#x} Ordinal : {:#x} Offset : {:#x} Size : {:#x} Pointee's logAlignment : {:#x} Space : {:#x} "
        "cbank : {:#x} Parameter Space : {}",
        *word_at(attribute, 0), places & half, places >> half_shift, packed >> size_shift, packed & alignment_mask,
        packed >> space_shift & space_mask, packed >> bank_shift & bank_mask,
        (packed >> shared_flag & 1) != 0 ? "SMEM" : "CBANK");
}

// Of each indirect branch: its offset, a word unused here, the number of its targets, the targets.
std::string targets_text(const CubinAttribute& attribute) {
    constexpr u64 head_words = 3;
    std::string text;
    for (u64 at = 0; word_at(attribute, at + head_words - 1);) {
        const u64 count = std::min<u64>(*word_at(attribute, at + 2), attribute.payload.size() / kWordSize);
        text += fmt::format("{}Offset of Indirect Branch: {:#x} Number of targets: {} Targets: {}", at == 0 ? "" : " ",
                            *word_at(attribute, at), *word_at(attribute, at + 2),
                            words_text(attribute, at + head_words, count));
        at += head_words + count;
    }
    return text;
}

std::string pairs_text(const CubinAttribute& attribute) {
    std::string text;
    for (u64 at = 0; word_at(attribute, at + 1); at += 2)
        text += fmt::format("{}({:#x}, {})", at == 0 ? "" : " ", *word_at(attribute, at), *word_at(attribute, at + 1));
    return text;
}

}  // namespace

std::string nv_info_value(const Cubin& cubin, const CubinAttribute& attribute) {
    constexpr u8 no_value = 1, byte_value = 2, half_value = 3;
    constexpr u64 parameter_words = 3;
    const NvInfoShape shape = nv_info_shape(attribute.id);
    if (attribute.format == no_value) return {};
    if (attribute.format == byte_value) return fmt::format("{:#x}", attribute.value & 0xff);
    if (attribute.format == half_value) {
        // Guess: major number in the high byte; the corpus holds zeroes only.
        if (shape == NvInfoShape::Version) return fmt::format("{}.{}", attribute.value >> 8, attribute.value & 0xff);
        return fmt::format("{:#x}", attribute.value);
    }
    const bool is_pair = word_at(attribute, 1).has_value();
    if (is_pair && shape == NvInfoShape::Registers)
        return function_text(cubin, *word_at(attribute, 0)) + fmt::format(" register count: {}", *word_at(attribute, 1));
    if (is_pair && shape == NvInfoShape::FrameSize)
        return function_text(cubin, *word_at(attribute, 0)) + fmt::format(" frame size: {:#x}", *word_at(attribute, 1));
    if (is_pair && shape == NvInfoShape::StackSize)
        return function_text(cubin, *word_at(attribute, 0)) + fmt::format(" min stack size: {:#x}", *word_at(attribute, 1));
    if (shape == NvInfoShape::Parameter && word_at(attribute, parameter_words - 1)) return parameter_text(attribute);
    if (shape == NvInfoShape::Targets) return targets_text(attribute);
    if (shape == NvInfoShape::Pairs) return pairs_text(attribute);
    return words_text(attribute, 0, (attribute.payload.size() + kWordSize - 1) / kWordSize);
}

}  // namespace gpu
