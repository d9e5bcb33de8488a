// Global memory of a grid: accesses of its SMs through the MMU in the channel's address space.
#pragma once

#include "gpu_model/mem/memory.h"
#include "gpu_model/mem/mmu.h"
#include "gpu_model/sm/launch.h"

namespace gpu {

class MmuPort final : public sm::SmMemory {
public:
    // References outlive the port. data and code: who asks.
    MmuPort(Mmu& mmu, PhysicalMemory& memory, const AddressSpace& space, const MmuClient& data, const MmuClient& code)
        : mmu_(mmu), memory_(memory), space_(space), data_(data), code_(code) {}

    bool read(u64 va, std::span<u8> out) override { return mmu_.read(space_, GpuVa{va}, out, data_, fault_); }
    bool write(u64 va, std::span<const u8> bytes) override {
        return mmu_.write(space_, GpuVa{va}, bytes, data_, fault_);
    }
    bool may_modify(u64 va, u32 bytes) override;
    bool fetch(u64 va, std::span<u8> out) override { return mmu_.read(space_, GpuVa{va}, out, code_, fault_); }
    u8* page(u64 va, bool for_write) override;

    // Of the last access that failed.
    const MmuFault& fault() const { return fault_; }

private:
    Mmu& mmu_;
    PhysicalMemory& memory_;
    AddressSpace space_;
    MmuClient data_, code_;
    MmuFault fault_;
};

}  // namespace gpu
