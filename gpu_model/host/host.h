// The host engine (PFIFO): channel table (CCSR), runlists, doorbells, interrupts, and the PBDMAs it schedules channels
// on. It learns of a channel from registers and memory alone. Source: dev_fifo, dev_pbdma, dev_ram, dev_ctrl manuals of
// TU104, clc46f.h. Registers: PFIFO 0x2000..0x3FFF, PBDMA 0x40000..0x57FFF, CCSR 0x800000..0x807FFF, NV_CTRL doorbell
// and virtual channel configuration 0xB64000..0xB65FFF. A doorbell works only while
// NV_CTRL_VIRTUAL_CHANNEL_CFG(0).PENDING_ENABLE (0xB65000 bit 31) is 1.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu_model/bus/register_unit.h"
#include "gpu_model/chip.h"
#include "gpu_model/engine/engine.h"
#include "gpu_model/firmware_port.h"
#include "gpu_model/host/channel.h"
#include "gpu_model/host/pbdma.h"
#include "gpu_model/host/runlist.h"
#include "gpu_model/intr/intr_tree.h"
#include "gpu_model/mem/memory.h"
#include "gpu_model/mem/mmu.h"
#include "gpu_model/time/gpu_clock.h"
#include "gpu_model/time/timing_params.h"
#include "sim/event_queue.h"
#include "sim/kernel.h"

namespace gpu {

// Where the host engine's findings go. Called from events of its own, never inside a register access or a method. An
// MMU fault is in the fault buffer before the channel error that it causes is told.
class HostListener {
public:
    // A channel stopped: the firmware turns this into Xid, notifier and event.
    virtual void on_channel_error(const ChipError& error) = 0;

protected:
    ~HostListener() = default;
};

// Bits of NV_PFIFO_INTR_0 that the model raises.
inline constexpr u32 NV_PFIFO_INTR_0_BIND_ERROR = 1u << 0, NV_PFIFO_INTR_0_SCHED_ERROR = 1u << 8;
inline constexpr u32 NV_PFIFO_INTR_0_TSG_PREEMPT_COMPLETE = 1u << 28, NV_PFIFO_INTR_0_PBDMA_INTR = 1u << 29;
inline constexpr u32 NV_PFIFO_INTR_0_RUNLIST_EVENT = 1u << 30, NV_PFIFO_INTR_0_CHANNEL_INTR = 1u << 31;
inline constexpr u32 NV_PFIFO_INTR_SCHED_ERROR_CODE_BAD_TSG = 0x20;

class Host final : public RegisterUnit, public EngineHost, private PbdmaOwner, private sim::EventTarget {
public:
    // All arguments outlive the Host.
    Host(sim::Kernel& kernel, const ChipSpec& spec, const TimingParams& timing, PhysicalMemory& memory, Mmu& mmu,
         IntrTree& intr, const GpuClock& clock, HostListener& listener);
    ~Host();

    // engine_index: of the row in spec.engines. Engines without a model stay unattached; their methods are reported.
    void attach_engine(u32 engine_index, Engine& engine);

    // A store to the usermode doorbell: VECTOR 11:0, RUNLIST_ID 22:16. Anything that names no channel is ignored.
    void doorbell(u32 word);

    u32 read(u32 offset) override;
    void write(u32 offset, u32 value) override;
    std::string_view unit_name() const override { return "host"; }

    void engine_ready(u32 engine_index) override;
    void engine_fault(u32 engine_index, u32 chid, const MmuFault& fault) override;
    void engine_error(u32 engine_index, u32 chid, const EngineError& found) override;

    // One line per channel with work: where it is and what it waits for.
    std::string describe() const;
    const Channel* find_channel(u32 chid) const;

    void reset();
    void visit(sim::StateVisitor& visitor);

private:
    // Arguments: PBDMA; doorbell word; runlist; see preempt_elapsed(); channel; runlist; runlist; none.
    enum Op : u32 {
        kOpStep,
        kOpDoorbell,
        kOpRunlistSubmit,
        kOpPreempt,
        kOpRetry,
        kOpDispatch,
        kOpTimeslice,
        kOpNotice
    };
    // What is told to the listener, in order, by kOpNotice events.
    struct Notice {
        bool is_fault = false;
        ChipError error;
        MmuFault fault;
        void visit(sim::StateVisitor& visitor);
    };

    // PbdmaOwner
    Engine* engine_for(const Pbdma& pbdma, u32 subchannel, u32& engine_index) override;
    bool engines_idle(const Pbdma& pbdma) override;
    void non_stall_interrupt(const Pbdma& pbdma) override;
    void semaphore_written() override;
    bool clear_faulted(u32 chid, bool engine) override;
    SimTime clear_faulted_limit() const override;
    void pbdma_fault(Pbdma& pbdma, const MmuFault& fault) override;
    u32& engine_context(u32 engine_index) override { return engine_contexts_.at(engine_index); }
    void pause_timeslice(const Pbdma& pbdma, SimTime span) override;

