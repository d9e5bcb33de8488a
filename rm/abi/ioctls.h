// The driver's ioctl numbers as constants, with their structs' sizes and names for decoders.
#pragma once

#include <string_view>

#include "rm/abi/base.h"
#include "sim/bits.h"

namespace rm::abi {

#define NV_ESC(name, number, type, bytes) inline constexpr NvU32 name = number;
#include "rm/abi/escapes.def"
#undef NV_ESC
#define UVM_IOCTL(name, number, type, bytes, rm_status) inline constexpr NvU32 name = number;
#include "rm/abi/uvm_ioctls.def"
#undef UVM_IOCTL

struct IoctlRow {
    u32 number;
    std::string_view name;
    std::string_view type;  // wire struct, "void" when it has none of ours
    u32 bytes;              // of the struct at 570.144
    u32 rm_status;          // UVM: offset of rmStatus
};
// number: the low byte of the request of /dev/nvidiactl and /dev/nvidiaN. nullptr: no such escape.
const IoctlRow* find_escape(u32 number);
// number: the raw request of /dev/nvidia-uvm.
const IoctlRow* find_uvm_ioctl(u32 number);

// The request word (asm-generic/ioctl.h): direction, size, type 'F', number.
using IOC_NR = sim::Field<7, 0>;
using IOC_TYPE = sim::Field<15, 8>;
using IOC_SIZE = sim::Field<29, 16>;
using IOC_DIR = sim::Field<31, 30>;
inline constexpr NvU32 NV_IOCTL_MAGIC = 'F';

}  // namespace rm::abi
