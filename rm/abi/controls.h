// Control ids as constants, with their names, parameter sizes and export flags at 570.144.
#pragma once

#include <string_view>

#include "rm/abi/base.h"
#include "sim/bits.h"

namespace rm::abi {

#define RM_CONTROL(name, id, bytes, flags) inline constexpr NvU32 name = id;
#include "rm/abi/controls.def"
#undef RM_CONTROL

struct ControlRow {
    u32 id;
    std::string_view name;
    u32 params_bytes;
    u32 flags;  // RMCTRL_FLAGS_*
};
// nullptr: no such control in the headers.
const ControlRow* find_control(u32 id);
std::string_view control_name(u32 id);

// Export flags (control.h at 570.144).
using RMCTRL_FLAGS_NON_PRIVILEGED = sim::Field<3, 3>;
using RMCTRL_FLAGS_ROUTE_TO_PHYSICAL = sim::Field<6, 6>;
using RMCTRL_FLAGS_COPYOUT_ON_ERROR = sim::Field<11, 11>;
// Control number: bit 15 marks what the kernel passes to the firmware unread.
using RM_GSS_LEGACY_MASK = sim::Field<15, 15>;
// Flags of an RPC control record (rpc_gsp_rm_control).
using RMAPI_RPC_FLAGS_COPYOUT_ON_ERROR = sim::Field<0, 0>;
using RMAPI_RPC_FLAGS_SERIALIZED = sim::Field<1, 1>;

}  // namespace rm::abi
