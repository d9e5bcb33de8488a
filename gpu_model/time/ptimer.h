// PTIMER: nanoseconds of virtual time since power-on, or as software set them; the alarm interrupt.
// Source: dev_timer manual of TU104; the step of 32 ns is the manual's (NSEC 31:5). Not modelled: the per-function
// countdown timer (NV_VIRTUAL_FUNCTION_PRIV_TIMER). (model): an armed alarm rings once, not again at each wrap of the
// low word.
#pragma once

#include "gpu_model/bus/register_unit.h"
#include "gpu_model/intr/intr_tree.h"
#include "gpu_model/regs/reg_block.h"
#include "gpu_model/time/gpu_clock.h"
#include "sim/event_queue.h"
#include "sim/kernel.h"

namespace gpu {

class Ptimer final : public RegisterUnit, public GpuClock, private sim::EventTarget {
public:
    Ptimer(sim::Kernel& kernel, IntrTree& intr);
    ~Ptimer();

    u64 timestamp_ns() const override;
    // TIME_0 and TIME_1 as every copy of them reads.
    u32 time_low() const;
    u32 time_high() const;

    u32 read(u32 offset) override { return block_.read(offset); }
    void write(u32 offset, u32 value) override { block_.write(offset, value); }
    std::string_view unit_name() const override { return block_.unit_name(); }

    void reset();
    void visit(sim::StateVisitor& visitor);

private:
    void set_time(u64 ns);
    void arm();
    void on_event(u32 op, u64 arg) override;

    sim::Kernel& kernel_;
    IntrTree& intr_;
    RegBlock block_;
    sim::TargetId target_;
    u64 offset_ns_ = 0;  // added to virtual time, modulo the counter's width
    u64 armed_ = 0;      // number of the last arming: an event of an earlier one means nothing
};

}  // namespace gpu
