// Channel groups, context shares and channels: what the kernel driver allocates and chooses before it tells the
// firmware. Source: open-gpu-kernel-modules 570.144, kernel_channel.c, kernel_channel_group_api.c, kernel_ctxshare.c,
// kernel_fifo_tu102.c.
#pragma once

#include "rm/abi/alloc_channel.h"
#include "rm/client/memory_unit.h"

namespace rm::client {

class ChannelUnit {
public:
    ChannelUnit(Context& context, VaSpaces& spaces, MemoryUnit& memory)
        : context_(context), spaces_(spaces), memory_(memory) {}

    Status construct_group(AllocCall& call);
    Status construct_context_share(AllocCall& call);
    Status construct_channel(AllocCall& call);
    void destroy(ChannelData& channel);

    // The adapter came up: channel ids are free.
    void reset();

    MemoryUnit& memory() { return memory_; }
    u32 work_submit_token(const ChannelData& channel) const;
    // Puts the token where the client asked for it: an entry of the channel's error notifier memory.
    void notify_token(ClientEntry& client, const ChannelData& channel, u32 token);

    // The channel that the firmware means; nullptr: none.
    ChannelData* find_channel(u32 runlist, u32 chid, ClientEntry** client, Object** object);
    void visit(sim::StateVisitor& visitor) { visitor.field("chids", chids_); }

private:
    static Status use_legacy_shares(ClientEntry& client, ChannelGroupData* group, NvHandle parent);
    Status describe_userd(AllocCall& call, NV_CHANNEL_ALLOC_PARAMS& params, ChannelData& channel);

    Context& context_;
    VaSpaces& spaces_;
    MemoryUnit& memory_;
    RangeHeap chids_;
};

}  // namespace rm::client
