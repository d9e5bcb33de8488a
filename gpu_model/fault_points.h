// Names of the chip's fault points: faults::pci_lost and so on. The rows are fault_points.def.
#pragma once

#include <string_view>

namespace gpu::faults {

#define FAULT_POINT(constant, name, argument, effect) inline constexpr std::string_view constant = name;
#include "gpu_model/fault_points.def"
#undef FAULT_POINT

}  // namespace gpu::faults
