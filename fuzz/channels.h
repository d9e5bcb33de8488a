// Two channels of a process on a booted machine, one on a copy engine and one with a compute object, and memory that
// both see. Rings and pushbuffers are video memory, which a target writes as the process's stores through BAR1 would.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "fuzz/booted.h"
#include "fuzz/process.h"

namespace fuzz {

class Channels {
public:
    static constexpr u64 kDataVa = 0x4'0000'0000;
    static constexpr u64 kDataBytes = 0x20'0000;
    static constexpr u64 kRingBytes = 0x1'0000;
    static constexpr u64 kPushAt = 0x1000;  // of the ring's memory: where words go
    static constexpr u64 kUserdAt = 0x8000;
    static constexpr u32 kEntries = 64;

    struct Channel {
        u64 ring_va = 0;
        u64 ring_pa = 0;  // video memory
        u32 token = 0;
    };

    explicit Channels(const harness::MachineOptions& options = {});

    harness::Machine& machine() { return booted_->machine(); }
    Process& process() { return *process_; }
    Booted& booted() { return *booted_; }
    const Channel& copy() const { return channels_[0]; }
    const Channel& compute() const { return channels_[1]; }
    const Channel& channel(u64 number) const { return channels_[number % channels_.size()]; }
    u64 data_pa() const { return data_pa_; }

    // Bytes into the video memory of a ring or of the data.
    void write(u64 pa, std::span<const u8> bytes);
    void write_u32(u64 pa, u32 value) { write_value(pa, value, sizeof(value)); }
    void write_u64(u64 pa, u64 value) { write_value(pa, value, sizeof(value)); }
    // A GP entry that names `words` words at `offset` of the ring's memory.
    static u64 entry(const Channel& channel, u64 offset, u64 words);
    // Entry number `index` of the ring.
    void put_entry(const Channel& channel, u32 index, u64 entry);
    // GP_PUT, then the doorbell. On the machine's fiber.
    void submit(const Channel& channel, u32 gp_put);

private:
    void make(harness::Machine& machine);
    Channel make_channel(u32 number, u32 engine);
    u64 allocate(u32 handle, u64 bytes, u32 class_id);
    void map_dma(u32 handle, u64 bytes, u64 va);
    // The object into the process; where it lies then.
    rm::Mapping map(u32 device, u32 handle, u64 bytes, u64 address);
    // When what crosses is kept, stores are the process's own.
    void map_to_trace(u32 handle, u64 pa, u64 bytes);
    void write_value(u64 pa, u64 value, std::size_t bytes);

    struct Mapped {
        u64 pa = 0, bytes = 0, address = 0;
    };

    std::unique_ptr<Process> process_;
    std::array<Channel, 2> channels_;
    u64 data_pa_ = 0;
    u64 doorbell_ = 0;  // offset in BAR0
    std::vector<Mapped> mapped_;
    int next_file_ = 20;
    std::unique_ptr<Booted> booted_;
};

}  // namespace fuzz
