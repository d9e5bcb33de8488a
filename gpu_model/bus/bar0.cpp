// See bar0.h.
#include "gpu_model/bus/bar0.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu_model/regs/reg_block.h"
#include "sim/bits.h"
#include "sim/check.h"

namespace gpu {

namespace {

constexpr u32 kDwordBytes = 4;
using LOW = sim::Field<31, 0>;
using HIGH = sim::Field<63, 32>;

}  // namespace

void Bar0::map(u32 first, u32 last, RegisterUnit& unit) {
    SIM_CHECK(first % kDwordBytes == 0 && last % kDwordBytes == kDwordBytes - 1 && first < last, first, last);
    auto at =
        std::lower_bound(ranges_.begin(), ranges_.end(), first, [](const Range& r, u32 key) { return r.first < key; });
    SIM_CHECK(at == ranges_.end() || last < at->first, first, last);
    SIM_CHECK(at == ranges_.begin() || std::prev(at)->last < first, first, last);
    ranges_.insert(at, {first, last, &unit});
}

RegisterUnit* Bar0::unit_at(u32 offset) const {
    auto after =
        std::upper_bound(ranges_.begin(), ranges_.end(), offset, [](u32 key, const Range& r) { return key < r.first; });
    if (after == ranges_.begin()) return nullptr;
    const Range& range = *std::prev(after);
    return offset <= range.last ? range.unit : nullptr;
}

u32 Bar0::read_dword(u32 offset) {
    RegisterUnit* unit = unit_at(offset);
    return unit != nullptr ? unit->read(offset) : unknown_register_read(kernel_, offset);
}

void Bar0::write_dword(u32 offset, u32 value) {
    RegisterUnit* unit = unit_at(offset);
    if (unit != nullptr) unit->write(offset, value);
    else unknown_register_write(kernel_, offset, value);
}

u64 Bar0::read(u32 offset, unsigned bytes) {
    if (bytes == 2 * kDwordBytes) {
        u64 low = read_dword(offset);
        return HIGH::set(low, read_dword(offset + kDwordBytes));
    }
    u32 word = read_dword(offset / kDwordBytes * kDwordBytes);
    unsigned shift = offset % kDwordBytes * 8;
    return extract_bits(word, shift + bytes * 8 - 1, shift);
}

void Bar0::write(u32 offset, unsigned bytes, u64 value) {
    if (bytes == 2 * kDwordBytes) {
        write_dword(offset, static_cast<u32>(LOW::get(value)));
        write_dword(offset + kDwordBytes, static_cast<u32>(HIGH::get(value)));
        return;
    }
    if (bytes == kDwordBytes) return write_dword(offset, static_cast<u32>(LOW::get(value)));
    RegisterUnit* unit = unit_at(offset);
    if (unit != nullptr && unit->write_bytes(offset, bytes, static_cast<u32>(LOW::get(value)))) return;
    std::string_view where = unit != nullptr ? unit->unit_name() : "nothing";
    kernel_.unmodelled().refused(fmt::format("store of {} bytes to a register of {}", bytes, where), kernel_.now(),
                                 fmt::format("0x{:08x} = 0x{:x}", offset, value));
}

}  // namespace gpu
