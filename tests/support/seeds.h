// How many seeds a test sweeps: what the test says, or TU104SIM_SEEDS (1000 for a long look at every schedule).
#pragma once

#include <cstdlib>

#include "sim/types.h"

namespace test_support {

inline sim::u64 seed_count(sim::u64 usual) {
    const char* text = std::getenv("TU104SIM_SEEDS");
    return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}

}  // namespace test_support
