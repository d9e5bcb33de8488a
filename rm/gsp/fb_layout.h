// Where the firmware's own memory lies in video memory, and a first-fit allocator over it.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, kernel_gsp_tu102.c (kgspCalculateFbLayout).
#pragma once

#include <map>
#include <optional>
#include <span>

#include "gpu_model/chip.h"
#include "sim/state_visitor.h"

namespace rm::gsp {

using namespace sim;

struct FbLayout {
    u64 fb_bytes = 0;
    u64 vga_workspace = 0;
    u64 wpr_end = 0;
    u64 frts = 0;
    u64 boot_binary = 0;
    u64 firmware = 0;
    u64 heap = 0;
    u64 wpr_start = 0;
    u64 non_wpr_heap = 0;
    // The firmware's hardware structures: instance blocks, page directories, runlists. (model) Silicon keeps them in its heap.
    u64 structures = 0;
    u64 structures_bytes = 0;
    u64 reserved_base() const { return structures; }
    void visit(sim::StateVisitor& visitor);
};
// What silicon of this size has when nobody told otherwise: a firmware that was started without Booter assumes it.
FbLayout fb_layout(const gpu::ChipSpec& spec);
// What the driver chose: the metadata that Booter left at the start of the protected region. Empty: it is none.
std::optional<FbLayout> fb_layout_of(std::span<const u8> wpr_meta);

class FbHeap {
public:
    static constexpr u64 kPage = 4096;
    FbHeap() = default;
    FbHeap(u64 base, u64 bytes) : base_(base), bytes_(bytes) {}
    // Page aligned. Empty: full.
    std::optional<u64> allocate(u64 bytes);
    void free(u64 address) { used_.erase(address); }
    const std::map<u64, u64>& used() const { return used_; }  // address: bytes
    void visit(sim::StateVisitor& visitor);

private:
    u64 base_ = 0;
    u64 bytes_ = 0;
    std::map<u64, u64> used_;  // address: bytes
};

}  // namespace rm::gsp
