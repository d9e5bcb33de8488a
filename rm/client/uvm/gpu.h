// The GPU as UVM holds it: a session of UVM's own under RM (client, device, subdevice), the memory-operations channel,
// and RM's calls on behalf of address spaces. Shared by all UVM files; lives while any of them has the GPU registered.
// Source: open-gpu-kernel-modules 570.144, nvidia-uvm/uvm_gpu.c (add_gpu, init_gpu), rmapi/nv_gpu_ops.c.
#pragma once

#include <set>

#include "rm/client/uvm/fault_queue.h"
#include "rm/client/uvm/page_tree.h"

namespace rm::client::uvm {

class Gpu {
public:
    Gpu(const Context& context, VaSpaces& spaces, KernelRm& rm)
        : context_(context), spaces_(spaces), rm_(rm), faults_(context), channel_(context, rm) {}

    // NV_ERR_GPU_UUID_NOT_FOUND: no such GPU. The first one opens the device and builds the session.
    Status retain(std::span<const u8> uuid);
    void release();
    bool is(std::span<const u8> uuid) const;
    std::vector<u8> uuid() const { return context_.adapter.info().gid; }
    Status status() const { return channel_.status(); }
    u64 pushes() const { return channel_.pushes(); }
    u32 users() const { return users_; }
    PageTree make_tree() { return PageTree(context_.adapter, channel_); }

    // A duplicate of a process's address space under the session. `number`: of the space itself.
    Status dup_va_space(NvHandle client, NvHandle va_space, NvHandle* duped, u32* number);
    void free_duped(NvHandle duped);
    // NV_ERR_NOT_SUPPORTED: the space has a directory already.
    Status set_page_directory(NvHandle duped, u32 number, gpu::FbPa root);
    void unset_page_directory(NvHandle duped, u32 number);
    // Takes a channel off its runlist, if the handle still means the channel with that number.
    void stop_channel(NvHandle client, NvHandle channel, u32 chid);
    // The next non-replayable fault that the firmware has left to UVM; empty: none waits.
    std::optional<gpu::FaultPacket> next_fault() { return faults_.pop(); }
    // Gives a fault that cannot be serviced back to RM, which takes the channel down. On a fiber.
    Status report_fault(const gpu::FaultPacket& packet);
    void visit(sim::StateVisitor& visitor);

private:
    Status build();
    void tear_down();

    const Context& context_;
    VaSpaces& spaces_;
    KernelRm& rm_;
    FaultQueue faults_;
    CeChannel channel_;
    u32 users_ = 0;
    NvHandle client_ = 0;
    NvHandle device_ = 0;
    NvHandle subdevice_ = 0;
    std::set<u32> with_directory_;  // numbers of spaces whose directory UVM set
};

}  // namespace rm::client::uvm
