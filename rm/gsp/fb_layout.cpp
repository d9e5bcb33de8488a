// The firmware's video memory.
#include "rm/gsp/fb_layout.h"

#include <algorithm>

#include "rm/abi/gsp_fw_wpr_meta.h"
#include "sim/align.h"

namespace rm::gsp {
namespace {

constexpr u64 kKiB = 1024;
constexpr u64 kMiB = 1024 * kKiB;
constexpr u64 kGiB = 1024 * kMiB;
constexpr u64 kFrtsBytes = kMiB;
constexpr u64 kBootBinaryBytes = 4 * kKiB;   // (model) size of the bootloader
constexpr u64 kFirmwareBytes = 32 * kMiB;    // (model) size of the firmware image with its page tables
constexpr u64 kStructuresBytes = 16 * kMiB;  // (model)

}  // namespace

FbLayout fb_layout(const gpu::ChipSpec& spec) {
    FbLayout out;
    out.fb_bytes = spec.vram_bytes;
    out.vga_workspace = out.fb_bytes - kMiB;
    out.wpr_end = align_down(out.vga_workspace, 128 * kKiB);
    out.frts = out.wpr_end - kFrtsBytes;
    out.boot_binary = align_down(out.frts - kBootBinaryBytes, 4 * kKiB);
    out.firmware = align_down(out.boot_binary - kFirmwareBytes, 64 * kKiB);
    u64 fb_gib = (out.fb_bytes + kGiB - 1) / kGiB;
    u64 heap_bytes = std::clamp(8 * kMiB + align_up(96 * kKiB * fb_gib, kMiB) + 96 * kMiB, 64 * kMiB, 256 * kMiB);
    out.heap = align_down(out.firmware - heap_bytes, kMiB);
    out.wpr_start = out.heap - kMiB;
    out.non_wpr_heap = out.wpr_start - kMiB;
    out.structures = out.non_wpr_heap - kStructuresBytes;
    out.structures_bytes = kStructuresBytes;
    return out;
}

std::optional<FbLayout> fb_layout_of(std::span<const u8> wpr_meta) {
    constexpr u64 kMagic = 0xDC3AAE21371A60B3;
    constexpr u64 kVerified = 0xA0A0A0A0A0A0A0A0;
    std::optional<abi::GspFwWprMeta> meta = abi::load<abi::GspFwWprMeta>(wpr_meta);
    if (!meta || meta->magic != kMagic || meta->verified != kVerified || meta->gspFwRsvdStart <= kStructuresBytes) return std::nullopt;
    FbLayout out;
    out.fb_bytes = meta->fbSize;
    out.vga_workspace = meta->vgaWorkspaceOffset;
    out.wpr_end = meta->gspFwWprEnd;
    out.frts = meta->frtsOffset;
    out.boot_binary = meta->bootBinOffset;
    out.firmware = meta->gspFwOffset;
    out.heap = meta->gspFwHeapOffset;
    out.wpr_start = meta->gspFwWprStart;
    out.non_wpr_heap = meta->nonWprHeapOffset;
    out.structures = align_down(meta->gspFwRsvdStart, kMiB) - kStructuresBytes;
    out.structures_bytes = kStructuresBytes;
    return out;
}

void FbLayout::visit(sim::StateVisitor& visitor) {
    visitor.field("fb_bytes", fb_bytes);
    visitor.field("vga_workspace", vga_workspace);
    visitor.field("wpr_end", wpr_end);
    visitor.field("frts", frts);
    visitor.field("boot_binary", boot_binary);
    visitor.field("firmware", firmware);
    visitor.field("heap", heap);
    visitor.field("wpr_start", wpr_start);
    visitor.field("non_wpr_heap", non_wpr_heap);
    visitor.field("structures", structures);
    visitor.field("structures_bytes", structures_bytes);
}

std::optional<u64> FbHeap::allocate(u64 bytes) {
    u64 want = align_up(std::max<u64>(bytes, 1), kPage);
    u64 at = base_;
    for (const auto& [address, size] : used_) {
        if (address - at >= want) break;
        at = address + size;
    }
    if (want > bytes_ || at - base_ > bytes_ - want) return std::nullopt;
    used_.emplace(at, want);
    return at;
}

void FbHeap::visit(sim::StateVisitor& visitor) {
    visitor.field("base", base_);
    visitor.field("bytes", bytes_);
    visitor.field("used", used_);
}

}  // namespace rm::gsp
