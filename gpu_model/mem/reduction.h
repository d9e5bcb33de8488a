// Read-modify-write operations on memory words, as host semaphores, copy-engine semaphores and report semaphores ask
// for them. Source: clc46f.h and clc5b5.h REDUCTION fields, dev_pbdma manual.
#pragma once

#include "gpu_model/addresses.h"

namespace gpu {

// Numbered as in both class headers; the values 8 and 9 do not exist.
enum class Reduction : u8 { Imin = 0, Imax = 1, Ixor = 2, Iand = 3, Ior = 4, Iadd = 5, Inc = 6, Dec = 7, Fadd = 0xA };

// False: that combination of operation, signedness and width is not legal.
bool reduce_u32(Reduction op, bool is_signed, u32 memory, u32 operand, u32& out);
bool reduce_u64(Reduction op, bool is_signed, u64 memory, u64 operand, u64& out);

}  // namespace gpu
