// What the firmware keeps of non-replayable MMU faults: the shadow buffer of the client (UVM) that services some of
// them, and which faults went there. Source: NVIDIA/open-gpu-kernel-modules tag 570.144, kern_gmmu.c, kern_gmmu_gv100.c.
#pragma once

#include <vector>

#include "gpu_model/mem/fault_packet.h"
#include "sim/state_visitor.h"

namespace rm::gsp {

using namespace sim;

// How many packets the fault buffers hold. (model) Silicon tells by SIZE.SET_DEFAULT.
inline constexpr u32 kNonReplayableFaults = 4096;
inline constexpr u32 kReplayableFaults = 8192;

// The driver's circular queue in system memory: one page with the indexes (rm/shadow_queue.h), and pages of packets.
struct ShadowBuffer {
    u64 queue = 0;
    std::vector<u64> pages;
    u32 bytes = 0;
    bool registered() const { return !pages.empty(); }
    void visit(StateVisitor& visitor);
};

// A fault that the client has been told of: the chip's error report of the same fault is not the firmware's affair.
struct ClientFault {
    u64 instance = 0;
    u32 engine_id = 0;
    u64 page = 0;  // address
    friend bool operator==(const ClientFault&, const ClientFault&) = default;
    void visit(StateVisitor& visitor);
};

}  // namespace rm::gsp
