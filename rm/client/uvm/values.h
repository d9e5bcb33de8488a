// Values in UVM's ioctl structs, by NVIDIA's names. Source: open-gpu-kernel-modules 570.144, nvidia-uvm/uvm_types.h,
// uvm_ioctl.h, uvm_linux_ioctl.h.
#pragma once

#include <array>

#include "sim/types.h"

namespace rm::client::uvm {

using namespace sim;

// The bare numbers.
namespace request {
#define UVM_IOCTL(name, number, type, bytes, rm_status) inline constexpr u32 name = number;
#include "rm/abi/uvm_ioctls.def"
#undef UVM_IOCTL
}  // namespace request

inline constexpr u64 UVM_INIT_FLAGS_MULTI_PROCESS_SHARING_MODE = 0x2;
inline constexpr u64 UVM_INIT_FLAGS_MASK = 0x3;

inline constexpr u32 UvmGpuMappingTypeDefault = 0;
inline constexpr u32 UvmGpuMappingTypeReadWriteAtomic = 1;
inline constexpr u32 UvmGpuMappingTypeReadWrite = 2;
inline constexpr u32 UvmGpuMappingTypeReadOnly = 3;
inline constexpr u32 UvmGpuMappingTypeCount = 4;
inline constexpr u32 UvmGpuCachingTypeDefault = 0;
inline constexpr u32 UvmGpuCachingTypeForceUncached = 1;
inline constexpr u32 UvmGpuCachingTypeForceCached = 2;
inline constexpr u32 UvmGpuCachingTypeCount = 3;
inline constexpr u32 UvmGpuFormatTypeDefault = 0;
inline constexpr u32 UvmGpuFormatTypeBlockLinear = 1;
inline constexpr u32 UvmGpuFormatElementBitsDefault = 0;
inline constexpr u32 kUvmGpuFormatElementBits24 = 3;  // the hole in the enumeration
inline constexpr u32 UvmGpuFormatElementBits128 = 6;
inline constexpr u32 UvmGpuCompressionTypeEnabledNoPlc = 1;
inline constexpr u32 UvmGpuCompressionTypeCount = 2;

inline constexpr u32 UVM_MIGRATE_FLAG_ASYNC = 0x1;
inline constexpr u32 UVM_MIGRATE_FLAGS_ALL = 0x7;
inline constexpr u32 UVM_MIGRATE_FLAGS_TEST_ALL = 0x6;
inline constexpr u32 UVM_MAX_RANGE_GROUPS_PER_IOCTL_CALL = 32;
inline constexpr u64 UVM_RANGE_GROUP_ID_NONE = 0;
inline constexpr u32 UVM_MAX_PROCESSORS_V1 = 33;   // the processor and 32 GPUs
inline constexpr u32 UVM_ID_MAX_PROCESSORS = 257;  // the processor, and 8 partitions of each GPU

// NV_PROCESSOR_UUID_CPU_DEFAULT
inline constexpr std::array<u8, 16> kCpuUuid = {0xa6, 0x5e, 0x0f, 0x4e, 0xd7, 0xd4, 0x7b, 0xa2,
                                                0x50, 0x47, 0x41, 0x2c, 0x14, 0x2a, 0x77, 0x73};

}  // namespace rm::client::uvm
