// A whole chip on a small host, and a page table writer of its own: it knows the formats by plain shifts, apart from
// the model's fields.
#pragma once

#include <string>
#include <vector>

#include "gpu_model/gpu.h"
#include "gpu_model/gpu_units.h"
#include "sim/kernel.h"
#include "sim/sparse_memory.h"

namespace test {

using namespace sim;

// System memory from address 0; counts messages and keeps their data.
class FakeHost final : public gpu::PciHost {
public:
    static constexpr u64 kBytes = u64{64} << 20;
    FakeHost() : memory("sysmem", kBytes) {}
    bool dma_read(gpu::SysPa address, std::span<u8> out) override;
    bool dma_write(gpu::SysPa address, std::span<const u8> bytes) override;
    std::span<u8> dma_window(gpu::SysPa address, u64 bytes, bool for_write) override;
    void message_interrupt(u16 data) override { messages.push_back(data); }

    sim::SparseMemory memory;
    std::vector<u16> messages;
};

struct GpuFixture {
    explicit GpuFixture(std::string_view chip = "t4", u64 seed = 0);

    gpu::PciDevice& pci() { return gpu.pci(); }
    gpu::Gpu::Units& units() { return gpu.units(); }
    u32 reg(u32 offset) { return static_cast<u32>(pci().bar_read(gpu::Bar::Bar0, offset, 4)); }
    void set_reg(u32 offset, u32 value) { pci().bar_write(gpu::Bar::Bar0, offset, 4, value); }
    // Memory space, bus mastering and MSI with this data.
    void enable(u16 msi_data = 0x41);
    void run() { kernel.run(); }

    sim::Kernel kernel;
    FakeHost host;
    gpu::Gpu gpu;
};

// Version-2 page tables in video memory, taken from a bump pointer.
class PageTables {
public:
    PageTables(sim::SparseMemory& vram, u64 first_free);

    u64 root() const { return root_; }
    // An instance block that names this root; returns its address.
    u64 instance();
    // Raw entries; tables above are made as needed.
    void set_pde(unsigned level, u64 va, u64 entry);        // level 3, 2, 1
    void set_pde0(u64 va, u64 low, u64 high);
    void set_pte_64k(u64 va, u64 pte);
    void set_pte_4k(u64 va, u64 pte);
    void set_pte_2m(u64 va, u64 pte) { set_pde0(va, pte | 1, 0); }
    u64 take(u64 bytes, u64 align);

private:
    u64 table(u64 va, unsigned level);  // address of the directory of that level (3 is the root)
    sim::SparseMemory& vram_;
    u64 next_;
    u64 root_;
};

// PTE words: aperture 0 video, 2 coherent system memory.
constexpr u64 pte(u64 pa, unsigned aperture = 0, u64 flags = 0) {
    return (pa >> 12 << 8) | u64{aperture} << 1 | 1 | flags;
}
inline constexpr u64 kPteVol = 1 << 3;
inline constexpr u64 kPtePriv = 1 << 5;
inline constexpr u64 kPteReadOnly = 1 << 6;
inline constexpr u64 kPteNoAtomic = 1 << 7;
constexpr u64 pte_kind(u64 kind) { return kind << 56; }

}  // namespace test
