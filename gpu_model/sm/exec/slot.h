// A decoded instruction made ready to run: its handler, its predicates by index, and its immediate spread over a row.
#pragma once

#include "gpu_model/sm/exec/warp.h"
#include "gpu_model/sm/isa/decode.h"

namespace gpu::sm {

struct Exec;
struct Slot;
using Handler = void (*)(Exec&, Slot&);

// A predicate as an operand: preds[index] ^ flip.
struct PredicateSource {
    u8 index = sass::kPt;
    u32 flip = 0;
};

struct Slot {
    Handler run = nullptr;  // nullptr: not decoded yet
    sass::Instruction in;
    PredicateSource guard, pp, pq, pr;  // guard; 89:87; 79:77; 70:68
    u8 pu = sass::kPt, pv = sass::kPt;  // destinations 83:81, 86:84
    bool uniform = false;               // of the uniform datapath: guard and predicates are uniform
    u8 register_top = 0;                // one more than the highest register named; RZ does not count
    // register_top of an instruction that GridRun may run in a stretch of straight code (handlers.h), else no launch's
    // number of registers.
    static constexpr u16 kNotStraight = 256;
    u16 straight_top = kNotStraight;
    bool skippable = false;             // of the vector datapath with a guard: nothing happens where that is false
    u32 constant_high = 0;              // second word of a constant pair, of the handlers that say so
    // Where in Warp the rows of rd and of the register sources lie, in bytes: what Exec::row() takes. Without arithmetic
    // sources `a` is ra.
    struct Rows {
        u16 d = 0, a = 0, b = 0, c = 0;
    };
    Rows rows;
    // Modifiers that usual forms read each time, taken out of the word once.
    struct Modifiers {
        bool is_signed = false;  // ISETP, IMAD.WIDE
        u8 compare = 0;          // ISETP
        u8 bool_op = 0;
        u8 left = 0;  // rotation by SHF
    };
    Modifiers modifiers;
    u64 constant_epoch = 0;             // the launch whose constant is in `row`
    Row row{};                          // immediate, or constant
};

}  // namespace gpu::sm
