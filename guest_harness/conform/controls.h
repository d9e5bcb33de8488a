// The controls that generated sequences call, and how their answers are compared: controls.def.
#pragma once

#include "rm/abi/controls.h"
#include "sim/types.h"

namespace harness::conform {

using namespace sim;

enum class Compared : u8 { Bytes, Status };
struct ControlChoice {
    u32 id;
    Compared compared;
};
inline constexpr ControlChoice kControls[] = {
#define CONFORM_CONTROL(name, compared) {rm::abi::name, Compared::compared},
#include "guest_harness/conform/controls.def"
#undef CONFORM_CONTROL
};

}  // namespace harness::conform
