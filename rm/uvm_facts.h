// Which ioctls of UVM are answered, as data for people: the rows of rm/client/uvm/ioctl_handlers.def with the numbers and
// structs of rm/abi.
#pragma once

#include <string_view>
#include <vector>

#include "sim/types.h"

namespace rm {

using namespace sim;

struct UvmFact {
    u32 number = 0;  // the raw request
    std::string_view name;
    std::string_view node;      // the device node that routes it
    std::string_view type;      // of its struct
    u32 bytes = 0;              // of the struct at 570.144
    bool needs_initialize = true;
    std::string_view rung;      // how far the answer is right; the table says what each word means
    std::string_view source;    // file of the driver's kernel-open/nvidia-uvm
};
// In the order of the table.
std::vector<UvmFact> uvm_facts();

}  // namespace rm
