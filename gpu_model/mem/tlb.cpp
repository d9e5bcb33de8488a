// See tlb.h.
#include "gpu_model/mem/tlb.h"

#include <algorithm>
#include <iterator>

#include "gpu_model/mem/mmu_format.h"
#include "sim/check.h"

namespace gpu {

namespace {

constexpr u32 kPagesPerBig = static_cast<u32>(mmu_format::kBigPageBytes / mmu_format::kSmallPageBytes);

}  // namespace

Tlb::Block* Tlb::find(const Key& key) {
    Recent& recent = recent_[key.slot % recent_.size()];
    if (recent.block != nullptr && recent.key == key) return recent.block;
    auto it = blocks_.find(key);
    if (it == blocks_.end()) return nullptr;
    recent = {key, &it->second};
    return recent.block;
}

Tlb::Block& Tlb::obtain(const Key& key) {
    if (Block* block = find(key)) return *block;
    if (blocks_.size() >= kBlocksMax) erase(blocks_.find(age_.begin()->second));
    Block& block = blocks_[key];
    block.sequence = next_sequence_++;
    age_.emplace(block.sequence, key);
    return block;
}

void Tlb::erase(std::map<Key, Block>::iterator block) {
    age_.erase(block->second.sequence);
    blocks_.erase(block);
    forget_recent();
}

void Tlb::clear() {
    blocks_.clear();
    age_.clear();
    forget_recent();
}

void Tlb::evict(u32 n) {
    SIM_CHECK(n < block_count(), n);
    erase(std::next(blocks_.begin(), n));
}

void Tlb::drop_space(bool hub_only, bool all_pdb, PhysAddr pdb) {
    for (auto it = blocks_.begin(); it != blocks_.end();) {
        auto block = it++;
        if (hub_only && block->first.gpc) continue;
        if (!all_pdb && block->first.pdb != pdb) continue;
        erase(block);
    }
}

void Tlb::drop_range(bool hub_only, bool all_pdb, PhysAddr pdb, GpuVa va, u64 bytes) {
    if (bytes == 0 || va.value >= mmu_format::kVaLimit) return;
    u64 last = va.value + std::min(bytes, mmu_format::kVaLimit - va.value) - 1;
    u64 first_slot = va.value >> mmu_format::kHugeShift;
    u64 last_slot = last >> mmu_format::kHugeShift;
    u64 first_page = (va.value >> mmu_format::kPageShift) / kPagesPerBig * kPagesPerBig;
    u64 last_page = (last >> mmu_format::kPageShift) / kPagesPerBig * kPagesPerBig + kPagesPerBig - 1;
    for (auto it = blocks_.begin(); it != blocks_.end();) {
        auto block = it++;
        const Key& key = block->first;
        if (hub_only && key.gpc) continue;
        if (!all_pdb && key.pdb != pdb) continue;
        if (key.slot < first_slot || key.slot > last_slot) continue;
        if (block->second.uniform != kNoLeaf) {
            erase(block);
            continue;
        }
        u64 base = key.slot * kSlotPages;
        for (u32 page = 0; page < kSlotPages; ++page) {
            if (base + page >= first_page && base + page <= last_page) block->second.pages[page] = kNoLeaf;
        }
    }
}

void Tlb::Key::visit(sim::StateVisitor& visitor) {
    visitor.field("gpc", gpc);
    visitor.field("aperture", pdb.aperture);
    visitor.field("pdb", pdb.value);
    visitor.field("slot", slot);
}

void Tlb::Block::visit(sim::StateVisitor& visitor) {
    visitor.field("uniform", uniform);
    visitor.field("pages", pages);
    visitor.field("sequence", sequence);
    if (visitor.loading() && !pages.empty() && pages.size() != kSlotPages)
        visitor.fail("pages", "not one leaf per page");
}

void Tlb::visit(sim::StateVisitor& visitor) {
    visitor.field("blocks", blocks_);
    visitor.field("next_sequence", next_sequence_);
    if (visitor.in_place()) forget_recent();  // an undone machine finds blocks as if nothing had been
    if (!visitor.loading()) return;
    forget_recent();
    age_.clear();
    for (const auto& [key, block] : blocks_) {
        if (!age_.emplace(block.sequence, key).second) visitor.fail("sequence", "used twice");
    }
    if (visitor.failed()) clear();
}

}  // namespace gpu
