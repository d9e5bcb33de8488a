// Reads memory objects of a trace's process from outside: where the process has mapped them, or through a mapping of this class's own,
// which it takes back before the objects may go.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "guest_harness/crossings.h"
#include "guest_harness/hw/replies.h"
#include "guest_harness/trace/work_view.h"

namespace harness::hw {

class MemoryView {
public:
    MemoryView(ProcessDriver& driver, const Replies& replies) : driver_(driver), replies_(replies) {}

    // Every call of the trace: notes which memory objects there are.
    void note(const CallRecord& call);
    // Bytes of a GPU range as `view` maps it. Empty: some byte cannot be reached.
    std::vector<u8> read(const trace::WorkView& view, u64 va, u64 bytes);
    // Takes back its mappings.
    void release();

private:
    struct Object {
        int fd = -1;     // of the control node that the client came from
        u32 client = 0;
        u32 parent = 0;  // recorded handles
        bool system = false;
        u64 bytes = 0;
    };
    struct Own {
        u64 address = 0;
        u64 cookie = 0;
        u64 bytes = 0;
    };
    std::optional<u64> map(u32 memory);
    bool load(u64 address, std::span<u8> out);

    static constexpr u32 kTid = 1;
    static constexpr int kFirstFd = 0x10000;                  // no client opens so many
    static constexpr u64 kFirstAddress = 0x5000'0000'0000;    // where guests map nothing

    ProcessDriver& driver_;
    const Replies& replies_;
    std::map<u32, Object> objects_;  // by recorded handle
    std::map<u32, Own> own_;
    int next_fd_ = kFirstFd;
    u64 next_address_ = kFirstAddress;
};

}  // namespace harness::hw
