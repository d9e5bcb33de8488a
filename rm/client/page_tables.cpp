// PageTables: entry formats and the tree.
#include "rm/client/page_tables.h"

#include "sim/check.h"

namespace rm::client {

u64 pde_to(gpu::FbPa table) {
    return PDE_APERTURE::make<u64>(kPdeApertureVideo) | PDE_ADDRESS::make<u64>(table.value >> 12);
}

u64 dual_pde_big(gpu::FbPa table) {
    return PDE_APERTURE::make<u64>(kPdeApertureVideo) | PDE0_ADDRESS_BIG::make<u64>(table.value >> 8);
}

u64 dual_pde_small(gpu::FbPa table) {
    return pde_to(table);
}

u64 pte_to(gpu::PhysAddr page, const LeafAttributes& attributes) {
    bool system = page.aperture != gpu::Aperture::Vid;
    u64 word = PTE_VALID::make<u64>(1) | PTE_APERTURE::make<u64>(static_cast<u64>(page.aperture));
    word = PTE_VOL::set(word, system ? 1 : 0);
    word = PTE_PRIVILEGE::set(word, attributes.privileged ? 1 : 0);
    word = PTE_READ_ONLY::set(word, attributes.read_only ? 1 : 0);
    word = PTE_ATOMIC_DISABLE::set(word, attributes.atomic_disable ? 1 : 0);
    word = PTE_ADDRESS::set(word, page.value >> 12);
    return PTE_KIND::set(word, attributes.kind);
}

void PageTables::Node::visit(sim::StateVisitor& visitor) {
    visitor.field("address", address);
    visitor.field("used", used);
    visitor.field("adopted", adopted);
}

MmuLevel PageTables::leaf_level(u64 page_bytes) {
    SIM_CHECK(page_bytes == kPage4K || page_bytes == kPage64K || page_bytes == kPage2M, page_bytes);
    if (page_bytes == kPage4K) return kPte4K;
    return page_bytes == kPage64K ? kPte64K : kPde0;
}

bool PageTables::create_root() {
    std::optional<gpu::FbPa> table = store_->alloc_table();
    if (!table) return false;
    root_ = *table;
    nodes_[mmu_table_key(kPde3, 0)] = Node{root_.value, 0, 0};
    return true;
}

void PageTables::adopt_root(gpu::FbPa root) {
    root_ = root;
    nodes_[mmu_table_key(kPde3, 0)] = Node{root.value, 0, 1};
}

PageTables::Node* PageTables::find(MmuLevel level, u64 va) {
    auto it = nodes_.find(mmu_table_key(level, va));
    return it == nodes_.end() ? nullptr : &it->second;
}

// A directory that somebody else filled may already have the table: take it over rather than cut it off.
bool PageTables::find_child(const Node& parent, MmuLevel parent_level, MmuLevel level, u64 va, std::optional<gpu::FbPa>& child) {
    if (parent.adopted == 0) return true;
    bool big = parent_level == kPde0 && level != kPte4K;
    u64 slot = parent.address + mmu_entry_offset(parent_level, va) + (parent_level == kPde0 && !big ? 8 : 0);
    std::optional<u64> word = store_->read_entry({slot});
    if (!word) return false;
    if (IS_PTE::get(*word) != 0 || PDE_APERTURE::get(*word) != kPdeApertureVideo) return true;
    child = gpu::FbPa{big ? PDE0_ADDRESS_BIG::get(*word) << 8 : PDE_ADDRESS::get(*word) << 12};
    return true;
}

void PageTables::link(Node& parent, MmuLevel level, u64 va, u64 table) {
    MmuLevel parent_level = mmu_parent(level);
    u64 slot = parent.address + mmu_entry_offset(parent_level, va);
    if (level == kPte4K)
        store_->write_entry({slot + 8}, dual_pde_small({table}));
    else if (level == kPte64K)
        store_->write_entry({slot}, dual_pde_big({table}));
    else
        store_->write_entry({slot}, pde_to({table}));
    ++parent.used;
}

void PageTables::unlink(Node& parent, MmuLevel level, u64 va) {
    MmuLevel parent_level = mmu_parent(level);
    u64 slot = parent.address + mmu_entry_offset(parent_level, va);
    store_->write_entry({level == kPte4K ? slot + 8 : slot}, 0);
    --parent.used;
}

// The table of `level` that covers va, made with its ancestors when it is not there. nullptr: no memory, or no answer.
PageTables::Node* PageTables::open(MmuLevel level, u64 va) {
    if (Node* node = find(level, va)) return node;
    SIM_CHECK(level != kPde3);
    MmuLevel parent_level = mmu_parent(level);
    Node* parent = open(parent_level, va);
    if (parent == nullptr) return nullptr;
    std::optional<gpu::FbPa> child;
    if (!find_child(*parent, parent_level, level, va, child)) {
        release(parent_level, va);
        return nullptr;
    }
    if (child) {
        ++parent->used;
        return &(nodes_[mmu_table_key(level, va)] = Node{child->value, 0, 1});
    }
    std::optional<gpu::FbPa> table = store_->alloc_table();
    if (!table) {
        release(parent_level, va);
        return nullptr;
    }
    link(*parent, level, va, table->value);
    return &(nodes_[mmu_table_key(level, va)] = Node{table->value, 0, 0});
}

// Frees the table when nothing in it is valid, and then its ancestors by the same rule.
void PageTables::release(MmuLevel level, u64 va) {
    Node* node = find(level, va);
    if (node == nullptr || node->used != 0 || node->adopted != 0 || level == kPde3) return;
    MmuLevel parent_level = mmu_parent(level);
    Node* parent = find(parent_level, va);
    SIM_CHECK(parent != nullptr, va);
    unlink(*parent, level, va);
    store_->free_table({node->address});
    nodes_.erase(mmu_table_key(level, va));
    release(parent_level, va);
}

bool PageTables::map(gpu::GpuVa va, u64 bytes, u64 page_bytes, gpu::PhysAddr target, const LeafAttributes& attributes) {
    MmuLevel level = leaf_level(page_bytes);
    u64 mask = page_bytes - 1;
    SIM_CHECK((va.value & mask) == 0, va.value);
    SIM_CHECK((target.value & mask) == 0, target.value);
    SIM_CHECK((bytes & mask) == 0, bytes);
    SIM_CHECK(va.value <= kVaLimit && bytes <= kVaLimit - va.value, va.value, bytes);
    for (u64 done = 0; done < bytes; done += page_bytes) {
        u64 address = va.value + done;
        Node* node = open(level, address);
        if (node == nullptr) {
            unmap(va, done, page_bytes);
            return false;
        }
        store_->write_entry({node->address + mmu_entry_offset(level, address)}, pte_to(target + done, attributes));
        ++node->used;
    }
    return true;
}

void PageTables::unmap(gpu::GpuVa va, u64 bytes, u64 page_bytes) {
    MmuLevel level = leaf_level(page_bytes);
    for (u64 done = 0; done < bytes; done += page_bytes) {
        u64 address = va.value + done;
        Node* node = find(level, address);
        SIM_CHECK(node != nullptr && node->used != 0, address);
        store_->write_entry({node->address + mmu_entry_offset(level, address)}, 0);
        --node->used;
        release(level, address);
    }
}

void PageTables::destroy() {
    for (const auto& [name, node] : nodes_)
        if (node.adopted == 0) store_->free_table({node.address});
    nodes_.clear();
    root_ = {};
}

void PageTables::visit(sim::StateVisitor& visitor) {
    visitor.field("root", root_.value);
    visitor.field("nodes", nodes_);
}

}  // namespace rm::client
