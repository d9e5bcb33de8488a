// The work that a guest gives real hardware: rings, pushbuffers and USERD as they lie in mapped memory. Before a channel's PUT moves,
// the entries that it uncovers are read, checked and brought into the words of the classes that are there, in place.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "guest_harness/hw/exchange.h"
#include "guest_harness/hw/system.h"
#include "guest_harness/trace/pushbuffer.h"

namespace harness::hw {

class Work {
public:
    Work(System& system, const ClassExchange& classes) : system_(system), classes_(classes) {}

    // [offset, offset + bytes) of the memory object is at the host address.
    void mapped(u32 memory, u64 address, u64 offset, u64 bytes);
    void unmapped(u64 address, u64 bytes);
    void gpu_mapped(u64 va, u32 memory, u64 offset, u64 bytes) { gpu_[va] = {bytes, memory, offset}; }
    void gpu_unmapped(u64 va) { gpu_.erase(va); }
    struct ChannelParams {
        u32 channel_class = 0;  // Turing's
        u64 ring_va = 0;
        u32 ring_entries = 0;
        u32 userd_memory = 0;
        u64 userd_offset = 0;
    };
    void channel_made(u32 handle, const ChannelParams& params);
    void object_freed(u32 handle);

    // Whether a PUT lies in the range, so that each store there must be seen.
    bool has_put(u64 address, u64 bytes) const;
    // A store to mapped memory is about to happen. Not empty: what it would submit cannot be said on this hardware.
    std::string before_store(u64 address, unsigned bytes, u64 value);
    // Where to look for ring entries and pushbuffers before the memory itself, which a device may hold. False: it has them not.
    using Stored = std::function<bool(u64 gpu_address, std::span<u8> out)>;
    void read_first(Stored stored) { stored_ = std::move(stored); }
    u64 submissions() const { return submissions_; }
    u64 words_recoded() const { return words_recoded_; }

private:
    static constexpr u32 kMaxWords = 1 << 21;  // of one entry: its length field's limit

    struct Range {
        u64 bytes = 0;
        u32 memory = 0;
        u64 offset = 0;
    };
    struct Channel {
        ChannelParams params;
        u32 next = 0;  // entry to look at next
        trace::PushbufferDecoder decoder;
    };

    std::string submit(Channel& channel, u32 put);
    std::string segment(Channel& channel, u64 va, u32 words);
    std::string recode(const trace::MethodWord& word, u64 address, u32 stored);
    // What stands for a class here, and how its methods change.
    struct Exchange {
        std::optional<u32> there;
        std::unique_ptr<MethodExchange> methods = {};  // nullptr: nothing stands for it
    };
    Exchange& exchange(u32 class_id);
    // Host address of a byte of a memory object, or of GPU memory, when [it, it + bytes) is mapped in one piece; 0: it is not.
    u64 find_memory(u32 memory, u64 offset, u64 bytes) const;
    u64 find_gpu(u64 va, u64 bytes) const;
    void update_puts();

    System& system_;
    const ClassExchange& classes_;
    std::map<u64, Range> process_;     // by host address
    std::map<u64, Range> gpu_;         // by GPU address (one space: Guess, as clients use one)
    std::map<u32, Channel> channels_;  // by handle
    std::map<u64, u32> puts_;          // host address of a GP_PUT -> channel
    std::map<u32, Exchange> exchanges_;  // by Turing's class
    Stored stored_;
    u64 submissions_ = 0;
    u64 words_recoded_ = 0;
};

}  // namespace harness::hw
