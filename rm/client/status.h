// Status codes by NVIDIA's names, and the errno values that the driver returns.
#pragma once

#include "rm/abi/status.h"

namespace rm::client {

using namespace abi;
using Status = NV_STATUS;

// Negated when returned, as the raw system call does.
inline constexpr i64 kEnoent = 2;
inline constexpr i64 kEio = 5;
inline constexpr i64 kEnxio = 6;
inline constexpr i64 kEbadf = 9;
inline constexpr i64 kEacces = 13;
inline constexpr i64 kEfault = 14;
inline constexpr i64 kEbusy = 16;
inline constexpr i64 kEinval = 22;
inline constexpr i64 kEnotty = 25;
inline constexpr i64 kErange = 34;
inline constexpr i64 kEnotsupp = 524;  // of the kernel alone, but dma-bufs let it out

}  // namespace rm::client
