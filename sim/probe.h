// Named coverage probes: SIM_PROBE(kernel, "ce.remap.const_b") marks a situation that tests and sweeps must reach.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sim/types.h"

namespace sim {

class Probes {
public:
    void hit(std::string_view name) {
        auto it = counts_.find(name);
        if (it == counts_.end()) counts_.emplace(std::string(name), 1);
        else ++it->second;
    }
    u64 count(std::string_view name) const {
        auto it = counts_.find(name);
        return it == counts_.end() ? 0 : it->second;
    }
    const std::map<std::string, u64, std::less<>>& counts() const { return counts_; }

private:
    std::map<std::string, u64, std::less<>> counts_;  // ordered: it is printed
};

}  // namespace sim

#define SIM_PROBE(kernel, name) (kernel).probes().hit(name)