    void on_event(u32 op, u64 arg) override;
    SimTime now() const { return kernel_.now(); }
    void schedule_in(u64 delay_ps, u32 op, u64 arg);

    // Scheduling (host_schedule.cpp)
    void ring(u32 word);
    void load_runlist(u32 runlist_id);
    Runlist* runlist_of(u32 chid);
    bool runnable(const Channel& entry) const;
    bool tsg_blocked(const TsgEntry& tsg) const;
    bool tsg_runnable(const Runlist& runlist, const TsgEntry& tsg) const;
    bool others_runnable(const Runlist& runlist) const;
    bool runlist_busy(const Runlist& runlist) const;
    bool dispatch_allowed(const Runlist& runlist) const;
    void schedule_dispatch(Runlist& runlist);
    void dispatch(Runlist& runlist);
    Channel* pick_channel(TsgEntry& tsg, u32 runqueue);
    bool load_channel(Pbdma& pbdma, Channel& chosen, u32 tsgid);
    void unload(Pbdma& pbdma);
    void wake(Pbdma& pbdma, SimTime at);
    void step(Pbdma& pbdma);
    void park(Pbdma& pbdma, SimTime retry_at);
    void unpark(Channel& entry);
    void retry_parked(u32 chid);
    void timeslice_over(Runlist& runlist);
    void take_off(Channel& entry);
    bool preempts(const TsgEntry& tsg, u32 chid) const;
    void start_preempt(u32 value);
    void start_runlist_preempt(u32 mask);
    void preempt_elapsed(u64 arg);
    void finish_preempts();
    bool off_hardware(u32 chid) const;
    void resume_engines(const Runlist& runlist);
    Channel* channel(u32 chid);
    void drop_from_engines(u32 chid);

    // Registers (host_registers.cpp)
    u32 read_pfifo(u32 offset) const;
    void write_pfifo(u32 offset, u32 value);
    u32 read_ccsr(u32 chid, bool instance) const;
    void write_ccsr_instance(u32 chid, u32 value);
    void write_ccsr_channel(u32 chid, u32 value);
    u32 read_pbdma(const Pbdma& pbdma, u32 offset) const;
    void write_pbdma(Pbdma& pbdma, u32 offset, u32 value);
    void pbdma_cleared(Pbdma& pbdma);
    u32 channel_status(const Channel& entry) const;
    u32 runlist_info(const Runlist& runlist) const;
    u32 engine_status(u32 host_engine) const;
    u32 pbdma_intr_mask() const;
    u32 pfifo_intr() const;
    void update_interrupts();
    void bind_error(u32 code);
    void sched_error(u32 code);
    void report_error(Pbdma& pbdma, Channel& failed);
    void check_loaded(sim::StateVisitor& visitor);
    void notice(const ChipError& error);
    void notice(const MmuFault& fault);

    sim::Kernel& kernel_;
    const ChipSpec& spec_;
    const TimingParams& timing_;
    PhysicalMemory& memory_;
    Mmu& mmu_;
    IntrTree& intr_;
    HostListener& listener_;
    sim::TargetId target_ = 0;
    std::vector<Engine*> engines_;  // by row of spec_.engines; null: not modelled

    std::vector<u32> engine_contexts_;  // group by row of spec_.engines
    std::map<u32, Channel> channels_;  // those that CCSR has touched
    std::vector<Runlist> runlists_;
    std::vector<std::unique_ptr<Pbdma>> pbdmas_;
    std::deque<Notice> notices_;

    u32 intr_0_ = 0;  // stored bits of NV_PFIFO_INTR_0
    u32 intr_en_0_ = 0;
    u32 intr_en_1_ = 0;
    u32 intr_mask_ = 0;
    u32 intr_stall_ = 0;
    u32 intr_runlist_ = 0;
    u32 bind_error_ = 0;
    u32 sched_error_ = 0;
    u32 sched_disable_ = 0;
    u32 preempt_ = 0;
    bool preempt_ready_ = false;  // its latency is over
    u32 runlist_preempt_ = 0;
    bool engines_preempted_ = true;  // may be: an engine holds work of a preempted channel. Follows from the engines
    u32 config_ = 0;
    u32 acq_pretest_ = 0;
    u32 userd_writeback_ = 0;
    u32 clear_faulted_timeout_ = 0;
    u32 eng_ctxsw_timeout_ = 0;
    u32 virtual_channel_cfg_ = 0;
    u64 doorbells_dropped_ = 0;
    u32 parked_count_ = 0;
    u64 doorbell_draws_ = 0;  // random draws made so far: each draw is its own named stream
    u64 runlist_draws_ = 0;
    Pbdma* stepping_ = nullptr;  // whose run() is on the stack; never set between events
};

}  // namespace gpu
