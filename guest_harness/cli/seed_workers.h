// Many seeds on several processes: each works through every Nth seed, so that what does not depend on the seed is done
// once, and a seed that ends its process ends only itself. Answers arrive in the order of seeds, whatever the number of
// processes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "sim/types.h"

namespace harness::cli {

using namespace sim;

// The seeds first, first + step, ..., `count` of them.
struct SeedRange {
    u64 first = 0;
    u64 step = 1;
    u64 count = 0;
    u64 at(u64 index) const { return first + index * step; }
};

inline constexpr u64 kWorkersMax = 256;

// work: in a worker, for one seed; exceptions are bugs there. take: here, with no answer when the worker ended at this
// seed; the next one begins behind it. Throws HostError when the host refuses a process. Precondition: 1 <= workers <=
// kWorkersMax.
void run_seeds(const SeedRange& seeds, u64 workers, const std::function<std::string(u64 seed)>& work,
               const std::function<void(u64 seed, const std::optional<std::string>& answer)>& take);

}  // namespace harness::cli
