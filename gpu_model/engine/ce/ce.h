// Copy engines: class TURING_DMA_COPY_A (0xC5B5). One Ce per logical copy engine; CeUnit is the register block of all
// of them. Source: clc5b5.h, dev_ce manual of TU104. Every launch is one atomic step at its completion time, in order.
// Not modelled: RELEASE_CONDITIONAL_INTR_SEMAPHORE (rejected as INVALID_VALUE), video protected regions, compression.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>

#include "gpu_model/bus/register_unit.h"
#include "gpu_model/chip.h"
#include "gpu_model/engine/ce/ce_copy.h"
#include "gpu_model/engine/engine.h"
#include "gpu_model/engine/method_table.h"
#include "gpu_model/intr/intr_tree.h"
#include "gpu_model/journal_records.h"
#include "gpu_model/mem/memory.h"
#include "gpu_model/mem/mmu.h"
#include "gpu_model/time/gpu_clock.h"
#include "gpu_model/time/timing_params.h"
#include "sim/event_queue.h"
#include "sim/kernel.h"

namespace gpu {

// NV_CE_LCE_LAUNCHERR_REPORT.
enum class LaunchErr : u8 {
    NoErr = 0,
    LayerExceedsDepth = 1,
    InvalidAlignment = 2,
    Mem2MemRectOutOfBounds = 3,
    SrcLineExceedsPitch = 4,
    SrcLineExceedsNegPitch = 5,
    DstLineExceedsPitch = 6,
    DstLineExceedsNegPitch = 7,
    BadSrcPixelCompRef = 8,
    InvalidValue = 9,
    InvalidUnusedField = 0xA,
    InvalidOperation = 0xB,
    NoResources = 0xC,
    InvalidConfig = 0xD,
    MethodBufferAccessFault = 0xE,
};

class CeUnit;

// What a copy's speed is limited by. (model) Copies with the same limit share it evenly; one that crosses the bus takes so
// little of what video memory gives that it counts there for nothing.
enum class CopyPath : u8 { VideoMemory, ToDevice, ToHost };

class Ce final : public Engine, private sim::EventTarget {
public:
    // engine_index: row in spec.engines, of kind Ce. All references outlive the Ce.
    Ce(sim::Kernel& kernel, const ChipSpec& spec, u32 engine_index, const TimingParams& timing, PhysicalMemory& memory,
       Mmu& mmu, IntrTree& intr, const GpuClock& clock, EngineHost& host);
    ~Ce() override;

    std::string_view name() const override { return name_; }
    u32 class_id() const override { return cls::TURING_DMA_COPY_A; }
    bool accepts_class(u32 class_id) const override { return class_id == cls::TURING_DMA_COPY_A; }
    MethodResult method(const ChannelContext& channel, u32 subchannel, u32 method, u32 data) override;
    bool idle(u32 chid) const override { return !job_ || job_->chid != chid; }
    void drop_channel(u32 chid) override;
    void reset() override;
    void visit(sim::StateVisitor& visitor) override;

    u32 instance() const { return row_.instance; }
    // Whom to ask how many share a path, and to tell when that changes. Not called: this engine shares with nobody.
    void set_unit(CeUnit& unit) { unit_ = &unit; }
    // Whether a copy on this path is in flight.
    bool moves_on(CopyPath path) const { return job_ && job_->copy.has_data && job_->path == path; }
    // How many share a path has changed: the copy in flight goes on at another speed.
    void replan();
    // Registers at 0x104400 + 0x80 * instance; `offset` within the 0x80 bytes.
    u32 read(u32 offset) const;
    void write(u32 offset, u32 value);

    // The last value of each method below 0x780, by dword; method 0 is never stored, so its place says that
    // SET_RENDER_ENABLE_C was written.
    static constexpr u32 kStateWords = 0x780 / 4;
    static constexpr u32 kRenderWritten = 0;
    using State = std::array<u32, kStateWords>;

private:
    enum Op : u32 { kOpComplete };

