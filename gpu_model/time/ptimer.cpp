// See ptimer.h.
#include "gpu_model/time/ptimer.h"

#include "gpu_model/intr/intr_vectors.h"
#include "gpu_model/regs/regs.h"

namespace gpu {

namespace {

using CounterLow = sim::Field<31, 0>;
using CounterHigh = sim::Field<60, 32>;
constexpr u64 kCounterMask = (u64{1} << 61) - 1;
constexpr u64 kStepMask = ~u64{31};
constexpr u64 kLowWrap = u64{1} << 32;

}  // namespace

Ptimer::Ptimer(sim::Kernel& kernel, IntrTree& intr)
    : kernel_(kernel), intr_(intr), block_(kernel, "ptimer", {{regs::kPtimerRows}}),
      target_(kernel.events().add_target("gpu.ptimer", *this)) {
    block_.on_access(regs::NV_PTIMER_TIME_0, [this](u32) { return time_low(); },
                     [this](u32, u32 value) { set_time(CounterLow::set(timestamp_ns(), value)); });
    block_.on_access(regs::NV_PTIMER_TIME_1, [this](u32) { return time_high(); },
                     [this](u32, u32 value) { set_time(CounterHigh::set(timestamp_ns(), value)); });
    block_.on_write(regs::NV_PTIMER_ALARM_0, [this](u32, u32) { arm(); });
    block_.on_write(regs::NV_PTIMER_INTR_EN_0, [this](u32, u32) { arm(); });
}

Ptimer::~Ptimer() { kernel_.events().remove_target(target_); }

u64 Ptimer::timestamp_ns() const { return (kernel_.now().ns() + offset_ns_) & kCounterMask & kStepMask; }
u32 Ptimer::time_low() const { return static_cast<u32>(CounterLow::get(timestamp_ns())); }
u32 Ptimer::time_high() const { return static_cast<u32>(CounterHigh::get(timestamp_ns())); }

void Ptimer::set_time(u64 ns) {
    offset_ns_ = (ns - kernel_.now().ns()) & kCounterMask;
    arm();
}

void Ptimer::arm() {
    ++armed_;
    if (regs::NV_PTIMER_INTR_EN_0_ALARM::get(block_.get(regs::NV_PTIMER_INTR_EN_0)) == 0) return;
    u64 low = CounterLow::get(kernel_.now().ns() + offset_ns_);
    u64 wait_ns = (block_.get(regs::NV_PTIMER_ALARM_0) - low) % kLowWrap;
    if (wait_ns == 0) wait_ns = kLowWrap;
    kernel_.events().schedule(kernel_.now() + SimTime::from_ns(wait_ns), sim::Phase::Device, target_, 0, armed_);
}

void Ptimer::on_event(u32, u64 arg) {
    if (arg != armed_) return;
    u32 pending = block_.get(regs::NV_PTIMER_INTR_0);
    block_.set(regs::NV_PTIMER_INTR_0, regs::NV_PTIMER_INTR_0_ALARM::set(pending, 1));
    intr_.pulse(vector::intr_ptimer);
}

void Ptimer::reset() {
    block_.reset();
    offset_ns_ = 0;
    ++armed_;
}

void Ptimer::visit(sim::StateVisitor& visitor) {
    visitor.field("registers", block_);
    visitor.field("offset_ns", offset_ns_);
    visitor.field("armed", armed_);
}

}  // namespace gpu
