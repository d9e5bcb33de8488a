// What a number or a name of the driver's interface means: ioctl requests, escapes, controls, classes, statuses, Xids, RPCs.
#pragma once

#include <string>
#include <string_view>

#include "sim/types.h"

namespace harness::trace {

// One line a meaning; empty when no table has the number.
std::string explain_value(sim::u64 value);
// A decimal or 0x number, or a name as NVIDIA spells it. Empty when it means nothing.
std::string explain(std::string_view text);

}  // namespace harness::trace