    // One launch as decoded from the state at LAUNCH_DMA.
    struct Job {
        Job() {}  // user-provided: clang 14 refuses std::optional<Job> inside Ce with the implicit one
        u32 chid = 0;
        u32 launch = 0;
        CopyDescriptor copy;
        AddressSpace space;
        bool privileged = false;
        u64 semaphore_va = 0;
        u32 semaphore_payload = 0;
        u32 render_mode = 1;
        u64 render_va = 0;
        CopyProgress progress;
        CopyPath path = CopyPath::VideoMemory;
        // Of the slice in flight: what still passes at its own pace and what at the path's, when that was, and how many shared.
        u64 fixed_ps = 0;
        u64 transfer_ps = 0;
        SimTime planned;
        u64 sharers = 1;
        sim::EventHandle event;
        void visit(sim::StateVisitor& visitor);
    };

    MethodResult launch(const ChannelContext& channel, const State& state, u32 data);
    LaunchErr decode(const State& state, u32 data, Job& job) const;
    LaunchErr decode_copy(const State& state, u32 data, CopyDescriptor& copy) const;
    bool in_system_memory(const Job& job, const CopySurface& surface);
    CopyPath path_of(const Job& job);
    // Measures the next slice of a job, and schedules its end.
    void start_slice(Job& job);
    void schedule_end(Job& job);
    // The job is over, however: who shared with it is faster now.
    void drop_job();
    void on_event(u32 op, u64 arg) override;
    void complete();
    bool render_enabled(const Job& job, bool& enabled, MmuFault& fault);
    bool release(const Job& job, MmuFault& fault);
    void record(const Job& job, u64 outcome);
    void finish(records::CeOutcome outcome);
    void fail(const MmuFault& fault);
    void memory_error();
    void launch_error(const Job& job, LaunchErr code);
    void update_interrupt();
    MmuClient client(const Job& job) const;
    SimTime now() const { return kernel_.now(); }

    sim::Kernel& kernel_;
    EngineRow row_;
    u32 engine_index_;
    const TimingParams& timing_;
    PhysicalMemory& memory_;
    Mmu& mmu_;
    IntrTree& intr_;
    const GpuClock& clock_;
    EngineHost& host_;
    CeUnit* unit_ = nullptr;
    std::string name_;
    sim::TargetId target_ = 0;

    std::map<u32, State> states_;  // by chid
    std::optional<Job> job_;       // at most one in flight
    bool blocked_ = false;         // a BLOCKING interrupt is pending: nothing starts
    u32 intr_en_ = 0;
    u32 intr_status_ = 0;
    u32 opt_ = 0;
    u32 launcherr_ = 0;
    u32 engctl_ = 0;
    u64 start_draws_ = 0;  // random draws made so far
};

// The CE register block: 0x104000..0x104FFF.
class CeUnit final : public RegisterUnit {
public:
    static constexpr u32 kLces = 9;  // as many as have interrupt wires (lce0 to lce8); a board has fewer
    explicit CeUnit(sim::Kernel& kernel);
    // Ce `instance()` answers at its place. Precondition: instance < kLces.
    void attach(Ce& ce);
    // Engines with a copy in flight on a path.
    u64 sharers(CopyPath path) const;
    // To be called when that number has changed, by the engine that changed it.
    void traffic_changed(CopyPath path, const Ce& by);
    u32 read(u32 offset) override;
    void write(u32 offset, u32 value) override;
    std::string_view unit_name() const override { return "ce"; }
    void reset();
    void visit(sim::StateVisitor& visitor);

private:
    static constexpr u32 kPces = 4;
    static constexpr u32 kGrces = 2;
    sim::Kernel& kernel_;
    std::array<Ce*, kLces> ces_{};
    std::array<u32, kPces> pce2lce_{};
    std::array<u32, kGrces> grce_config_{};
    u32 fe_cg_ = 0;
    u32 fe_cg1_ = 0;
};

}  // namespace gpu
