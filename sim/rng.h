// Named random streams. A stream is derived by hash from (seed, component path, purpose), so a new draw in one place
// never shifts another place. Integers only.
#pragma once

#include <array>
#include <string_view>

#include "sim/types.h"

namespace sim {

class StateVisitor;

class RandomStream {
public:
    RandomStream(u64 seed, std::string_view path, std::string_view purpose);

    // From the generator's state itself. Precondition: not all zero.
    explicit RandomStream(const std::array<u64, 4>& state);

    u64 next();
    // Uniform in [0, bound). Precondition: bound > 0.
    u64 below(u64 bound);
    // True with probability numerator/denominator. Precondition: denominator > 0.
    bool chance(u64 numerator, u64 denominator);
    void visit(StateVisitor& visitor);

private:
    std::array<u64, 4> state_;  // xoshiro256**, seeded by splitmix64
};

// One step of splitmix64: advances `state` and returns the output.
u64 splitmix64(u64& state);

}  // namespace sim
