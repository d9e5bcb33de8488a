// Which GPU memory the work of a trace writes, and what of it is settled: a wait that saw its value proves that everything before the
// release in that channel is done. Only settled bytes are compared; what a later launch in flight may write, and times, are left out.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "guest_harness/trace/pushbuffer.h"
#include "guest_harness/trace/work_view.h"

namespace harness::hw {

using namespace sim;

// Disjoint ranges of GPU virtual addresses.
class RangeSet {
public:
    struct Range {
        u64 begin = 0;
        u64 end = 0;
        friend bool operator==(const Range&, const Range&) = default;
    };
    void add(Range range);
    void remove(Range range);
    bool meets(Range range) const;
    std::vector<Range> ranges() const;
    bool empty() const { return ends_.empty(); }

private:
    std::map<u64, u64> ends_;  // begin -> end
};

class Destinations {
public:
    // One effect of the work: a launch, an inline transfer, a release.
    struct Effect {
        u64 event = 0;        // number in the trace of the doorbell that submitted it
        u32 channel = 0;      // handle
        std::string what;     // "copy engine launch", for people
        std::vector<RangeSet::Range> written;
        std::vector<RangeSet::Range> times;  // written with times
        bool exact = true;                   // every byte of `written` is; false: some bytes of a surface
        bool anywhere = false;               // a kernel: it may have written any memory that the GPU sees
        std::optional<u64> release_va;       // of a semaphore release
        u64 payload = 0;
        bool interrupt = false;
        bool done = false;
        bool told = false;                   // taken by take_settled()
    };

    // Every event of the trace, in order. The submissions that it made, until the next call.
    const std::vector<trace::Submit>& add(const trace::Event& event, u64 number);
    // The process saw `value` in driver memory. False: no release of the work explains it.
    bool saw(u64 process_address, u64 value);
    // The process was woken by an interrupt: what stands before the last one in each channel is done. (Guess: a client that pushes an
    // interrupt waits for the last.)
    void woken();

    // Everything that is settled, or only what became so since the last take_settled().
    std::vector<RangeSet::Range> settled() const { return collect(false); }
    std::vector<RangeSet::Range> take_settled();
    // No work so far writes there.
    bool untouched(u64 va, u64 bytes) const;
    // The last settled effect that wrote this byte; nullptr: none.
    const Effect* writer(u64 va) const;
    u64 effects() const { return effects_.size(); }
    u64 unsettled() const;
    const trace::WorkView& view() const { return view_; }

private:
    static constexpr u64 kMaxEffects = 1 << 20;
    static constexpr u64 kMaxLines = 4096;  // of one launch; beyond it the bounding range
    static constexpr u64 kMaxSeen = u64{256} << 20;  // memory that is looked at after a kernel; beyond it nothing is
    static constexpr std::size_t kMaxQmdWords = 1 << 16;

    struct CopyState {
        u64 out = 0;
        u64 semaphore = 0;
        u32 payload = 0;
        u32 pitch = 0;
        u32 length = 0;
        u32 lines = 1;
        u32 remap = 0;
        u32 block = 0;
        u32 width = 0;
        u32 height = 0;
        u32 depth = 1;
    };
    struct InlineState {
        u64 out = 0;
        u64 semaphore = 0;
        u32 payload = 0;
        u32 pitch = 0;
        u32 length = 0;
        u32 lines = 1;
        u32 block = 0;
        u32 width = 0;
        u32 height = 0;
        u32 depth = 1;
        u64 report = 0;
        u32 report_payload = 0;
        u64 qmd = 0;
        u64 inline_qmd = 0;  // shifted, as the methods hold it
        std::map<u64, u32> qmd_words = {};  // of QMDs in the pushbuffer, by address
    };
    struct HostState {
        u64 semaphore = 0;
        u64 payload = 0;
        u64 old_semaphore = 0;
        u32 old_payload = 0;
    };
    struct Channel {
        explicit Channel(u32 channel_class) : decoder(channel_class) {}
        trace::PushbufferDecoder decoder;
        CopyState copy;
        InlineState compute;
        HostState host;
    };

    void method(Channel& channel, const trace::MethodWord& word);
    void host_method(Channel& channel, const trace::MethodWord& word);
    void copy_method(Channel& channel, const trace::MethodWord& word);
    void compute_method(Channel& channel, const trace::MethodWord& word);
    void launch_copy(const CopyState& state, u32 launch);
    void launch_inline(const InlineState& state, u32 launch);
    void launch_kernel(const InlineState& state);
    bool kernel_in_flight() const;
    Effect& effect(std::string what);
    void release(std::string what, u64 va, u64 payload, u64 bytes, bool timed);
    void settle(u64 last);
    void note_touched();
    std::vector<RangeSet::Range> collect(bool fresh_only) const;

    trace::WorkView view_;
    std::vector<trace::Submit> submits_;
    std::map<u32, Channel> channels_;
    std::vector<Effect> effects_;
    RangeSet touched_;     // what all work so far writes
    u64 touched_effects_ = 0;
    bool touched_anywhere_ = false;
    RangeSet times_;       // memory that holds times: written with them and not overwritten since
    u64 first_fresh_ = 0;  // effects before it were taken by take_settled()
    u64 event_ = 0;
    u32 channel_ = 0;
};

}  // namespace harness::hw
