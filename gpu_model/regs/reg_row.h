// One row of a register table, and the handle by which code names it.
#pragma once

#include <string_view>

#include "gpu_model/addresses.h"

namespace gpu {

enum class RegAccess : u8 {
    R,    // software reads; only hardware changes it
    RW,   // software's writable bits are stored
    W1C,  // writing one clears
    WO,   // reads zero; a write has an effect or none
    HW,   // nothing is stored: the owning unit answers every read and write
};

// Where a row's facts come from.
enum class RegTier : u8 {
    Manual,     // TU104 register manual
    Header,     // Turing header that the open driver ships
    Inherited,  // an older chip's header that the driver still uses on Turing
    Driver,     // seen in a driver's code only
};

struct RegRow {
    std::string_view name;
    u32 offset;
    u32 stride;
    u32 count;
    RegAccess access;
    u32 reset;
    u32 writable;
    RegTier tier;
};

// `regs::NV_PMC_INTR` as an offset, `regs::NV_PMC_INTR.at(1)` as that of an element.
struct Reg {
    u32 offset;
    u32 stride;
    u32 count;
    constexpr u32 at(u32 index) const { return offset + stride * index; }
    constexpr operator u32() const { return offset; }
};

}  // namespace gpu
