// Physical memory as engines, host and MMU see it: video memory, or system memory through the DMA port.
#pragma once

#include <span>

#include "gpu_model/addresses.h"
#include "gpu_model/pci_surface.h"
#include "sim/sparse_memory.h"

namespace gpu {

class PhysicalMemory {
public:
    PhysicalMemory(sim::SparseMemory& vram, PciHost& host) : vram_(vram), host_(host) {}

    // False: nothing answers there (outside video memory, no host memory, peer aperture). Nothing partial happens.
    bool read(PhysAddr address, std::span<u8> out);
    bool write(PhysAddr address, std::span<const u8> bytes);
    // The bytes themselves when they are one block; else empty.
    std::span<u8> window(PhysAddr address, u64 bytes, bool for_write);
    sim::SparseMemory& vram() { return vram_; }

private:
    sim::SparseMemory& vram_;
    PciHost& host_;
};

}  // namespace gpu
