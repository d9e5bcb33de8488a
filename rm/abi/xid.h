// Robust-channel error codes of 570.144 as constants; the Xid number is the code.
#pragma once

#include <string_view>

#include "rm/abi/base.h"

namespace rm::abi {

#define XID(name, number, since, until) XID_CONSTANT_##until(name, number, since)
#define XID_CONSTANT_0(name, number, since)
#define XID_CONSTANT_1(name, number, since)
#define XID_CONSTANT_2(name, number, since)
#define XID_CONSTANT_3(name, number, since)
#define XID_CONSTANT_4(name, number, since) inline constexpr NvU32 name = number;
#define XID_CONSTANT_5(name, number, since) XID_CONSTANT_5_SINCE_##since(name, number)
#define XID_CONSTANT_5_SINCE_0(name, number) inline constexpr NvU32 name = number;
#define XID_CONSTANT_5_SINCE_1(name, number) inline constexpr NvU32 name = number;
#define XID_CONSTANT_5_SINCE_2(name, number) inline constexpr NvU32 name = number;
#define XID_CONSTANT_5_SINCE_3(name, number) inline constexpr NvU32 name = number;
#define XID_CONSTANT_5_SINCE_4(name, number) inline constexpr NvU32 name = number;
#define XID_CONSTANT_5_SINCE_5(name, number)
#include "rm/abi/xid.def"
#undef XID

// "RC_LOGGING_ENABLED"; the first name of a number; empty for none.
std::string_view xid_name(u32 number);

}  // namespace rm::abi
