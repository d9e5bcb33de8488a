// Wire structs of the driver's uvm_types.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, kernel-open/nvidia-uvm/uvm_types.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/nvCpuUuid.h"
#include "rm/abi/base.h"

namespace rm::abi {

struct UvmGpuMappingAttributes {
    NvProcessorUuid gpuUuid;
    NvU32 gpuMappingType;
    NvU32 gpuCachingType;
    NvU32 gpuFormatType;
    NvU32 gpuElementBits;
    NvU32 gpuCompressionType;
};
static_assert(sizeof(UvmGpuMappingAttributes) == 36);

struct UvmCounterConfig {
    NvU32 scope;
    NvU32 name;
    NvProcessorUuid gpuid;
    NvU32 state;
};
static_assert(sizeof(UvmCounterConfig) == 28);

}  // namespace rm::abi
