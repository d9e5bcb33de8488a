// Addresses read as [base.scale+UR+offset]; a base that is RZ is left out when anything else is there.
#include "gpu_model/sm/isa/memory_text.h"

#include "gpu_model/sm/isa/text_parts.h"

namespace gpu::sass {
namespace {

using Offset32 = WordField<63, 32>;
using Scale = WordField<79, 78>;
using IndexUr = WordField<29, 24>;
constexpr unsigned kWideBit = 90;      // the base register is a 64-bit pair beside a uniform register
constexpr unsigned kWideBitAtom = 70;  // the same of the atomics, whose operation field covers bit 90

enum class Width : u8 { Unsaid, Narrow, Wide };

struct Address {
    u8 base = kRz;
    Width width = Width::Unsaid;
    u64 scale = 0;
    bool has_uniform = false;
    u8 uniform = kUrz;
    i64 offset = 0;
};

std::string address_text(const Address& address) {
    constexpr const char* scales[] = {"", ".X4", ".X8", ".X16"};
    std::string text;
    if (address.base != kRz || (!address.has_uniform && address.offset == 0)) {
        text = register_text(address.base, false);
        if (address.width != Width::Unsaid) text += address.width == Width::Wide ? ".64" : ".U32";
        text += scales[address.scale & 3];
    }
    if (address.has_uniform) text += (text.empty() ? "" : "+") + register_text(address.uniform, true);
    if (text.empty()) return "[" + signed_hex(address.offset) + "]";
    if (address.offset != 0) text += "+" + signed_hex(address.offset);
    return "[" + text + "]";
}

Width width_of(Word word, unsigned bit) {
    return word.bit(bit) ? Width::Wide : Width::Narrow;
}

bool whole_cache(const Instruction& in) {
    constexpr u32 ivall = 4, ivallp = 6, wball = 7, wballp = 8;
    const u32 op = in.mod<Mod::CacheOp>();
    return op == ivall || op == ivallp || op == wball || op == wballp;
}

std::string bank_text(const Instruction& in) {
    return "c[" + hex(in.bank) + "]";
}

// base: what stands before the offset in the brackets.
std::string offset_text(const std::string& base, i64 offset) {
    if (base.empty()) return "[" + signed_hex(offset) + "]";
    return offset == 0 ? "[" + base + "]" : "[" + base + "+" + signed_hex(offset) + "]";
}

}  // namespace

std::string constant_text(const Instruction& in, bool bindless) {
    const std::string bank = bindless ? "cx[" + register_text(in.handle, true) + "]" : bank_text(in);
    // Packed-half operations print a space between bank and offset.
    const char* gap = in.row().immediate == Immediate::H2 ? " " : "";
    return bank + gap + offset_text("", in.bank_offset);
}

std::string memory_operand(const Instruction& in, Operand operand) {
    const Word word = in.word;
    const bool flag = word.bit(at::Uniform::kLo);
    Address address{.base = in.ra, .offset = at::Offset24::get_signed(word)};
    const auto uniform_b = [&] { address.has_uniform = true, address.uniform = static_cast<u8>(at::Ub::get(word)); };
    const auto uniform_c = [&] { address.has_uniform = true, address.uniform = static_cast<u8>(at::Uc::get(word)); };
    switch (operand) {
        case Operand::MemR:
            break;
        case Operand::MemR32:
            address.offset = Offset32::get_signed(word);
            break;
        case Operand::MemScaled:
            address.scale = Scale::get(word);
            break;
        case Operand::MemUbOr32:
            if (!flag) {
                address.offset = Offset32::get_signed(word);
                break;
            }
            [[fallthrough]];
        case Operand::MemUb:
            uniform_b();
            address.width = width_of(word, kWideBit);
            break;
        case Operand::MemSharedUb:
            address.scale = Scale::get(word);
            if (flag) uniform_b();
            break;
        case Operand::MemLocalUb:
            if (flag) uniform_b();
            break;
        case Operand::MemUc:
            if (!flag) break;
            uniform_c();
            address.width = width_of(word, kWideBit);
            break;
        case Operand::MemUcAtom:
            uniform_c();
            address.width = width_of(word, kWideBitAtom);
            break;
        case Operand::MemSharedUc:
            address.scale = Scale::get(word), uniform_c();
            break;
        case Operand::MemLocalUc:
            uniform_c();
            break;
        case Operand::MemCache:
            if (whole_cache(in)) return {};
            address.offset = Offset32::get_signed(word);
            break;
        case Operand::MemSurface:
            address.offset = 0;
            break;
        case Operand::ConstIndexed:
            return bank_text(in) +
                   offset_text(in.ra == kRz && in.bank_offset != 0 ? "" : register_text(in.ra, false), in.bank_offset);
        case Operand::ConstPlain:
            return constant_text(in, flag);
        case Operand::ConstUniform:
            return bank_text(in) +
                   offset_text(register_text(static_cast<u8>(IndexUr::get(word)), true), in.bank_offset);
        case Operand::ConstBindless:
            return "cx[" + register_text(static_cast<u8>(IndexUr::get(word)), true) + "]" +
                   offset_text(register_text(static_cast<u8>(at::Rc::get(word)), false), 0);
        default:
            return {};
    }
    return address_text(address);
}

}  // namespace gpu::sass
