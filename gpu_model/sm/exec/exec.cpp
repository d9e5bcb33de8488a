// Helpers of the handlers that are not on the fast path.
#include "gpu_model/sm/exec/exec.h"

#include <algorithm>

#include "gpu_model/sm/exec/grid.h"

namespace gpu::sm {
namespace {

u32 word_of(std::span<const u8> bytes) {
    return u32{bytes[0]} | u32{bytes[1]} << 8 | u32{bytes[2]} << 16 | u32{bytes[3]} << 24;
}

void fill(Row& row, u32 value) {
    for (u32& lane : row.lane) lane = value;
}

}  // namespace

void Exec::fill_mask() {
    for (u32 i = 0; i < kLanes; ++i) mask_row.lane[i] = (lanes >> i & 1) != 0 ? kAllLanes : 0;
    mask_of = lanes;
}

u32 Exec::constant_word(const Slot& s, u32 word) {
    if (!grid->has_bank(s.in.bank)) {
        trap(s, TrapReason::INVALID_CONST_ADDR, lanes);
        return 0;
    }
    // The field counts bytes without a sign here; its lowest bits are zero in whole words.
    const u64 offset = static_cast<u16>(s.in.bank_offset) + u64{word} * 4;
    if (offset % 4 != 0) {
        trap(s, TrapReason::MISALIGNED_IMMC_ADDR, lanes);
        return 0;
    }
    std::array<u8, 4> bytes{};
    if (!grid->read_constant(s.in.bank, offset, bytes)) {
        trap(s, TrapReason::MMU_FAULT, lanes, grid->launch().banks[s.in.bank].va + offset);
    }
    const u32 value = word_of(bytes);
    if (value == 0 && s.in.bank == 0 && offset / 4 < GridRun::kSizeWords) grid->note_zero_size(offset / 4);
    return value;
}

bool Exec::read_bindless(const Slot& s, u32 handle, u64 offset, std::span<u8> out) {
    std::fill(out.begin(), out.end(), u8{0});
    if (handle == sass::kUrz) return true;  // no bytes at all
    const u64 pair = warp->uniform[handle] | u64{warp->uniform[handle + 1]} << 32;
    // Address and size in units of 16 bytes, as public drivers for this chip write the pair.
    constexpr unsigned address_bits = 45, unit_shift = 4;
    const u64 va = (pair & ((u64{1} << address_bits) - 1)) << unit_shift, bytes = pair >> address_bits << unit_shift;
    if (offset >= bytes) return true;
    const std::span<u8> inside = out.first(std::min<u64>(out.size(), bytes - offset));
    if (grid->memory().read(va + offset, inside)) return true;
    trap(s, TrapReason::MMU_FAULT, lanes, va + offset);
    return false;
}

u32 Exec::bindless_word(const Slot& s, u32 word) {
    const u64 offset = static_cast<u16>(s.in.bank_offset) + u64{word} * 4;
    std::array<u8, 4> bytes{};
    if (offset % 4 != 0) {
        trap(s, TrapReason::MISALIGNED_IMMC_ADDR, lanes);
    } else {
        read_bindless(s, s.in.handle & sass::kUrz, offset, bytes);
    }
    return word_of(bytes);
}

void Exec::load_constant_row(Slot& s) {
    fill(s.row, constant_word(s, 0));
    // A trap leaves the row unmarked: it must be found again when the instruction runs again.
    if (event != Event::Trap) s.constant_epoch = epoch;
}

void Exec::load_slot_row(Slot& s, const sass::Source& source, bool pair) {
    if (source.kind == sass::SourceKind::Constant) {
        fill(s.row, constant_word(s, 0));
        if (pair) s.constant_high = constant_word(s, 1);
        if (event == Event::Trap) return;
    }
    s.constant_epoch = epoch;
}

const u32* Exec::spread_source(Slot& s, const sass::Source& source, u32 place) {
    if (source.kind == sass::SourceKind::Uniform) {
        fill(spread[place], warp->uniform[source.index]);
    } else {
        fill(spread[place], bindless_word(s, 0));
    }
    return spread[place].lane;
}

const u32* Exec::src_high(Slot& s, const sass::Source& source, u32 place, u32 immediate_high) {
    using sass::SourceKind;
    switch (source.kind) {
        case SourceKind::Register:
            return src_pair(source.index);
        case SourceKind::Immediate:
            fill(spread[place], immediate_high);
            return spread[place].lane;
        case SourceKind::Constant:
            fill(spread[place], constant_word(s, 1));
            return spread[place].lane;
        case SourceKind::Uniform:
            // src() has spread the low word in this place; the pair's row comes after the operand rows.
            fill(spread_high, source.index == sass::kUrz ? 0 : warp->uniform[source.index + 1]);
            return spread_high.lane;
        case SourceKind::Bindless:
            fill(spread_high, bindless_word(s, 1));
            return spread_high.lane;
        case SourceKind::None:
            break;
    }
    return reg(sass::kRz);
}

u32 Exec::scalar(Slot& s, const sass::Source& source) {
    using sass::SourceKind;
    switch (source.kind) {
        case SourceKind::Uniform:
            return warp->uniform[source.index];
        case SourceKind::Immediate:
            return s.in.immediate;
        case SourceKind::Constant:
            return constant_word(s, 0);
        case SourceKind::Bindless:
            return bindless_word(s, 0);
        case SourceKind::Register:
        case SourceKind::None:
            break;
    }
    return 0;
}

void Exec::trap(const Slot& s, TrapReason reason, u32 faulting_lanes, u64 address, std::string detail) {
    if (event == Event::Trap) return;
    event = Event::Trap;
    *trap_out = {.reason = reason,
                 .pc = pc,
                 .word = s.in.word,
                 .block = cta->id,
                 .warp = warp->index,
                 .lanes = faulting_lanes,
                 .address = address,
                 .detail = std::move(detail)};
    lanes = 0;
}

}  // namespace gpu::sm
