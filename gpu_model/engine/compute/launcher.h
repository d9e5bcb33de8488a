// From SEND_SIGNALING_PCAS_B to the end of the grid: reads and checks the QMD, runs the grid on the SMs in slices of
// virtual time, writes its semaphores. Grids of one channel run one after another, those of different channels side by
// side. (model)
// A dependent QMD is read when the grid before it is over, and runs before what the channel has queued.
// Not modelled, and refused or listed by name: queues of QMDs, dependent QMDs that need a scheduling PCAS of their own, and
// entering a trap handler ("method C5C0 SET_TRAP_HANDLER_A").
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "gpu_model/chip.h"
#include "gpu_model/engine/compute/mmu_port.h"
#include "gpu_model/engine/compute/qmd.h"
#include "gpu_model/engine/engine.h"
#include "gpu_model/engine/gr/gr_regs.h"
#include "gpu_model/journal_records.h"
#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/time/gpu_clock.h"
#include "gpu_model/time/timing_params.h"
#include "sim/event_queue.h"
#include "sim/kernel.h"

namespace gpu {

class GridLauncher final : private sim::EventTarget, private ReplayListener {
public:
    static constexpr std::size_t kQueuedMax = 64;  // launches of one channel; more wait in the pushbuffer

    // What the launcher is built from; all outlive it.
    struct Parts {
        sim::Kernel& kernel;
        const ChipSpec& spec;
        u32 engine_index;  // of kind Graphics
        const TimingParams& timing;
        PhysicalMemory& memory;
        Mmu& mmu;
        const GpuClock& clock;
        GrRegs& regs;
        EngineHost& host;
    };
    explicit GridLauncher(const Parts& parts);
    ~GridLauncher();

    struct Request {
        const ChannelContext& channel;
        u64 qmd_va = 0;
        MemoryWindows windows;
        TrappedMethod method;
    };
    enum class Answer : u8 { Taken, Full, Fault, Refused };
    // Fault: `fault` says why the QMD could not be read. Refused: `error` says what is wrong with it.
    Answer schedule(const Request& request, MmuFault& fault, QmdError& error);

    // Code is fetched again where kernels go on.
    void invalidate_code() { code_.recheck(); }
    bool idle(u32 chid) const { return !jobs_.contains(chid); }
    // Between two instructions of every warp the channel's grid stops, and goes on from there.
    void preempt(u32 chid);
    void resume(u32 chid);
    bool preempted(u32 chid) const;
    void drop_channel(u32 chid);
    void reset();
    void visit(sim::StateVisitor& visitor);
    // Sees every grid that begins from now on; outlives the launcher.
    void observe(sm::GridObserver& observer) { observers_.push_back(&observer); }
    // Grids that an observer holds before an instruction go on.
    void resume_held();
    // Why a grid stopped last, for reports; empty: none did.
    const std::string& last_stop() const { return last_stop_; }

private:
    enum Op : u32 { kSlice, kEnd };
    static constexpr u64 kSliceInstructions = 1 << 18;  // of warps

    // What a kernel reads as its global timer.
    class KernelClock final : public sm::SmClock {
    public:
        explicit KernelClock(const GpuClock& clock) : clock_(clock) {}
        u64 global_timer_ns() const override { return clock_.timestamp_ns(); }

    private:
        const GpuClock& clock_;
    };
    struct Job {
        u32 chid = 0;
        u64 qmd_va = 0;
        Qmd qmd;
        MemoryWindows windows;
        AddressSpace space;
        u32 veid = 0;
        bool privileged = false;
        TrappedMethod method;
        bool dependent = false;  // another QMD named it
        bool over = false;       // the grid has ended: only its semaphores are left
        bool preempted = false;
        bool stalled = false;    // `fault` is replayable: the grid waits for software's word
        MmuFault fault;
        sim::EventHandle event;
        std::unique_ptr<MmuPort> port;      // with the grid
        std::unique_ptr<sm::GridRun> grid;  // once the first slice has begun
        void visit(sim::StateVisitor& visitor);
    };

    // Reads the QMD. False: `fault`.
    bool load_qmd(Job& job, MmuFault& fault);
    // What is wrong with the QMD, if anything, and says so in the journal.
    std::optional<QmdError> find_wrong(const Job& job);
    void on_event(u32 op, u64 arg) override;
    // Replayable faults: tried again, or given up as software says.
    void on_fault_replay(const TlbInvalidate& request) override;
    static bool cancels(const TlbInvalidate& request, const MmuFault& fault);
    void begin(Job& job, u64 delay_ps);
    void make_grid(Job& job);
    void slice(Job& job);
    void end(Job& job);
    void lint(const Job& job);
    void trapped(Job& job);
    void lose(Job& job, records::LaunchOutcome outcome, const MmuFault* fault, u32 warp_esr);
    // The same for a channel whose grids are recorded already.
    void lose_channel(u32 chid, const TrappedMethod& method, const MmuFault* fault, u32 warp_esr);
    // The QMD that a finished one names becomes the next of its channel. False: the channel is lost.
    bool schedule_dependent(const Job& job);
    bool release(const Job& job, const QmdRelease& release, MmuFault& fault);
    void record(const Job& job, records::LaunchOutcome outcome);
    // Takes the front job of the channel away and starts the next.
    void pop(u32 chid);
    MmuClient client(const Job& job, u8 client_id) const;

    Parts parts_;
    sim::TargetId target_ = 0;
    KernelClock kernel_clock_;
    sm::CodeCache code_;
    sm::BlockPool blocks_;
    std::vector<sm::GridObserver*> observers_;
    std::map<u32, std::deque<Job>> jobs_;  // by chid; the first one runs
    std::string last_stop_;
};

}  // namespace gpu
