// Where MMU faults go: two fault buffers in memory (0 non-replayable, 1 replayable) and, for faults of the BARs or
// without a buffer, one latched set of registers. Source: pri_mmu_hub, dev_mmu_fault manuals of TU104; packet layout of
// class C369. (model): entries a buffer needs by default; what waits while a buffer is full is bounded, the rest is
// dropped.
#pragma once

#include <array>
#include <deque>

#include "gpu_model/intr/intr_tree.h"
#include "gpu_model/mem/bar_window.h"
#include "gpu_model/mem/fault_packet.h"
#include "gpu_model/mem/memory.h"
#include "gpu_model/mem/mmu.h"
#include "gpu_model/time/gpu_clock.h"
#include "sim/kernel.h"
#include "sim/state_visitor.h"

namespace gpu {

class FaultUnit final : public FaultSink {
public:
    static constexpr u32 kBuffers = 2;
    static constexpr u32 kNonReplayable = 0;
    static constexpr u32 kReplayable = 1;
    static constexpr u32 kHeldMax = 256;

    FaultUnit(sim::Kernel& kernel, PhysicalMemory& memory, BarWindow& bar2, IntrTree& intr, const GpuClock& clock);

    void on_mmu_fault(const MmuFault& fault) override;
    bool replayable_buffer_enabled() const override;

    // Registers of buffer `index`, by their offset within the set. Precondition: index < kBuffers.
    u32 read_lo(u32 index) const { return buffers_.at(index).lo; }
    u32 read_hi(u32 index) const { return buffers_.at(index).hi; }
    u32 read_get(u32 index) const;
    u32 read_put(u32 index) const;
    u32 read_size(u32 index) const { return buffers_.at(index).size; }
    void write_lo(u32 index, u32 value) { buffers_.at(index).lo = value; }
    void write_hi(u32 index, u32 value) { buffers_.at(index).hi = value; }
    void write_get(u32 index, u32 value);
    void write_size(u32 index, u32 value);

    u32 read_page_fault_ctrl() const { return page_fault_ctrl_; }
    void write_page_fault_ctrl(u32 value);
    u32 read_addr_lo() const { return addr_lo_; }
    u32 read_addr_hi() const { return addr_hi_; }
    u32 read_inst_lo() const { return inst_lo_; }
    u32 read_inst_hi() const { return inst_hi_; }
    u32 read_info() const { return info_; }
    u32 read_status() const;
    void write_status(u32 value);

    void reset();
    void visit(sim::StateVisitor& visitor);

private:
    struct Buffer {
        u32 lo = 0;
        u32 hi = 0;
        u32 get = 0;
        u32 put = 0;
        u32 size = 0;  // the SIZE register
        bool overflow = false;
        bool getptr_corrupted = false;
        bool write_error = false;  // the packet's place could not be written
        std::deque<std::array<u32, FaultPacket::kDwords>> held;  // waiting for space
        u32 entries() const;
        bool enabled() const;
        bool full() const;
        void visit(sim::StateVisitor& visitor);
    };

    FaultPacket make_packet(const MmuFault& fault) const;
    void deliver(u32 index, const FaultPacket& packet);
    bool write_packet(Buffer& buffer, const FaultPacket& packet);
    void latch(const MmuFault& fault);

    sim::Kernel& kernel_;
    PhysicalMemory& memory_;
    BarWindow& bar2_;
    IntrTree& intr_;
    const GpuClock& clock_;
    std::array<Buffer, kBuffers> buffers_{};
    u32 page_fault_ctrl_ = 0;
    u32 addr_lo_ = 0;
    u32 addr_hi_ = 0;
    u32 inst_lo_ = 0;
    u32 inst_hi_ = 0;
    u32 info_ = 0;
    u32 latched_status_ = 0;  // VALID and the DROPPED bits of FAULT_STATUS
};

}  // namespace gpu
