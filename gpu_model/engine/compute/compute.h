// The compute engine's method interface: class TURING_COMPUTE_A (0xC5C0) on the graphics engine, behind the macro
// engine. Every method of the table is state; those that effects.def lists have effects. Source: clc5c0.h.
// Unmodelled by name: other graphics classes, SEND_PCAS_B, SET_REPORT_SEMAPHORE_D TRAP ("method C5C0 NAME").
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "gpu_model/chip.h"
#include "gpu_model/engine/compute/launcher.h"
#include "gpu_model/engine/engine.h"
#include "gpu_model/engine/gr/gr_regs.h"
#include "gpu_model/engine/i2m/inline_transfer.h"
#include "gpu_model/engine/method_table.h"
#include "gpu_model/engine/mme/mme.h"
#include "gpu_model/intr/intr_tree.h"
#include "gpu_model/journal_records.h"
#include "gpu_model/mem/mmu.h"
#include "gpu_model/time/gpu_clock.h"
#include "gpu_model/time/timing_params.h"
#include "sim/kernel.h"

namespace gpu {

class Compute final : public Engine {
public:
    // engine_index: row in spec.engines, of kind Graphics. All references outlive the Compute.
    Compute(sim::Kernel& kernel, const ChipSpec& spec, u32 engine_index, const TimingParams& timing,
            PhysicalMemory& memory, Mmu& mmu, IntrTree& intr, const GpuClock& clock, GrRegs& regs, EngineHost& host);

    std::string_view name() const override { return "gr0"; }
    u32 class_id() const override { return cls::TURING_COMPUTE_A; }
    bool accepts_class(u32 class_id) const override { return class_id == cls::TURING_COMPUTE_A; }
    MethodResult method(const ChannelContext& channel, u32 subchannel, u32 method, u32 data) override;
    u32 methods(const ChannelContext& channel, u32 subchannel, u32 method, u32 increment, const u32* data, u32 count,
                MethodResult& result) override;
    u64 take_cost_ps() override;
    bool idle(u32 chid) const override { return launcher_.idle(chid); }
    void preempt(u32 chid) override { launcher_.preempt(chid); }
    void resume(u32 chid) override { launcher_.resume(chid); }
    bool preempted(u32 chid) const override { return launcher_.preempted(chid); }
    void drop_channel(u32 chid) override;
    void reset() override;
    void visit(sim::StateVisitor& visitor) override;
    std::string describe(u32 chid) const override;

    // The last value written to a method; before the first write 0, but the conditions for launches TRUE.
    u32 state(u32 chid, u32 method) const;
    const Mme* macro_engine(u32 chid) const;
    const GridLauncher& launcher() const { return launcher_; }
    GridLauncher& launcher() { return launcher_; }

private:
    using State = std::array<u32, MethodTable::kWords>;
    // Launches happen until a client says otherwise, by either condition; everything else is zero.
    static State initial_state();
    static constexpr u32 kSubchannels = 8;

    // What the engine keeps of a channel.
    struct Context {
        State state = initial_state();
        std::vector<u32> shadow;  // the tracked methods, once they may differ from `state`
        u32 shadow_mode = 0;      // SET_MME_SHADOW_RAM_CONTROL_MODE
        std::array<u32, kSubchannels> bound{};  // class by subchannel; 0: none
        bool atomic_sequence = false;           // between FE_ATOMIC_SEQUENCE_BEGIN and _END
        Mme mme;
        InlineTransfer inline_transfer;
        // Nothing is under way that the next method could disturb, and tracking is plain.
        bool plain() const { return shadow_mode == 0 && shadow.empty() && !mme.waiting() && !inline_transfer.pending(); }
        void visit(sim::StateVisitor& visitor);
    };
    // One method on its way through the engine.
    struct Call {
        const ChannelContext& channel;
        Context& context;
        u32 subchannel = 0;
        u32 method = 0;
        u32 data = 0;
        bool from_macro = false;
    };
    class MacroDoor;
    class InlineDoor;

    MethodResult set_object(const ChannelContext& channel, u32 subchannel, u32 data);
    // From the pushbuffer: through the macro engine to the class.
    MethodResult front_end(Call& call);
    // After the macro engine: tracking, then the class method itself.
    MethodResult class_method(Call& call);
    void track(const Call& call);
    MethodResult inline_launch(Call& call);
    u32 inline_words(Call& call, const u32* words, u32 count, MethodResult& result);
    MethodResult inline_done(Call& call);
    // Launch methods (compute_launch.cpp).
    MethodResult schedule_grid(Call& call);
    MethodResult render_enabled(Call& call, bool& enabled);
    MethodResult inline_qmd(Call& call);
    // Whether one of the two conditions for launches holds; its methods are A, B and C.
    MethodResult condition_holds(Call& call, u32 method_a, bool& holds);
    // Methods that order, check and tell (compute_front_end.cpp).
    MethodResult invalidate_shaders(Call& call);
    MethodResult atomic_sequence(Call& call);
    MethodResult check_version(Call& call);
    MethodResult notify(Call& call);

    MethodResult refuse(Call& call, u32 class_error_code);
    MethodResult refuse_exception(Call& call, u32 esr, u32 bits, u32 unit);
    MethodResult fault(Call& call, const MmuFault& fault);
    TrappedMethod trapped(const Call& call) const;
    MmuClient client(const ChannelContext& channel) const;

    // Writes or reduces a semaphore of the class (compute_semaphore.cpp).
    struct Release {
        u64 va = 0;
        u32 payload = 0;
        bool one_word = false;
        bool reduces = false;
        u32 reduction_op = 0;
        bool reduction_signed = false;
        bool awaken = false;
        records::ReleaseFormat formats[3];  // one word, four words, reduction
    };
    MethodResult report_semaphore(Call& call);
    MethodResult release(Call& call, Release release);

    sim::Kernel& kernel_;
    EngineRow row_;
    u32 engine_index_;
    const TimingParams& timing_;
    Mmu& mmu_;
    IntrTree& intr_;
    const GpuClock& clock_;
    GrRegs& regs_;
    EngineHost& host_;
    GridLauncher launcher_;
    std::map<u32, Context> contexts_;  // by chid
    u64 cost_ps_ = 0;                  // of what was done since take_cost_ps()
};

}  // namespace gpu
