// One PBDMA: loads a channel from its instance block, walks its GP ring and pushbuffer through the MMU, executes host
// methods and hands the others to engines. Knows nothing of runlists; the host engine decides what it runs. Source:
// dev_pbdma manual of TU104, clc46f.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gpu_model/engine/engine.h"
#include "gpu_model/host/channel.h"
#include "gpu_model/host/gp_entry.h"
#include "gpu_model/host/ramfc.h"
#include "gpu_model/mem/memory.h"
#include "gpu_model/mem/mmu.h"
#include "gpu_model/time/gpu_clock.h"
#include "gpu_model/time/timing_params.h"
#include "sim/event_queue.h"
#include "sim/kernel.h"

namespace gpu {

class Pbdma;

// What a PBDMA asks of the host engine around it.
class PbdmaOwner {
public:
    // The engine behind a subchannel 0..4. nullptr: none is modelled; engine_index still names its row, or is
    // kNoEngine.
    virtual Engine* engine_for(const Pbdma& pbdma, u32 subchannel, u32& engine_index) = 0;
    // All engines that serve this PBDMA have finished the loaded channel's work.
    virtual bool engines_idle(const Pbdma& pbdma) = 0;
    virtual void non_stall_interrupt(const Pbdma& pbdma) = 0;
    // Some semaphore changed: waiting acquires look again.
    virtual void semaphore_written() = 0;
    // CLEAR_FAULTED: false while that flag is not set.
    virtual bool clear_faulted(u32 chid, bool engine) = 0;
    // How long CLEAR_FAULTED waits for that; SimTime::max() while detection is off.
    virtual SimTime clear_faulted_limit() const = 0;
    virtual void pbdma_fault(Pbdma& pbdma, const MmuFault& fault) = 0;
    // The group whose context is in the engine; kNoTsg: nobody's yet.
    virtual u32& engine_context(u32 engine_index) = 0;
    // A context load begins: the timeslice pauses for so long.
    virtual void pause_timeslice(const Pbdma& pbdma, SimTime span) = 0;

protected:
    ~PbdmaOwner() = default;
};

inline constexpr u32 kNoEngine = ~u32{0};
inline constexpr u32 kNoChannel = ~u32{0};
inline constexpr u32 kSoftwareSubchannels = 5;  // 5, 6 and 7
inline constexpr u32 kPbdmaFaultIdBase = 0x20;  // NV_PFIFO_CFG0.PBDMA_FAULT_ID
inline constexpr u8 kClientHubHost = 0x06;      // NV_PFAULT_CLIENT_HUB_HOST

// NV_PPBDMA_INTR_0 and INTR_1 bits that the model raises.
namespace pbdma_intr {
inline constexpr u32 GPFIFO = 1u << 13, GPPTR = 1u << 14, GPENTRY = 1u << 15, GPCRC = 1u << 16, PBPTR = 1u << 17;
inline constexpr u32 PBENTRY = 1u << 18, PBCRC = 1u << 19, CLEAR_FAULTED_ERROR = 1u << 20, METHOD = 1u << 21,
                     METHODCRC = 1u << 22;
inline constexpr u32 DEVICE = 1u << 23, SEMAPHORE = 1u << 25, ACQUIRE = 1u << 26, PRI = 1u << 27, PBSEG = 1u << 30;
inline constexpr u32 SIGNATURE = 1u << 31;
inline constexpr u32 HCE_RE_ILLEGAL_OP = 1u << 0, HCE_RE_ALIGNB = 1u << 1, HCE_PRIV = 1u << 2,
                     HCE_ILLEGAL_MTHD = 1u << 3;
inline constexpr u32 HCE_ILLEGAL_CLASS = 1u << 4, CTXNOTVALID = 1u << 31;
}  // namespace pbdma_intr

class Pbdma {
public:
    // What run() ended with, and after how long the next run() makes sense.
    enum class Outcome : u8 {
        Continue,    // call run() again after delay_ps
        Idle,        // the GP ring is empty
        WaitEngine,  // until an engine reports ready
        Acquire,     // a semaphore does not hold yet: again after delay_ps; switch_tsg: others may run meanwhile
        Yield,       // the channel gave the rest of its timeslice away
        Error,       // intr_0() / intr_1() say what
        Fault,       // the owner has been told
    };
    struct Result {
        Outcome outcome = Outcome::Idle;
        u64 delay_ps = 0;
        bool switch_tsg = false;
    };

    Pbdma(sim::Kernel& kernel, const TimingParams& timing, PhysicalMemory& memory, Mmu& mmu, const GpuClock& clock,
          PbdmaOwner& owner, u32 index, u32 runlist_id);

    u32 index() const { return index_; }
    u32 runlist_id() const { return runlist_id_; }
    Channel* channel() { return channel_; }
    const Channel* channel() const { return channel_; }
    const ChannelContext& context() const { return context_; }

    // Takes the channel's state from its instance block. False: not a valid RAMFC (SIGNATURE).
    bool load(Channel& channel, u32 tsgid);
    // Puts it back and forgets the channel.
    void save();
    // Forgets the channel without touching memory: it was unbound under us.
    void abandon() { channel_ = nullptr; }
    // Reads GP_PUT from USERD again: a doorbell rang.
    void refresh_gp_put();
    Result run();
    bool has_work() const;

