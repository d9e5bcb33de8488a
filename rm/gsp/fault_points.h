// Names of the firmware's fault points: faults::gsp_halt and so on. The rows are fault_points.def.
#pragma once

#include <string_view>

namespace rm::faults {

#define FAULT_POINT(constant, name, argument, effect) inline constexpr std::string_view constant = name;
#include "rm/gsp/fault_points.def"
#undef FAULT_POINT

}  // namespace rm::faults
