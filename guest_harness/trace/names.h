// NVIDIA's names of ids that cross the driver surface, from the tables of rm/abi. Empty when no table has the id.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/types.h"

namespace harness::trace {

using namespace sim;

struct IdName {
    u32 id = 0;
    std::string_view name;
    u32 bytes = 0;  // of the parameters at 570.144
};
std::span<const IdName> all_controls();  // in ascending order of id
std::span<const IdName> all_classes();

std::string_view control_name(u32 cmd);
// Bytes of the control's parameters at 570.144.
std::optional<u32> control_bytes(u32 cmd);
std::string_view rm_class_name(u32 id);
std::string_view status_name(u32 value);

// An ioctl request of any of the three nodes: the 'F' escapes are encoded as _IOWR numbers, UVM's are raw.
struct RequestName {
    std::string_view name;         // empty: unknown
    bool uvm = false;
    u32 number = 0;                // escape or UVM command
    std::optional<u32> status_at;  // offset of the status in the argument struct
};
RequestName request_name(u64 request);

inline constexpr u32 kEscRmControl = 42;  // NV_ESC_RM_CONTROL
inline constexpr u32 kEscRmAlloc = 43;    // NV_ESC_RM_ALLOC

// "UVM_FREE" or "0x2a" with the given prefix when there is no name.
std::string name_or_hex(std::string_view name, u64 value);

}  // namespace harness::trace
