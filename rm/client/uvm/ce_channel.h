// UVM's own channel on a copy engine, through which it writes page tables. UVM keeps several pools of channels; the
// static part needs only the one for memory operations. Source: open-gpu-kernel-modules 570.144, nvidia-uvm
// (uvm_channel.c, uvm_pushbuffer.c), rmapi/nv_gpu_ops.c (nvGpuOpsTsgAllocate, channelAllocate).
#pragma once

#include "rm/client/context.h"
#include "rm/client/kernel_rm.h"
#include "rm/client/uvm/push.h"

namespace rm::client::uvm {

class CeChannel {
public:
    CeChannel(const Context& context, KernelRm& rm) : context_(context), rm_(rm) {}

    // Address space, memory, group, channel and copy object under `device` of `client`; the engine is scheduled.
    Status create(NvHandle client, NvHandle device);
    // The objects go with their client.
    void forget();

    Push begin() const;
    // Ends the push with a release of the tracking semaphore, rings, and waits. NV_ERR_RC_ERROR: the channel died or did
    // not answer; nothing can be sent any more. On a fiber.
    Status submit(Push& push, Membar before_release);
    Status status() const { return failed_ ? NV_ERR_RC_ERROR : NV_OK; }
    u64 pushes() const { return value_; }
    void visit(sim::StateVisitor& visitor);

private:
    Status create_memory(NvHandle device, NvHandle space);
    Status create_channel(NvHandle device, NvHandle space);
    std::optional<u32> copy_engine() const;
    bool dead() const;

    const Context& context_;
    KernelRm& rm_;
    NvHandle client_ = 0;
    NvHandle memory_handle_ = 0;
    NvHandle channel_handle_ = 0;
    u64 memory_ = 0;  // system physical
    u64 va_ = 0;
    u32 token_ = 0;
    u32 put_ = 0;
    u32 value_ = 0;  // of the tracking semaphore after the last push
    bool failed_ = false;
};

}  // namespace rm::client::uvm
