// One runlist: its registers and the parsed list of channel groups. The list is read from memory once, when SUBMIT is
// written. Source: dev_fifo, dev_ram (RAMRL) manuals of TU104.
#pragma once

#include <vector>

#include "gpu_model/addresses.h"
#include "gpu_model/mem/memory.h"
#include "sim/bits.h"
#include "sim/state_visitor.h"

namespace gpu {

struct RunlistChannel {
    u32 chid = 0;
    u32 runqueue = 0;
    void visit(sim::StateVisitor& visitor);
};

struct TsgEntry {
    u32 tsgid = 0;
    u64 timeslice_ps = 0;
    std::vector<RunlistChannel> channels;
    u32 next_channel = 0;  // round robin inside the group
    void visit(sim::StateVisitor& visitor);
};

struct Runlist {
    using BASE_LO_TARGET = sim::Field<1, 0>;
    using BASE_LO_PTR = sim::Field<31, 12>;
    using BASE_HI_PTR = sim::Field<7, 0>;
    using SUBMIT_LENGTH = sim::Field<15, 0>;
    using SUBMIT_OFFSET = sim::Field<31, 16>;
    using INFO_PENDING = sim::Field<15, 15>;

    u32 id = 0;
    std::vector<u32> pbdmas;  // by runqueue
    u32 base_lo = 0;
    u32 base_hi = 0;
    u32 submit = 0;
    bool submit_pending = false;

    std::vector<TsgEntry> tsgs;
    u32 current = 0;  // index of the group that has the runlist
    SimTime slice_end;
    bool slice_timer = false;  // an event for slice_end is pending

    // Reads and checks the list that BASE and SUBMIT name into tsgs. False: the list is malformed (BAD_TSG) and tsgs is
    // empty.
    bool load(PhysicalMemory& memory);
    u32 channel_count() const;
    void visit(sim::StateVisitor& visitor);
};

}  // namespace gpu
