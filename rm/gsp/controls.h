// The firmware's control table as data, for coverage and documentation.
#pragma once

#include <span>
#include <string_view>

#include "sim/types.h"

namespace rm::gsp {

using namespace sim;

enum class ControlRung : u8 { Exact, Coherent, Zeroed, StatusOnly };  // see controls.def

struct ControlInfo {
    u32 id;
    std::string_view name;
    ControlRung rung;
    std::string_view source;
};
std::span<const ControlInfo> control_rows();

}  // namespace rm::gsp
