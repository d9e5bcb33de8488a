// The compute engine's method interface: class TURING_COMPUTE_A (0xC5C0) on the graphics engine. Every method of the
// table is state; those below have effects. Source: clc5c0.h. Effects: SET_REPORT_SEMAPHORE_D (release, reduction).
// Unmodelled by name: other graphics classes, SEND_SIGNALING_PCAS_B, LOAD_INLINE_DATA and LAUNCH_DMA (inline to
// memory), NOTIFY, SET_REPORT_SEMAPHORE_D TRAP ("method C5C0 NAME").
#pragma once

#include <array>
#include <map>
#include <utility>

#include "gpu_model/chip.h"
#include "gpu_model/engine/engine.h"
#include "gpu_model/engine/method_table.h"
#include "gpu_model/intr/intr_tree.h"
#include "gpu_model/mem/mmu.h"
#include "gpu_model/time/gpu_clock.h"
#include "sim/kernel.h"

namespace gpu {

class Compute final : public Engine {
public:
    // engine_index: row in spec.engines, of kind Graphics. All references outlive the Compute.
    Compute(sim::Kernel& kernel, const ChipSpec& spec, u32 engine_index, Mmu& mmu, IntrTree& intr,
            const GpuClock& clock, EngineHost& host);

    std::string_view name() const override { return "gr0"; }
    u32 class_id() const override { return cls::TURING_COMPUTE_A; }
    bool accepts_class(u32 class_id) const override { return class_id == cls::TURING_COMPUTE_A; }
    MethodResult method(const ChannelContext& channel, u32 subchannel, u32 method, u32 data) override;
    bool idle(u32) const override { return true; }
    void drop_channel(u32 chid) override;
    void reset() override;
    void visit(sim::StateVisitor& visitor) override;

    // The last value written to a method; 0 before the first write.
    u32 state(u32 chid, u32 method) const;

private:
    using State = std::array<u32, MethodTable::kWords>;
    MethodResult refuse(const ChannelContext& channel, u32 code, u32 info);
    MethodResult report_semaphore(const ChannelContext& channel, const State& state, u32 data);

    sim::Kernel& kernel_;
    EngineRow row_;
    u32 engine_index_;
    Mmu& mmu_;
    IntrTree& intr_;
    const GpuClock& clock_;
    EngineHost& host_;
    std::map<u32, State> states_;               // by chid
    std::map<std::pair<u32, u32>, u32> bound_;  // class by (chid, subchannel)
};

}  // namespace gpu
