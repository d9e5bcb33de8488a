// See gpu_fixture.h.
#include "gpu_fixture.h"

namespace test {

bool FakeHost::dma_read(gpu::SysPa address, std::span<u8> out) {
    if (!memory.contains(address.value, out.size())) return false;
    memory.read(address.value, out);
    return true;
}

bool FakeHost::dma_write(gpu::SysPa address, std::span<const u8> bytes) {
    if (!memory.contains(address.value, bytes.size())) return false;
    memory.write(address.value, bytes);
    return true;
}

std::span<u8> FakeHost::dma_window(gpu::SysPa address, u64 bytes, bool for_write) {
    if (!memory.contains(address.value, bytes)) return {};
    return memory.window(address.value, bytes, for_write);
}

GpuFixture::GpuFixture(std::string_view chip, u64 seed)
    : kernel({.seed = seed}), gpu(kernel, *gpu::find_chip(chip), host) {}

void GpuFixture::enable(u16 msi_data) {
    pci().config_write(0x74, 2, msi_data);
    pci().config_write(0x6A, 2, 0x0081);
    pci().config_write(0x04, 2, 0x0006);
}

PageTables::PageTables(sim::SparseMemory& vram, u64 first_free)
    : vram_(vram), next_(first_free), root_(take(4096, 4096)) {}

u64 PageTables::take(u64 bytes, u64 align) {
    u64 at = (next_ + align - 1) / align * align;
    next_ = at + bytes;
    return at;
}

u64 PageTables::instance() {
    u64 block = take(4096, 4096);
    vram_.write_u64(block + 0x200, root_ | 1 << 10 | 1 << 11);
    return block;
}

u64 PageTables::table(u64 va, unsigned level) {
    if (level == 3) return root_;
    u64 parent = table(va, level + 1);
    unsigned shift = level == 2 ? 47 : level == 1 ? 38 : 29;
    u64 slot = parent + (va >> shift & (level == 2 ? 3 : 511)) * 8;
    u64 entry = vram_.read_u64(slot);
    if ((entry >> 1 & 3) == 0) {
        entry = take(4096, 4096) >> 12 << 8 | 1 << 1;
        vram_.write_u64(slot, entry);
    }
    return (entry >> 8 & 0x1FFFFFF) << 12;
}

void PageTables::set_pde(unsigned level, u64 va, u64 entry) {
    unsigned shift = level == 3 ? 47 : level == 2 ? 38 : 29;
    vram_.write_u64(table(va, level) + (va >> shift & (level == 3 ? 3 : 511)) * 8, entry);
}

void PageTables::set_pde0(u64 va, u64 low, u64 high) {
    u64 slot = table(va, 0) + (va >> 21 & 255) * 16;
    vram_.write_u64(slot, low);
    vram_.write_u64(slot + 8, high);
}

void PageTables::set_pte_64k(u64 va, u64 word) {
    u64 slot = table(va, 0) + (va >> 21 & 255) * 16;
    u64 low = vram_.read_u64(slot);
    if ((low >> 1 & 3) == 0) {
        low = take(256, 256) >> 8 << 4 | 1 << 1;
        vram_.write_u64(slot, low);
    }
    vram_.write_u64(((low >> 4 & 0x1FFFFFFF) << 8) + (va >> 16 & 31) * 8, word);
}

void PageTables::set_pte_4k(u64 va, u64 word) {
    u64 slot = table(va, 0) + (va >> 21 & 255) * 16 + 8;
    u64 high = vram_.read_u64(slot);
    if ((high >> 1 & 3) == 0) {
        high = take(4096, 4096) >> 12 << 8 | 1 << 1;
        vram_.write_u64(slot, high);
    }
    vram_.write_u64(((high >> 8 & 0x1FFFFFF) << 12) + (va >> 12 & 511) * 8, word);
}

}  // namespace test
