// The second half of reading a cubin: .nv.info attributes, and what they and the sections say about each kernel.
#pragma once

#include "gpu_model/sm/cubin.h"

namespace gpu {

// Both fill the cubin and return an empty string, or the error. Precondition: sections, symbols and relocations are
// read.
std::string read_attributes(Cubin& cubin);
std::string collect_kernels(Cubin& cubin);

}  // namespace gpu
