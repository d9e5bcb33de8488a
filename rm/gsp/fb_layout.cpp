// The firmware's video memory.
#include "rm/gsp/fb_layout.h"

#include <algorithm>

namespace rm::gsp {
namespace {

constexpr u64 kKiB = 1024;
constexpr u64 kMiB = 1024 * kKiB;
constexpr u64 kGiB = 1024 * kMiB;
constexpr u64 kFrtsBytes = kMiB;
constexpr u64 kBootBinaryBytes = 4 * kKiB;   // (model) size of the bootloader
constexpr u64 kFirmwareBytes = 32 * kMiB;    // (model) size of the firmware image with its page tables
constexpr u64 kStructuresBytes = 16 * kMiB;  // (model)

constexpr u64 align_down(u64 value, u64 to) { return value / to * to; }
constexpr u64 align_up(u64 value, u64 to) { return align_down(value + to - 1, to); }

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
