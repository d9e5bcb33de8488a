// What a host semaphore acquire compares. Source: dev_pbdma manual (NV_UDMA_SEM_EXECUTE), clc46f.h.
#pragma once

#include "gpu_model/addresses.h"

namespace gpu {

// Numbered as SEM_EXECUTE_OPERATION.
enum class AcquireOp : u8 { Equal = 0, StrictGeq = 2, CircGeq = 3, And = 4, Nor = 5 };

bool acquire_holds(AcquireOp op, u64 memory, u64 payload, bool is_64bit);

}  // namespace gpu
