// The host computer's memory as the kernel driver and the chip's DMA see it: one sparse system memory and the allocator of its pages.
// Only allocated pages answer to DMA: a device that touches anything else is refused, as an IOMMU would.
#pragma once

#include <map>

#include "gpu_model/pci_surface.h"
#include "rm/client.h"
#include "sim/sparse_memory.h"

namespace harness {

using namespace sim;

class HostMemory final : public rm::HostServices {
public:
    // (model) 64 GiB of memory; the driver's pages come from above 4 GiB, so that a truncated address never works by chance.
    static constexpr u64 kBytes = u64{64} << 30;
    static constexpr u64 kFirstPage = u64{4} << 30;

    HostMemory();

    gpu::SysPa alloc_pages(u64 bytes) override;
    void free_pages(gpu::SysPa address, u64 bytes) override;
    void read(gpu::SysPa address, std::span<u8> out) override;
    void write(gpu::SysPa address, std::span<const u8> bytes) override;

    // True when every byte of the range lies in allocated pages.
    bool allocated(gpu::SysPa address, u64 bytes) const;
    u64 allocated_bytes() const;
    sim::SparseMemory& memory() { return memory_; }
    void visit(sim::StateVisitor& visitor);

private:
    void zero(u64 address, u64 bytes);

    sim::SparseMemory memory_;
    std::map<u64, u64> blocks_;  // first byte -> bytes, as they were allocated
    u64 ever_used_ = kFirstPage;  // nothing above has been written yet, so it needs no zeroing
};

}  // namespace harness
