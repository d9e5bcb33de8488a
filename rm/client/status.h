// Status codes by NVIDIA's names, and the errno values that the driver returns.
#pragma once

#include <string_view>

#include "rm/abi/base.h"

namespace rm::client {

using Status = u32;
using namespace abi;

#define NV_STATUS_CODE(name, value) inline constexpr Status name = value;
#include "rm/abi/status_codes.def"
#undef NV_STATUS_CODE

std::string_view status_text(Status status);

// Negated when returned, as the raw system call does.
inline constexpr i64 kEnoent = 2;
inline constexpr i64 kEio = 5;
inline constexpr i64 kEnxio = 6;
inline constexpr i64 kEbadf = 9;
inline constexpr i64 kEacces = 13;
inline constexpr i64 kEfault = 14;
inline constexpr i64 kEbusy = 16;
inline constexpr i64 kEinval = 22;
inline constexpr i64 kErange = 34;

}  // namespace rm::client