    // Errors that run() found since they were last taken.
    struct Error {
        u32 intr_0 = 0;
        u32 intr_1 = 0;
        u64 address = 0;  // pushbuffer VA of the offending word, or of the GP entry
        u32 method = 0;
        u32 data = 0;
    };
    const Error& error() const { return error_; }

    // Register face: words 0x00..0xFC. While an error is latched they show the moment of the error.
    u32 word(u32 index) const { return latched_ ? latch_[index] : fc_[index]; }
    void set_word(u32 index, u32 value);

    sim::EventHandle event;   // the pending step, if any
    bool waiting = false;     // loaded, no step pending: an engine or a doorbell will wake it
    u32 last_chid = ~u32{0};  // whose context is still inside: reloading it costs nothing
    u32 intr_0 = 0;
    u32 intr_en_0 = 0;
    u32 intr_stall_0 = 0;
    u32 intr_1 = 0;
    u32 intr_en_1 = 0;
    u32 intr_stall_1 = 0;
    u32 gp_shadow_0 = 0;
    u32 gp_shadow_1 = 0;
    u32 hdr_shadow = 0;
    u32 hce_dbg0 = 0;
    u32 hce_dbg1 = 0;
    u32 timeout = 0;
    u32 error_chid = 0;  // whose error is latched
    void unlatch() { latched_ = false; }

    void reset();
    // Returns the loaded channel's number, or kNoChannel; on load the owner then attaches it.
    u32 visit(sim::StateVisitor& visitor);
    void attach(Channel* channel) { channel_ = channel; }

private:
    static constexpr u32 kBurstWords = 4096;
    static constexpr u32 kAheadWords = 64;
    // The next entry and the beginning of its segment, as they stood while the segment before was parsed.
    struct Ahead {
        bool looked = false;  // for the entry in hand
        bool entry = false;   // words 0 and 1 are those of ring place `gp_get`
        u32 gp_get = 0;
        u32 word0 = 0;
        u32 word1 = 0;
        u64 va = 0;  // of `words`
        std::vector<u32> words;
        void visit(sim::StateVisitor& visitor);
    };
    // Done: go on. Stop: result_ says why, and the word stays to be taken again. DoneStop: stop, but the word is used
    // up.
    enum class Step : u8 { Done, Stop, DoneStop };

    Step fetch_entry();
    Step control_entry(GpEntry entry);
    Step run_segment();
    Step take_header(u32 header);
    Step take_data(const u32* words, u32 count, u32& taken);
    Step deliver(u32 subchannel, u32 method, u32 increment, const u32* data, u32 count, u32& taken);
    void fold(u32 subchannel, u32 method, u32 increment, const u32* data, u32 count);
    Step host_method(u32 subchannel, u32 method, u32 data);
    Step engine_methods(u32 subchannel, u32 method, u32 increment, const u32* data, u32 count, u32& taken);
    Step switch_context(u32 engine_index);
    Step engine_refusal(MethodResult result, u32 subchannel, u32 method, u32 data);
    bool read_entry(u64 va, GpEntry& entry, MmuFault& fault);
    void fetch_ahead();
    void finish_entry();
    void write_back(bool all);

    // Host methods (pbdma_methods.cpp)
    Step set_object(u32 subchannel, u32 data);
    Step sem_execute(u32 data);
    Step semaphore_d(u32 data);
    Step acquire(u64 va, u64 payload, bool is_64bit, u32 operation, bool switch_tsg);
    Step release(u64 va, u64 payload, bool is_64bit, bool timestamp, bool wfi);
    Step reduction(u64 va, u64 payload, bool is_64bit, u32 op, bool is_signed, bool wfi);
    Step mem_op(u32 data);
    Step clear_faulted(u32 data);
    Step wait_for_idle();
    // Charges a latency once per method: Stop on the first visit, Done on the next.
    Step pay(u64 delay_ps);

    Step stop(Outcome outcome, u64 delay_ps = 0, bool switch_tsg = false);
    Step fail(u32 intr_0_bits, u32 intr_1_bits, u64 address, u32 method, u32 data);
    Step fault(const MmuFault& fault);
    MmuClient client() const;
    u64 pair(u32 lo, u32 hi) const { return fc_[lo] | u64{fc_[hi]} << 32; }
    void set_pair(u32 lo, u32 hi, u64 value);
    bool executing() const;  // the subdevice mask lets methods through
    u64 fetch_latency(u64 va);
    u64 burst_words();

    sim::Kernel& kernel_;
    const TimingParams& timing_;
    PhysicalMemory& memory_;
    Mmu& mmu_;
    const GpuClock& clock_;
    PbdmaOwner& owner_;
    u32 index_;
    u32 runlist_id_;

    Channel* channel_ = nullptr;
    ChannelContext context_;
    ramfc::Image fc_{};
    ramfc::Image latch_{};
    bool latched_ = false;
    PhysAddr userd_;
    bool userd_valid_ = false;
    Error error_;
    Result result_;
    u64 cost_ps_ = 0;         // of this run so far
    bool engine_costs_ = false;  // an engine charged time in this run: the run ends once it is long
    u64 word_va_ = 0;         // of the word being decoded
    bool burst_cut_ = false;  // another seed made the fetcher lag: what is left is fetched when this is decoded
    u64 burst_draws_ = 0;     // random draws made so far
    std::vector<u32> words_;  // fetched ahead, kBurstWords at most; empty between runs
    Ahead ahead_;
    u64 ahead_draws_ = 0;
};

}  // namespace gpu
