// Wire structs of the driver's ctrl2080gpio.h that the simulator uses, names and layout unchanged.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, src/common/sdk/nvidia/inc/ctrl/ctrl2080/ctrl2080gpio.h (tools/gen_abi.py).
#pragma once

#include "rm/abi/base.h"

namespace rm::abi {

struct NV2080_CTRL_INTERNAL_GPIO_ACTIVATE_HW_FUNCTION_PARAMS {
    NvU32 function;
    NvU32 pin;
};
static_assert(sizeof(NV2080_CTRL_INTERNAL_GPIO_ACTIVATE_HW_FUNCTION_PARAMS) == 8);

struct NV2080_CTRL_INTERNAL_GPIO_PROGRAM_DIRECTION_PARAMS {
    NvU32 gpioPin;
    NvBool bInput;
    NvU8 hole0[3];
};
static_assert(sizeof(NV2080_CTRL_INTERNAL_GPIO_PROGRAM_DIRECTION_PARAMS) == 8);

struct NV2080_CTRL_INTERNAL_GPIO_PROGRAM_OUTPUT_PARAMS {
    NvU32 gpioPin;
    NvU32 value;
};
static_assert(sizeof(NV2080_CTRL_INTERNAL_GPIO_PROGRAM_OUTPUT_PARAMS) == 8);

struct NV2080_CTRL_INTERNAL_GPIO_READ_INPUT_PARAMS {
    NvU32 gpioPin;
    NvU32 value;
};
static_assert(sizeof(NV2080_CTRL_INTERNAL_GPIO_READ_INPUT_PARAMS) == 8);

}  // namespace rm::abi
