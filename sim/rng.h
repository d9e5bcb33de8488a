// Named random streams. A stream is derived by hash from (seed, component path, purpose), so a new draw in one place
// never shifts another place. Integers only.
#pragma once

#include <string_view>

#include "sim/types.h"

namespace sim {

class RandomStream {
public:
    RandomStream(u64 seed, std::string_view path, std::string_view purpose);

    u64 next();
    // Uniform in [0, bound). Precondition: bound > 0.
    u64 below(u64 bound);
    // True with probability numerator/denominator.
    bool chance(u64 numerator, u64 denominator);

private:
    u64 state_[4];  // xoshiro256**, seeded by splitmix64
};

}  // namespace sim
