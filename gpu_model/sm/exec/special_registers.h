// Numbers of the special registers that S2R, CS2R and S2UR read and that the model knows.
// Source: names and numbers of isa/special_registers.def.
#pragma once

#include "gpu_model/sm/exec/slot.h"

namespace gpu::sm {

enum SpecialRegister : u32 {
    LaneId = 0x00,
    Clock = 0x01,
    VirtId = 0x03,
    Tid = 0x20,
    TidX = 0x21,
    TidY = 0x22,
    TidZ = 0x23,
    CtaIdX = 0x25,
    CtaIdY = 0x26,
    CtaIdZ = 0x27,
    SharedSize = 0x32,
    LocalHighOffset = 0x37,
    EqMask = 0x38,
    LtMask = 0x39,
    LeMask = 0x3a,
    GtMask = 0x3b,
    GeMask = 0x3c,
    VirtualSmId = 0x43,
    ClockLo = 0x50,
    ClockHi = 0x51,
    GlobalTimerLo = 0x52,
    GlobalTimerHi = 0x53,
    Pm0 = 0x64,
    PmHi3 = 0x6b,
    Zero = 0xff,
};

inline u32 special_register_id(const sass::Instruction& in) {
    return static_cast<u32>(in.word.bits(79, 72));
}

}  // namespace gpu::sm
