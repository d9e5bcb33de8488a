// A chip bench with one channel on the graphics runlist, where compute state shows what arrived.
#pragma once

#include "tests/support/chip_bench.h"

namespace bench {

struct GrBench {
    ChipBench bench;
    BenchChannel& channel;
    explicit GrBench(ChannelOptions options = {}, bool timing = true, u64 seed = 0)
        : bench(seed, timing), channel(add(options)) {
        bench.submit_runlist(0);
    }
    BenchChannel& add(ChannelOptions options) {
        options.runlist = 0;
        return bench.add_channel(options);
    }
    u32 state(u32 method) const { return bench.compute->state(channel.chid, method); }
};

inline constexpr u32 kScratch = nvc5c0::SET_MME_SHADOW_SCRATCH;  // 256 words of plain state

}  // namespace bench
