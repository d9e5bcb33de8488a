// The control information of a word, bits 125:105: what the compiler tells the warp scheduler.
#pragma once

#include "gpu_model/sm/isa/word.h"

namespace gpu::sass {

struct Control {
    u8 stall = 0;          // issue cycles to wait after this instruction before the warp's next one
    bool yield = false;    // hint; the bit is stored inverted
    u8 write_barrier = 7;  // scoreboard that falls when the result is written; 7 = none
    u8 read_barrier = 7;   // scoreboard that falls when the sources have been read; 7 = none
    u8 wait_mask = 0;      // scoreboards that must be zero before issue
    u8 reuse = 0;          // operand cache flags: bit 0 = first source, 1 = second, 2 = third
};

namespace at {
using Stall = WordField<108, 105>;
using NoYield = WordField<109, 109>;
using WriteBarrier = WordField<112, 110>;
using ReadBarrier = WordField<115, 113>;
using WaitMask = WordField<121, 116>;
using Reuse = WordField<125, 122>;
}  // namespace at

constexpr Control control_of(Word word) {
    return {
        .stall = static_cast<u8>(at::Stall::get(word)),
        .yield = at::NoYield::get(word) == 0,
        .write_barrier = static_cast<u8>(at::WriteBarrier::get(word)),
        .read_barrier = static_cast<u8>(at::ReadBarrier::get(word)),
        .wait_mask = static_cast<u8>(at::WaitMask::get(word)),
        .reuse = static_cast<u8>(at::Reuse::get(word)),
    };
}

}  // namespace gpu::sass
