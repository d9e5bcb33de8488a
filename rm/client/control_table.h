// What the kernel driver knows of each control: who exports it, the exact parameter size, its flags.
// Flag bits: control.h of driver 570.144.
#pragma once

#include <span>
#include <string_view>

#include "rm/abi/base.h"

namespace rm::client {

using namespace sim;

inline constexpr u32 RMCTRL_FLAGS_PRIVILEGED = 0x4;
inline constexpr u32 RMCTRL_FLAGS_NON_PRIVILEGED = 0x8;
inline constexpr u32 RMCTRL_FLAGS_ROUTE_TO_PHYSICAL = 0x40;
inline constexpr u32 RMCTRL_FLAGS_INTERNAL = 0x80;
inline constexpr u32 RMCTRL_FLAGS_CACHEABLE = 0x400;
inline constexpr u32 RMCTRL_FLAGS_COPYOUT_ON_ERROR = 0x800;

struct ControlRow {
    u32 number = 0;
    std::string_view name;
    u32 param_bytes = 0;
    u32 flags = 0;
    bool exported = false;  // some object type of the kernel driver has it

    // A type exports its own controls and those of what it is derived from.
    bool exported_by(std::string_view internal_type) const;
    bool routed_to_gsp() const { return (flags & RMCTRL_FLAGS_ROUTE_TO_PHYSICAL) != 0; }
};

// nullptr: no such number in the driver's headers.
const ControlRow* find_control(u32 number);
std::span<const ControlRow> control_rows();

}  // namespace rm::client
