// The pushbuffers of one channel as work of one queue: copies, fills, inline data, semaphores, reductions and kernels, in the recorded
// order. What no queue can do is named, and nothing more is given to the queue then.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu_model/engine/compute/qmd.h"
#include "guest_harness/hw/stream_copy.h"
#include "guest_harness/trace/pushbuffer.h"

namespace harness::hw {

class StreamWork {
public:
    struct Surroundings {
        GpuQueues& queues;
        const Companions& companions;
        std::function<bool(u64 va, u64 bytes)> mapped;
    };
    StreamWork(const Surroundings& surroundings, u32 channel_class);

    // The words of one ring entry. Gives the queue what it can take now.
    void submit(std::span<const u32> words);
    // A kernel's description is read once what stands before it is done: looks whether it is. Not empty: why the work stops.
    const std::string& pump();
    bool idle() { return waiting_.empty() && surroundings_.queues.idle(queue_); }
    // A wait that is not satisfied would hold the queue for ever: stores what each waits for, so that it can be given back.
    void release_waits();

    struct Counts {
        u64 copies = 0;
        u64 semaphores = 0;
        u64 inline_transfers = 0;
        u64 kernels = 0;
    };
    const Counts& counts() const { return counts_; }

private:
    static constexpr u64 kWaitingMax = u64{1} << 16;

    struct Wait {
        u64 va = 0;
        u64 value = 0;
        unsigned bytes = 4;
        GpuQueues::Until until = GpuQueues::Until::Equal;
    };
    struct Inline {
        u64 at = 0;
        i64 pitch = 0;
        u32 line_bytes = 0;
        u32 lines = 0;
        u32 launch = 0;
        u64 words = 0;  // that are missing
        std::vector<u8> bytes;
    };

    void method(const trace::MethodWord& word);
    void host_method(u32 method, u32 data);
    void copy_method(u32 method, u32 data);
    void compute_method(u32 method, u32 data);
    void old_semaphore(u32 execute);
    void semaphore(u32 execute);
    void report(u32 execute);
    void inline_launch(u32 launch);
    void inline_data(u32 data);
    void inline_end();
    void schedule();
    std::string launch(u64 qmd_va);
    void after_kernel(const gpu::Qmd& qmd);

    void release(u64 va, u64 payload, unsigned bytes, bool timed);
    void reduce(u64 va, u32 operation, bool is_signed, u64 payload, bool wide);
    void acquire(u64 va, u64 value, bool wide, GpuQueues::Until until);
    bool word_at(u64 va, u64 bytes, std::string_view what);
    // Now when nothing waits before it, else later.
    void issue(std::function<void()> step, bool alone = false);
    void stop(std::string why);

    Surroundings surroundings_;
    u32 queue_;
    trace::PushbufferDecoder decoder_;
    std::vector<u32> host_;     // methods by word, as last written
    std::vector<u32> copy_;
    std::vector<u32> compute_;
    Inline inline_;
    struct Step {
        std::function<void()> run;
        bool alone = false;  // only when the queue is idle
    };
    std::deque<Step> waiting_;
    std::vector<Wait> waits_;
    Counts counts_;
    std::string problem_;
};

}  // namespace harness::hw
