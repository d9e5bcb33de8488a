// The last 128 commands to the firmware and the last 128 events from it, as the driver prints them when a reply does not come.
// Source: open-gpu-kernel-modules 570.144, kernel_gsp.c (_kgspLogRpcHistoryEntry and its callers).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "rm/versions.h"
#include "sim/state_visitor.h"

namespace rm::client {

class RpcHistory {
public:
    static constexpr u32 kEntries = 128;

    // `detail`: what the first words of the payload say, as control command or class.
    void begin(u32 function, u32 sequence, u32 detail, SimTime now);
    // The reply to the newest command came.
    void end(SimTime now);
    void event(u32 function, u32 sequence, SimTime now);

    // Newest first, one line each: kind, index, name, number, sequence, detail, start, end, duration; events say which of them came
    // while a command was still waiting for its reply.
    std::vector<std::string> lines(const DriverVersion& version) const;
    void visit(sim::StateVisitor& visitor);

private:
    struct Entry {
        u32 function = 0;
        u32 sequence = 0;
        u32 detail = 0;
        bool ended = false;
        bool during_rpc = false;
        SimTime start;
        SimTime end;
        void visit(sim::StateVisitor& visitor);
    };
    struct Ring {
        std::array<Entry, kEntries> entries{};
        u64 count = 0;
        Entry& next() { return entries[count++ % kEntries]; }
        void visit(sim::StateVisitor& visitor);
    };
    Ring commands_;
    Ring events_;
    bool waiting_ = false;
};

}  // namespace rm::client
