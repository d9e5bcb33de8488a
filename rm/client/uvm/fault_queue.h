// The shadow buffer of non-replayable MMU faults: the firmware fills it, UVM empties it.
// Source: open-gpu-kernel-modules 570.144, kern_gmmu.c (kgmmuClientShadowFaultBufferAllocate, -Register),
// rmapi/nv_gpu_ops.c (nvGpuOpsInitFaultInfo, nvGpuOpsGetNonReplayableFaults). (model): the object of class
// MMU_FAULT_BUFFER in between is left out, and so is the replayable buffer, whose faults nobody services here.
#pragma once

#include "gpu_model/mem/fault_packet.h"
#include "rm/client/context.h"

namespace rm::client::uvm {

class FaultQueue {
public:
    explicit FaultQueue(const Context& context) : context_(context) {}

    // Memory for the queue, and the firmware told of it. On a fiber.
    Status create();
    void destroy();
    // The oldest packet that waits; empty: none.
    std::optional<gpu::FaultPacket> pop();
    void visit(sim::StateVisitor& visitor);

private:
    void free_memory();
    u64 read_word(u64 offset) const;
    void write_word(u64 offset, u64 value) const;

    const Context& context_;
    u64 queue_ = 0;   // system physical: the page with the indexes
    u64 buffer_ = 0;  // and the packets
    u32 bytes_ = 0;
    bool registered_ = false;
};

}  // namespace rm::client::uvm
