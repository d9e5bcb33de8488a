// Finds the GP entries and pushbuffer words of a recorded guest in what it stored: follows channels, memory objects and their
// mappings through the calls, keeps the bytes of the stores, and reads rings and pushbuffers when a doorbell is rung.
// Best effort, for people and for counting: what cannot be followed is left out, never guessed.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "guest_harness/trace/trace.h"

namespace harness::trace {

class WorkView {
public:
    // The submissions that this event made, in order. Submit events of imported traces are not repeated.
    std::vector<Submit> add(const Event& event);

    // A byte of a memory object, and how many follow it in the same mapping.
    struct Place {
        u32 memory = 0;  // handle
        u64 offset = 0;
        u64 bytes = 0;
    };
    // What a GPU virtual or a process address leads to now. Empty: nothing that was mapped by a call.
    std::optional<Place> gpu_place(u64 address) const { return place(gpu_, address); }
    std::optional<Place> process_place(u64 address) const { return place(process_, address); }
    // Where the process sees [offset, offset + bytes) of a memory object in one piece.
    std::optional<u64> process_address(u32 memory, u64 offset, u64 bytes) const;
    // GPU addresses of one byte of a memory object.
    std::vector<u64> gpu_addresses(u32 memory, u64 offset) const;
    // Every GPU range that a call has mapped, ascending: first address and bytes.
    std::vector<std::pair<u64, u64>> gpu_ranges() const;
    // What the process has stored to memory that the GPU sees there. False: some byte was never stored.
    bool stored_for_gpu(u64 gpu_address, std::span<u8> out) const { return read_gpu(gpu_address, out); }

private:
    // Bounds on what a trace may cost, whatever a guest wrote: entries for one doorbell, words and pages in all.
    static constexpr u32 kMaxEntries = 4096;
    static constexpr u32 kMaxWords = 1 << 26;
    static constexpr u64 kMaxPages = 1 << 16;
    static constexpr u64 kPageBytes = 4096;

    struct Range {  // of a memory object, at an address
        u64 bytes = 0;
        u32 memory = 0;
        u64 offset = 0;
    };
    using Ranges = std::map<u64, Range>;
    struct Channel {
        u32 channel_class = 0;
        u64 ring_va = 0;
        u32 ring_entries = 0;
        u32 userd_memory = 0;
        u64 userd_offset = 0;
        u32 next = 0;  // entry to look at next
    };

    void call(const CallRecord& call);
    void alloc(const CallRecord& call, u32 handle, u32 class_id, u64 params);
    void map_gpu(std::span<const u8> bytes);
    void store(u64 address, std::span<const u8> bytes);
    void ring(u64 value, std::vector<Submit>& out);
    void read_entries(u32 handle, Channel& channel, std::vector<Submit>& out);
    // False when some byte was never stored.
    bool read_process(u64 address, std::span<u8> out) const;
    bool read_memory(u32 memory, u64 offset, std::span<u8> out) const;
    bool read_gpu(u64 address, std::span<u8> out) const;
    static const Range* find(const Ranges& ranges, u64 address, u64& skip);
    static std::optional<Place> place(const Ranges& ranges, u64 address);

    std::map<int, Range> prepared_;      // NV_ESC_RM_MAP_MEMORY waiting for its mmap, by descriptor
    Ranges process_;                     // process addresses
    Ranges gpu_;                         // GPU virtual addresses (one space: Guess, as clients use one)
    std::map<u32, Channel> channels_;    // by handle
    std::map<u32, u32> tokens_;          // work submit token to channel
    std::map<u64, std::vector<u8>> pages_;  // process memory, by page number
    u32 words_left_ = kMaxWords;
    u32 pools_ = 0;  // semaphore pools of UVM so far
};

}  // namespace harness::trace
