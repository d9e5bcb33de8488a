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

void Tlb::visit(sim::StateVisitor& visitor) {
    constexpr std::size_t kHeadWords = 7;
    std::vector<u64> words;
    if (!visitor.loading()) {
        for (const auto& [key, block] : blocks_) {
            words.insert(words.end(), {u64{key.gpc}, static_cast<u64>(key.pdb.aperture), key.pdb.value, key.slot, block.uniform,
                                       block.sequence, block.pages.size()});
            words.insert(words.end(), block.pages.begin(), block.pages.end());
        }
    }
    visitor.field("blocks", words);
    visitor.field("next_sequence", next_sequence_);
    if (!visitor.loading()) return;
    clear();
    for (std::size_t at = 0; at + kHeadWords <= words.size();) {
        const u64* head = &words[at];
        at += kHeadWords;
        if (head[6] > kSlotPages || head[6] > words.size() - at) break;  // a damaged snapshot ends here
        Key key{head[0] != 0, {static_cast<Aperture>(head[1] & 3), head[2]}, head[3]};
        Block& block = blocks_[key];
        block.uniform = head[4];
        block.sequence = head[5];
        block.pages.assign(head + kHeadWords, head + kHeadWords + head[6]);
        at += head[6];
        age_.emplace(block.sequence, key);
    }
}

}  // namespace gpu
