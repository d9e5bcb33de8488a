// Virtual time as text for people: exact, never rounded.
#pragma once

#include <string>

#include "sim/types.h"

namespace sim {

// "41.003772 us", "12 s"; seconds from one second on, microseconds below. SimTime::max() is "never".
std::string format_time(SimTime time);

}  // namespace sim
