// The values of .nv.info attributes as NVIDIA's cuobjdump words them, in one line.
#pragma once

#include <string>

#include "gpu_model/sm/cubin.h"

namespace gpu {

// Empty: an attribute without a value. A payload that is too short for its kind is shown as its words.
std::string nv_info_value(const Cubin& cubin, const CubinAttribute& attribute);

}  // namespace gpu
