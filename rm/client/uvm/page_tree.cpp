// PageTree: directories made top-down and linked bottom-up, leaves, and the way back.
#include "rm/client/uvm/page_tree.h"

#include "sim/check.h"

namespace rm::client::uvm {

namespace {

constexpr u64 kTableBytes = kPage4K;  // what is allocated for a table of any level
constexpr u32 kDepthOfTables = 4;     // both kinds of page table; a level's number is its depth elsewhere

u32 depth_of(MmuLevel level) {
    return level == kPte4K || level == kPte64K ? kDepthOfTables : static_cast<u32>(level);
}

u64 used_bytes(MmuLevel level) {
    const MmuLevelRow& row = kMmuLevels[level];
    return row.entry_bytes << (row.high - row.low + 1);
}

// UVM marks all its directories volatile.
u64 volatile_pde(u64 word) {
    return PDE_VOL::set(word, 1);
}

}  // namespace

void PageTree::Node::visit(sim::StateVisitor& visitor) {
    visitor.field("address", address);
    visitor.field("used", used);
}

MmuLevel PageTree::leaf_level(u64 page_bytes) {
    SIM_CHECK(page_bytes == kPage4K || page_bytes == kPage64K || page_bytes == kPage2M, page_bytes);
    if (page_bytes == kPage4K) return kPte4K;
    return page_bytes == kPage64K ? kPte64K : kPde0;
}

template <typename Visit>
Status PageTree::each_table(u64 va, u64 bytes, u64 page_bytes, Visit visit) {
    MmuLevel level = leaf_level(page_bytes);
    u64 covered = u64{1} << (kMmuLevels[level].high + 1);
    for (u64 done = 0; done < bytes;) {
        u64 at = va + done;
        u64 piece = std::min(bytes - done, covered - at % covered);
        Status status = visit(Place{level, at, piece / page_bytes});
        if (status != NV_OK) return status;
        done += piece;
    }
    return NV_OK;
}

PageTree::Node* PageTree::find(MmuLevel level, u64 va) {
    auto it = nodes_.find(mmu_table_key(level, va));
    return it == nodes_.end() ? nullptr : &it->second;
}

u64 PageTree::entry_address(MmuLevel level, u64 va) {
    Node* node = find(level, va);
    SIM_CHECK(node != nullptr, va);
    return node->address + mmu_entry_offset(level, va);
}

Status PageTree::create() {
    std::optional<gpu::FbPa> table = adapter_->alloc_fb({.bytes = kTableBytes, .alignment = kTableBytes, .from_top = true});
    if (!table) return NV_ERR_NO_MEMORY;
    root_ = table->value;
    nodes_[mmu_table_key(kPde3, 0)] = Node{root_, 0};
    Push push = channel_->begin();
    push.fill(*table, 0, used_bytes(kPde3), Membar::None);
    push.wait_and_membar(Membar::Gpu);
    push.invalidate_all(*table, depth_of(kPde3), Membar::None);
    Status status = channel_->submit(push, Membar::None);
    if (status != NV_OK) destroy();
    return status;
}

void PageTree::destroy() {
    for (const auto& [key, node] : nodes_) adapter_->free_fb({node.address}, kTableBytes);
    nodes_.clear();
    root_ = 0;
}

// Writes the entry of the parent that points to the table of `child` at va, or clears it when there is no such table.
void PageTree::write_pde(Push& push, MmuLevel child, u64 va) {
    MmuLevel parent = mmu_parent(child);
    std::vector<u64> words;
    if (parent == kPde0) {
        Node* big = find(kPte64K, va);
        Node* small = find(kPte4K, va);
        words = {big != nullptr ? volatile_pde(dual_pde_big({big->address})) : 0,
                 small != nullptr ? volatile_pde(dual_pde_small({small->address})) : 0};
    } else {
        Node* node = find(child, va);
        words = {node != nullptr ? volatile_pde(pde_to({node->address})) : 0};
    }
    u64 source = push.inline_data(words);
    push.copy_to({entry_address(parent, va)}, source, words.size() * sizeof(u64), Membar::None);
}

// The leaf table and its ancestors, as far as they are missing.
Status PageTree::get(const Place& place) {
    std::vector<MmuLevel> made;  // from the leaf upwards
    for (MmuLevel level = place.level; find(level, place.va) == nullptr; level = mmu_parent(level))
        made.push_back(level);
    for (std::size_t i = 0; i < made.size(); ++i) {
        std::optional<gpu::FbPa> table = adapter_->alloc_fb({.bytes = kTableBytes, .alignment = kTableBytes, .from_top = true});
        if (!table) {
            while (i-- > 0) {
                auto it = nodes_.find(mmu_table_key(made[i], place.va));
                adapter_->free_fb({it->second.address}, kTableBytes);
                nodes_.erase(it);
            }
            return NV_ERR_NO_MEMORY;
        }
        nodes_[mmu_table_key(made[i], place.va)] = Node{table->value, 0};
    }
    find(place.level, place.va)->used += place.count;
    if (made.empty()) return NV_OK;
    for (MmuLevel level : made) ++find(mmu_parent(level), place.va)->used;
    Push push = channel_->begin();
    for (std::size_t i = made.size(); i-- > 0;)
        push.fill({find(made[i], place.va)->address}, 0, used_bytes(made[i]), Membar::None);
    push.wait_and_membar(Membar::Gpu);
    // Bottom up, so that an entry is valid before anything points to it.
    for (MmuLevel level : made) write_pde(push, level, place.va);
    push.wait_and_membar(Membar::Gpu);
    push.invalidate_all(root(), depth_of(mmu_parent(made.back())), Membar::None);
    return channel_->submit(push, Membar::None);
}

// Gives up entries, and the tables that become empty.
Status PageTree::put(const Place& place) {
    Node* node = find(place.level, place.va);
    SIM_CHECK(node != nullptr && node->used >= place.count, place.va);
    node->used -= place.count;
    std::vector<u64> freed;
    Push push = channel_->begin();
    MmuLevel level = place.level;
    while (level != kPde3 && find(level, place.va)->used == 0) {
        MmuLevel parent = mmu_parent(level);
        auto it = nodes_.find(mmu_table_key(level, place.va));
        freed.push_back(it->second.address);
        nodes_.erase(it);
        --find(parent, place.va)->used;
        write_pde(push, level, place.va);
        level = parent;
    }
    if (freed.empty()) return NV_OK;
    push.wait_and_membar(Membar::Gpu);
    push.invalidate_all(root(), depth_of(level), Membar::Gpu);
    Status status = channel_->submit(push, Membar::None);
    for (u64 table : freed) adapter_->free_fb({table}, kTableBytes);
    return status;
}

Status PageTree::write(const Place& place, u64 first_pte, u64 step, bool last, u64 base, u64 bytes) {
    std::vector<u64> words;
    for (u64 i = 0; i < place.count; ++i) {
        words.push_back(first_pte + i * step);
        if (place.entry_bytes() > sizeof(u64)) words.push_back(0);
    }
    Push push = channel_->begin();
    u64 source = push.inline_data(words);
    push.copy_to({entry_address(place.level, place.va)}, source, words.size() * sizeof(u64), Membar::None);
    push.wait_and_membar(Membar::Gpu);
    // An upgrade: nobody waits for accesses that are under way.
    if (last) push.invalidate_range(root(), depth_of(place.level), base, bytes, Membar::None);
    return channel_->submit(push, last ? Membar::Sys : Membar::None);
}

Status PageTree::map(u64 va, u64 bytes, u64 page_bytes, u64 first_pte, u64 step) {
    if (page_bytes != kPage2M && bytes / kPage2M > kTablesPerMapMax) return NV_ERR_NO_MEMORY;
    u64 got = 0;
    Status status = each_table(va, bytes, page_bytes, [&](const Place& place) {
        Status got_status = get(place);
        if (got_status == NV_OK) got += place.count * page_bytes;
        return got_status;
    });
    u64 done = 0;
    if (status == NV_OK) {
        status = each_table(va, bytes, page_bytes, [&](const Place& place) {
            u64 pte = first_pte + done / page_bytes * step;
            done += place.count * page_bytes;
            return write(place, pte, step, done == bytes, va, bytes);
        });
    }
    if (status != NV_OK && got != 0) unmap(va, got, page_bytes, Membar::Sys);
    return status;
}

Status PageTree::clear(u64 va, u64 bytes, u64 page_bytes, Membar after) {
    Push push = channel_->begin();
    constexpr u64 kSpaceOfOneClear = 512;
    Status result = each_table(va, bytes, page_bytes, [&](const Place& place) {
        if (!push.has_space(kSpaceOfOneClear)) {
            push.wait_and_membar(Membar::Gpu);
            Status status = channel_->submit(push, Membar::None);
            if (status != NV_OK) return status;
            push = channel_->begin();
        }
        push.fill({entry_address(place.level, place.va)}, 0, place.count * place.entry_bytes(), Membar::None);
        return Status{NV_OK};
    });
    if (result != NV_OK) return result;
    push.wait_and_membar(Membar::Gpu);
    push.invalidate_range(root(), depth_of(leaf_level(page_bytes)), va, bytes, after);
    return channel_->submit(push, Membar::Sys);
}

// The tables go even when the channel no longer answers: nothing that it does can be seen then.
Status PageTree::unmap(u64 va, u64 bytes, u64 page_bytes, Membar after) {
    Status status = clear(va, bytes, page_bytes, after);
    Status put_status = NV_OK;
    (void)each_table(va, bytes, page_bytes, [&](const Place& place) {
        Status one = put(place);
        if (one != NV_OK) put_status = one;
        return Status{NV_OK};
    });
    return status != NV_OK ? status : put_status;
}

bool PageTree::holds_exactly(std::span<const Span> spans) const {
    std::map<u64, u64> used;
    used[mmu_table_key(kPde3, 0)] = 0;
    for (const Span& span : spans) {
        bool sane = span.page_bytes == kPage4K || span.page_bytes == kPage64K || span.page_bytes == kPage2M;
        if (!sane || span.bytes == 0 || span.bytes % span.page_bytes != 0 || span.va % span.page_bytes != 0) return false;
        if (span.va >= kVaLimit || span.bytes > kVaLimit - span.va || span.bytes / kPage2M > kTablesPerMapMax) return false;
        (void)each_table(span.va, span.bytes, span.page_bytes, [&](const Place& place) {
            u64 more = place.count;
            for (MmuLevel level = place.level;; level = mmu_parent(level)) {
                auto [it, fresh] = used.try_emplace(mmu_table_key(level, place.va), 0);
                it->second += more;
                if (!fresh || level == kPde3) break;
                more = 1;  // the new table is one more entry above
            }
            return Status{NV_OK};
        });
    }
    if (nodes_.size() != used.size()) return false;
    for (const auto& [key, count] : used) {
        auto node = nodes_.find(key);
        if (node == nodes_.end() || node->second.used != count) return false;
    }
    return nodes_.begin()->second.address == root_;  // the root's key is the lowest
}

void PageTree::visit(sim::StateVisitor& visitor) {
    visitor.field("root", root_);
    visitor.field("nodes", nodes_);
}

}  // namespace rm::client::uvm
