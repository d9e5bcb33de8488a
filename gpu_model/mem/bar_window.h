// BAR1 or BAR2 ("BAR3" on the PCI side): a window of the CPU into video memory, either by physical address or through
// an address space that its block register binds. Source: dev_bus, dev_vm manuals of TU104. (model): an access that
// faults reads all ones or is lost; the CPU counts as privileged.
#pragma once

#include <span>

#include "gpu_model/addresses.h"
#include "gpu_model/mem/memory.h"
#include "gpu_model/mem/mmu.h"
#include "sim/state_visitor.h"

namespace gpu {

class BarWindow {
public:
    // engine_id: the MMU fault engine id. reset_block: what the block register holds after reset.
    BarWindow(PhysicalMemory& memory, Mmu& mmu, u16 engine_id, u64 bytes, u32 reset_block);

    u64 size() const { return bytes_; }
    // The block register: instance block pointer, target, mode. Binding reads the instance block once, as hardware
    // does.
    u32 block() const { return block_; }
    void bind(u32 block);

    // Precondition: [offset, offset + size) lies inside the BAR.
    void read(u64 offset, std::span<u8> out);
    void write(u64 offset, std::span<const u8> bytes);
    // The bytes themselves while the range is plain contiguous video memory; else empty. Never reports a fault.
    std::span<u8> window(u64 offset, u64 bytes, bool for_write);
    // Like read and write, for the chip's own users of the address space (fault buffers). False: it faulted; nothing is
    // reported.
    bool try_write(u64 offset, std::span<const u8> bytes);

    // Changes whenever a window handed out before may be wrong.
    u64 generation() const { return generation_ + mmu_.generation(); }

    void reset();
    void visit(sim::StateVisitor& visitor);

private:
    bool physical() const;
    MmuClient client() const;

    PhysicalMemory& memory_;
    Mmu& mmu_;
    u16 engine_id_;
    u64 bytes_;
    u32 reset_block_;
    u32 block_;
    AddressSpace space_;
    u64 generation_ = 0;
};

}  // namespace gpu
