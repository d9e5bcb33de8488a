// Which hardware classes the machine's chip has: TU104's class list, less the classes of engines that this board lacks, plus
// those that the board's engine list names beyond it.
#pragma once

#include <vector>

#include "sim/types.h"

namespace gpu {
struct ChipSpec;
}

namespace rm {

using namespace sim;

class ChipClasses {
public:
    ChipClasses() = default;  // TU104's class list as it is
    explicit ChipClasses(const gpu::ChipSpec& spec);
    bool has(u32 class_id) const;
    // The classes that clients are told of, in ascending order. Display classes are left out: the machine has none. (model)
    std::vector<u32> listed() const;

private:
    std::vector<u32> added_;
    std::vector<u32> removed_;
};

}  // namespace rm
