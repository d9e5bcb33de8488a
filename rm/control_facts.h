// Every control that either half of the driver answers, with how far the answer is right: for `tu104sim info --controls`, reports
// and tests.
#pragma once

#include <span>
#include <string_view>

#include "sim/types.h"

namespace rm {

using namespace sim;

enum class Rung : u8 {
    Exact,       // every byte follows from the chip's profile or from what was asked before
    Coherent,    // the shape is right and agrees with the other answers; some values are of our choosing
    Zeroed,      // a defined answer of zeroes: nothing of that kind exists on this machine
    StatusOnly,  // accepted; no effect that anybody can see
};
std::string_view rung_name(Rung rung);  // "exact", "coherent", "zeroed", "status-only"

enum class Half : u8 { Kernel, Firmware };
std::string_view half_name(Half half);

struct ControlFact {
    u32 id = 0;
    std::string_view name;
    Rung rung = Rung::Exact;
    Half half = Half::Kernel;
    std::string_view source;
};
// In ascending order of id; a control that both halves answer has a row for each, the kernel's first.
std::span<const ControlFact> control_facts();

}  // namespace rm
