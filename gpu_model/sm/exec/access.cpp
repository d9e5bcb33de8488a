// Address arithmetic and single-lane accesses. Windows: a generic address inside the 16 MiB of the shared or local
// window means that memory; every other address is global.
#include "gpu_model/sm/exec/access.h"

#include <cstring>

namespace gpu::sm {
namespace {

using Offset32 = sass::WordField<63, 32>;
using Scale = sass::WordField<79, 78>;
constexpr unsigned kExtendedBit = 72;
constexpr unsigned kWideBit = 90, kWideBitAtom = 70;

bool has_uniform(const sass::Instruction& in, AddressForm form) {
    return form != AddressForm::Register24 && form != AddressForm::Register32 && in.word.bit(sass::at::Uniform::kLo);
}
u32 uniform_index(const sass::Instruction& in, AddressForm form) {
    return static_cast<u32>(form == AddressForm::UniformB ? sass::at::Ub::get(in.word) : sass::at::Uc::get(in.word));
}
i64 offset_of(const sass::Instruction& in, AddressForm form) {
    return form == AddressForm::Register32 ? Offset32::get_signed(in.word) : sass::at::Offset24::get_signed(in.word);
}

bool aligned(Exec& x, const Slot& s, u32 lane, u64 address, u32 bytes) {
    if (address % bytes == 0) return true;
    x.trap(s, TrapReason::MISALIGNED_ADDR, lane_bit(lane), address);
    return false;
}

// The lane's local memory word by word. False: outside what the launch gave.
template <typename F>
bool local_words(Exec& x, u32 lane, u64 address, u32 bytes, F f) {
    const KernelLaunch& launch = x.grid->launch();
    const u64 high_begin = kWindowBytes - launch.local_high_bytes;
    u64 offset;
    if (address + bytes <= launch.local_low_bytes) {
        offset = address;
    } else if (address >= high_begin && address + bytes <= kWindowBytes) {
        offset = launch.local_low_bytes + (address - high_begin);
    } else {
        return false;
    }
    LocalMemory& memory = x.cta->local[x.warp->index];
    for (u32 done = 0; done < bytes; done += 4)
        f(memory.word(lane, static_cast<u32>(offset + done) & ~u32{3}), done / 4);
    return true;
}

u32 byte_shift(u64 address) {
    return static_cast<u32>(address & 3) * 8;
}
u32 byte_mask(u32 bytes) {
    return bytes >= 4 ? ~u32{0} : (u32{1} << (8 * bytes)) - 1;
}

bool out_of_range(Exec& x, const Slot& s, u32 lane, u64 address) {
    x.trap(s, TrapReason::OOR_ADDR, lane_bit(lane), address);
    return false;
}

}  // namespace

PredicateSource load_predicate(const sass::Instruction& in) {
    constexpr u64 inverted = 7;
    return {static_cast<u8>(inverted - in.word.bits(66, 64)), in.word.bit(67) ? ~u32{0} : 0};
}

AddressForm address_form(const sass::Instruction& in) {
    using sass::Operand;
    for (Operand operand : in.row().operands) {
        switch (operand) {
            case Operand::MemR32:
                return AddressForm::Register32;
            case Operand::MemUbOr32:
                return in.word.bit(sass::at::Uniform::kLo) ? AddressForm::UniformB : AddressForm::Register32;
            case Operand::MemUb:
            case Operand::MemSharedUb:
            case Operand::MemLocalUb:
                return AddressForm::UniformB;
            case Operand::MemUc:
            case Operand::MemSharedUc:
            case Operand::MemLocalUc:
                return AddressForm::UniformC;
            case Operand::MemUcAtom:
                return AddressForm::UniformCAtom;
            default:
                break;
        }
    }
    return AddressForm::Register24;
}

void global_addresses(Exec& x, const Slot& s, AddressForm form, AddressRow& out) {
    const sass::Instruction& in = s.in;
    const bool extended = in.word.bit(kExtendedBit);
    const bool uniform = has_uniform(in, form);
    u64 base = static_cast<u64>(offset_of(in, form));
    bool wide = extended;
    if (uniform) {
        const u32 index = uniform_index(in, form);
        base += x.warp->uniform[index];
        if (extended && index != sass::kUrz) base += u64{x.warp->uniform[index + 1]} << 32;
        wide = in.word.bit(form == AddressForm::UniformCAtom ? kWideBitAtom : kWideBit);
    }
    const u32* lo = x.reg(in.ra);
    const u32* hi = wide ? x.src_pair(in.ra) : x.reg(sass::kRz);
    const u64 keep = extended ? ~u64{0} : 0xffff'ffff;
    for (u32 i = 0; i < kLanes; ++i) out.lane[i] = (base + (u64{hi[i]} << 32 | lo[i])) & keep;
}

void narrow_addresses(Exec& x, const Slot& s, AddressForm form, bool scaled, AddressRow& out) {
    const sass::Instruction& in = s.in;
    const u32 scale = static_cast<u32>(Scale::get(in.word));
    const u32 shift = scaled && scale != 0 ? scale + 1 : 0;
    u32 base = static_cast<u32>(offset_of(in, form));
    if (has_uniform(in, form)) base += x.warp->uniform[uniform_index(in, form)];
    const u32* a = x.reg(in.ra);
    for (u32 i = 0; i < kLanes; ++i) out.lane[i] = base + (a[i] << shift);
}

Place resolve(const Exec& x, Space space, u64 address) {
    if (space != Space::Generic) return {space, address};
    const KernelLaunch& launch = x.grid->launch();
    if (address - launch.shared_window < kWindowBytes) return {Space::Shared, address - launch.shared_window};
    if (address - launch.local_window < kWindowBytes) return {Space::Local, address - launch.local_window};
    return {Space::Global, address};
}

bool load_lane(Exec& x, const Slot& s, Space space, u32 lane, u64 address, u32 bytes, u32* words) {
    if (!aligned(x, s, lane, address, bytes)) return false;
    const Place place = resolve(x, space, address);
    words[0] = 0;
    if (place.space == Space::Local) {
        return local_words(x, lane, place.address, bytes,
                           [&](u32& word, u32 k) { words[k] = word >> byte_shift(address) & byte_mask(bytes); }) ||
               out_of_range(x, s, lane, address);
    }
    if (place.space == Space::Shared) {
        if (place.address + bytes > x.cta->shared.size()) return out_of_range(x, s, lane, address);
        std::memcpy(words, x.cta->shared.data() + place.address, bytes);
        return true;
    }
    if (const u8* plain = x.grid->global(place.address, false)) {
        std::memcpy(words, plain, bytes);
        return true;
    }
    std::array<u8, 16> buffer{};
    if (!x.grid->memory().read(place.address, std::span(buffer).first(bytes))) {
        x.trap(s, TrapReason::MMU_FAULT, lane_bit(lane), place.address);
        return false;
    }
    std::memcpy(words, buffer.data(), bytes);
    return true;
}

bool store_lane(Exec& x, const Slot& s, Space space, u32 lane, u64 address, u32 bytes, const u32* words) {
    if (!aligned(x, s, lane, address, bytes)) return false;
    const Place place = resolve(x, space, address);
    if (place.space == Space::Local) {
        const u32 mask = byte_mask(bytes) << byte_shift(address);
        return local_words(
                   x, lane, place.address, bytes,
                   [&](u32& word, u32 k) { word = (word & ~mask) | (words[k] << byte_shift(address) & mask); }) ||
               out_of_range(x, s, lane, address);
    }
    if (place.space == Space::Shared) {
        if (place.address + bytes > x.cta->shared.size()) return out_of_range(x, s, lane, address);
        std::memcpy(x.cta->shared.data() + place.address, words, bytes);
        return true;
    }
    if (u8* plain = x.grid->global(place.address, true)) {
        std::memcpy(plain, words, bytes);
    } else {
        std::array<u8, 16> buffer{};
        std::memcpy(buffer.data(), words, bytes);
        if (!x.grid->memory().write(place.address, std::span<const u8>(buffer).first(bytes))) {
            x.trap(s, TrapReason::MMU_FAULT, lane_bit(lane), place.address);
            return false;
        }
    }
    x.grid->stored(place.address, bytes);
    return true;
}

bool may_modify_lane(Exec& x, const Slot& s, Space space, u32 lane, u64 address, u32 bytes) {
    if (!aligned(x, s, lane, address, bytes)) return false;
    const Place place = resolve(x, space, address);
    if (place.space == Space::Local) {
        x.trap(s, TrapReason::INVALID_ADDR_SPACE, lane_bit(lane), address);
        return false;
    }
    if (place.space == Space::Shared || x.grid->memory().may_modify(place.address, bytes)) return true;
    x.trap(s, TrapReason::MMU_FAULT, lane_bit(lane), place.address);
    return false;
}

}  // namespace gpu::sm
