// What kernel modules and RM itself call of RM (nvUvmInterface*, RMAPI_API_LOCK_INTERNAL): objects under clients of
// their own, without a process's memory.
// Source: open-gpu-kernel-modules 570.144, rmapi/nv_gpu_ops.c, kernel-open/nvidia/nv_uvm_interface.c.
#pragma once

#include "rm/client/memory_unit.h"

namespace rm::client {

class KernelRm {
public:
    // A client that no file owns. 0: no free handle.
    virtual NvHandle kernel_client() = 0;
    virtual void free_kernel_client(NvHandle client) = 0;
    // `object` 0: the server chooses the handle.
    virtual Status kernel_alloc(NvHandle client, NvHandle parent, NvHandle& object, u32 class_id, std::span<u8> params) = 0;
    // RM_DUP_OBJECT between any two clients, without anybody's leave.
    virtual Status kernel_dup(NvHandle client, NvHandle parent, NvHandle& object, NvHandle source_client, NvHandle source) = 0;
    virtual Status kernel_free(NvHandle client, NvHandle object) = 0;
    virtual Status kernel_control(NvHandle client, NvHandle object, u32 cmd, std::span<u8> params) = 0;
    virtual Status kernel_map_dma(NvHandle client, NvHandle dma, MemoryUnit::DmaMap& map) = 0;
    // Starts the adapter if it is down and keeps it up until the matching kernel_gpu_put().
    virtual Status kernel_gpu_get() = 0;
    virtual void kernel_gpu_put() = 0;

protected:
    ~KernelRm() = default;
};

}  // namespace rm::client
