// Which methods and enumerated field values of the channel's and the copy engine's class some work has exercised. A value counts
// when it takes effect, not when it is stored: a reduction's operation counts when a reduction is executed, a block height
// when a launch reads that surface (method_coverage.cpp lists which method makes which field count, and when).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_model/engine/method_table.h"
#include "guest_harness/trace/pushbuffer.h"

namespace harness::trace {

class MethodCoverage {
public:
    // The next data word of this channel, as PushbufferDecoder gives it.
    void add(u32 channel, const MethodWord& word);

    struct Missing {
        std::string name;    // "LAUNCH_DMA", "LAUNCH_DMA.VPRMODE=VPR_VID2VID"
        std::string reason;  // why no work can exercise it here; empty: none is known
    };
    struct ClassBars {
        u32 class_id = 0;
        std::string_view class_name;
        u32 methods = 0, methods_seen = 0;
        u32 values = 0, values_seen = 0;
        std::vector<Missing> missing;
    };
    // One entry per class that is measured: TURING_CHANNEL_GPFIFO_A, TURING_DMA_COPY_A.
    std::vector<ClassBars> bars() const;
    // "  C46F TURING_CHANNEL_GPFIFO_A  methods 24 of 24 (100.0%)  values 90 of 92 (97.8%)", then what is missing.
    std::string text() const;

private:
    using State = std::map<u32, u32>;  // last data of each method, by byte offset
    void count_fields(const gpu::MethodTable& table, u32 method, u32 data, u32 trigger, const State& state);

    std::map<std::pair<u32, u32>, State> states_;     // by channel and class
    std::set<std::pair<u32, std::size_t>> seen_;      // class and row of its table
};

}  // namespace harness::trace
