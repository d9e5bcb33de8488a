// How fast copy-engine launches move bytes, beside plain memcpy over the same pages in the same run. Bars: pitch copies
// and fills at most twice memcpy's time, strided and block-linear copies at most four times.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "gpu_model/engine/ce/ce_copy.h"
#include "gpu_model/mem/mmu_format.h"
#include "sim/kernel.h"

namespace {

using namespace gpu;
using namespace gpu::mmu_format;

constexpr u64 kMiB = u64{1} << 20;
constexpr u64 kBytes = 256 * kMiB;
constexpr u64 kSource = 64 * kMiB;
constexpr u64 kTarget = 512 * kMiB;
constexpr int kRounds = 5;

class NoHost final : public PciHost {
public:
    bool dma_read(SysPa, std::span<u8>) override { return false; }
    bool dma_write(SysPa, std::span<const u8>) override { return false; }
    std::span<u8> dma_window(SysPa, u64, bool) override { return {}; }
    void message_interrupt(u16) override {}
};

// One space that maps VA = physical address for the first GiB, by 2 MiB or 4 KiB pages; its tables lie in the first 64
// MiB.
AddressSpace map_first_gib(sim::SparseMemory& vram, u64 base, bool small_pages) {
    auto directory = [](u64 table) {
        return PDE_APERTURE::make<u64>(1) | PDE_ADDRESS_VID::make<u64>(table >> kPdeAddressShift);
    };
    auto page = [](u64 pa) { return PTE_VALID::make<u64>(1) | PTE_ADDRESS_VID::make<u64>(pa >> kPteAddressShift); };
    u64 next = base + 4096;
    u64 level2 = next, level1 = next + 4096;
    next += 2 * 4096;
    vram.write_u64(base, directory(level2));
    vram.write_u64(level2, directory(level1));
    for (u64 half = 0; half < 2; ++half) {
        u64 level0 = next;
        next += 4096;
        vram.write_u64(level1 + half * kPdeBytes, directory(level0));
        for (u64 slot = 0; slot < 256; ++slot) {
            u64 pa = (half * 256 + slot) * kHugePageBytes;
            if (!small_pages) {
                vram.write_u64(level0 + slot * kPde0Bytes, page(pa));
                continue;
            }
            vram.write_u64(level0 + slot * kPde0Bytes + 8, directory(next));
            for (u64 i = 0; i < 512; ++i) vram.write_u64(next + i * kPteBytes, page(pa + i * kSmallPageBytes));
            next += 4096;
        }
    }
    AddressSpace space;
    space.bound = true;
    space.pdb = {Aperture::Vid, base};
    return space;
}

template <typename Work>
double best_seconds(Work work) {
    double best = 1e9;
    for (int round = 0; round < kRounds; ++round) {
        std::clock_t begin = std::clock();  // processor time: what other programs take does not count
        work();
        best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    }
    return best;
}

struct Row {
    const char* name;
    bool small_pages;
    double bar;
    CopyDescriptor copy;
};

CopyDescriptor lines(u64 bytes, u64 count, i64 src_pitch, i64 dst_pitch) {
    CopyDescriptor copy;
    copy.has_data = true;
    copy.src.base = kSource;
    copy.dst.base = kTarget;
    copy.line_elements = bytes;
    copy.line_count = count;
    copy.src.pitch = src_pitch;
    copy.dst.pitch = dst_pitch;
    return copy;
}

CopyDescriptor block(bool source, bool target) {
    constexpr u64 kWidth = 16384;
    CopyDescriptor copy = lines(kWidth, kBytes / kWidth, kWidth, kWidth);
    for (CopySurface* surface : {&copy.src, &copy.dst}) {
        surface->block_linear = surface == &copy.src ? source : target;
        surface->block_height_log2 = 4;
        surface->width_bytes = kWidth;
        surface->height = static_cast<u32>(kBytes / kWidth);
        surface->depth = 1;
    }
    return copy;
}

}  // namespace

int main() {
    sim::Kernel kernel;
    sim::SparseMemory vram("vram", u64{1} << 30);
    NoHost host;
    PhysicalMemory memory(vram, host);
    Mmu mmu(kernel, memory);
    const AddressSpace spaces[] = {map_first_gib(vram, kMiB, false), map_first_gib(vram, 16 * kMiB, true)};
    u8* source = vram.window(kSource, kBytes, true).data();
    u8* target = vram.window(kTarget, kBytes, true).data();
    for (u64 i = 0; i < kBytes; ++i) source[i] = static_cast<u8>(i * 7 + (i >> 12));
    std::memset(target, 1, kBytes);

    CopyDescriptor fill = lines(kBytes / 8, 1, 0, 0);
    fill.remap = true;
    fill.component_bytes = 4;
    fill.dst_components = 2;
    fill.select = {RemapSelect::ConstA, RemapSelect::ConstB, RemapSelect::NoWrite, RemapSelect::NoWrite};
    fill.const_a = 0x01234567;
    const Row rows[] = {
        {"pitch, 2 MiB pages", false, 2, lines(kBytes, 1, 0, 0)},
        {"pitch, 4 KiB pages", true, 2, lines(kBytes, 1, 0, 0)},
        {"fill of 8 bytes", false, 2, fill},
        {"lines of 4096, pitch 4096", false, 4, lines(4096, kBytes / 4096, 4096, 4096)},
        {"lines of 512, pitch 512", false, 4, lines(512, kBytes / 512, 512, 512)},
        {"block linear to pitch", false, 4, block(true, false)},
        {"pitch to block linear", false, 4, block(false, true)},
        {"block linear to same", false, 4, block(true, true)},
    };
    bool within = true;
    std::printf("%-28s %10s %10s %7s %5s\n", "256 MiB", "model ms", "memcpy ms", "ratio", "bar");
    for (const Row& row : rows) {
        double plain = best_seconds([&] { std::memcpy(target, source, kBytes); });
        double model = best_seconds([&] {
            Copier copier(memory, mmu, spaces[row.small_pages ? 1 : 0], {});
            CopyProgress progress;
            MmuFault fault;
            while (!progress.done(row.copy)) {
                if (!copier.advance(row.copy, progress, fault))
                    std::printf("fault at 0x%llx\n", static_cast<unsigned long long>(fault.va.value));
            }
        });
        within = within && model <= plain * row.bar;
        std::printf("%-28s %10.1f %10.1f %7.2f %5.1f\n", row.name, model * 1e3, plain * 1e3, model / plain, row.bar);
    }
    return within ? 0 : 1;
}
