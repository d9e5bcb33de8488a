// PageTables: entry formats and the tree.
#include "rm/client/page_tables.h"

#include "sim/check.h"

namespace rm::client {

namespace {

using IS_PTE = Field<0, 0>;
using PDE_APERTURE = Field<2, 1>;
using PDE_ADDRESS = Field<53, 8>;       // table PA >> 12
using PDE0_ADDRESS_BIG = Field<53, 4>;  // 64K table PA >> 8
using PTE_VALID = Field<0, 0>;
using PTE_APERTURE = Field<2, 1>;
using PTE_VOL = Field<3, 3>;
using PTE_PRIVILEGE = Field<5, 5>;
using PTE_READ_ONLY = Field<6, 6>;
using PTE_ATOMIC_DISABLE = Field<7, 7>;
using PTE_ADDRESS = Field<53, 8>;  // page PA >> 12
using PTE_KIND = Field<63, 56>;
constexpr u64 kPdeApertureVideo = 1;

// Which virtual address bits index each level, and how large an entry is. The order is that of PageTables::Level.
struct LevelRow {
    unsigned high;
    unsigned low;
    u64 entry_bytes;
};
constexpr LevelRow kLevels[] = {{48, 47, 8}, {46, 38, 8}, {37, 29, 8}, {28, 21, 16}, {20, 16, 8}, {20, 12, 8}};

u64 entry_offset(u32 level, u64 va) {
    const LevelRow& row = kLevels[level];
    return extract_bits(va, row.high, row.low) * row.entry_bytes;
}

}  // namespace

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

// A table is named by its level and the first address that it covers; table coverage is at least 2 MiB, so the low bits
// are free.
u64 PageTables::key(Level level, u64 va) {
    if (level == kPde3) return level;
    const LevelRow& row = kLevels[level];
    return (va >> (row.high + 1) << (row.high + 1)) | level;
}

PageTables::Level PageTables::leaf_level(u64 page_bytes) {
    SIM_CHECK(page_bytes == kPage4K || page_bytes == kPage64K || page_bytes == kPage2M, page_bytes);
    if (page_bytes == kPage4K) return kPte4K;
    return page_bytes == kPage64K ? kPte64K : kPde0;
}

bool PageTables::create_root() {
    std::optional<gpu::FbPa> table = store_->alloc_table();
    if (!table) return false;
    root_ = *table;
    nodes_[key(kPde3, 0)] = Node{root_.value, 0, 0};
    return true;
}

void PageTables::adopt_root(gpu::FbPa root) {
    root_ = root;
    nodes_[key(kPde3, 0)] = Node{root.value, 0, 1};
}

PageTables::Node* PageTables::find(Level level, u64 va) {
    auto it = nodes_.find(key(level, va));
    return it == nodes_.end() ? nullptr : &it->second;
}

// A directory that somebody else filled may already have the table: take it over rather than cut it off.
std::optional<gpu::FbPa> PageTables::existing_child(const Node& parent, Level parent_level, Level level, u64 va) {
    if (parent.adopted == 0) return std::nullopt;
    u64 slot = parent.address + entry_offset(parent_level, va);
    if (parent_level == kPde0) {
        u64 word = store_->read_entry({slot + (level == kPte4K ? 8 : 0)});
        if (IS_PTE::get(word) != 0 || PDE_APERTURE::get(word) != kPdeApertureVideo) return std::nullopt;
        return gpu::FbPa{level == kPte4K ? PDE_ADDRESS::get(word) << 12 : PDE0_ADDRESS_BIG::get(word) << 8};
    }
    u64 word = store_->read_entry({slot});
    if (IS_PTE::get(word) != 0 || PDE_APERTURE::get(word) != kPdeApertureVideo) return std::nullopt;
    return gpu::FbPa{PDE_ADDRESS::get(word) << 12};
}

void PageTables::link(Node& parent, Level level, u64 va, u64 table) {
    Level parent_level = level == kPte4K || level == kPte64K ? kPde0 : static_cast<Level>(level - 1);
    u64 slot = parent.address + entry_offset(parent_level, va);
    if (level == kPte4K)
        store_->write_entry({slot + 8}, dual_pde_small({table}));
    else if (level == kPte64K)
        store_->write_entry({slot}, dual_pde_big({table}));
    else
        store_->write_entry({slot}, pde_to({table}));
    ++parent.used;
}

void PageTables::unlink(Node& parent, Level level, u64 va) {
    Level parent_level = level == kPte4K || level == kPte64K ? kPde0 : static_cast<Level>(level - 1);
    u64 slot = parent.address + entry_offset(parent_level, va);
    store_->write_entry({level == kPte4K ? slot + 8 : slot}, 0);
    --parent.used;
}

// The table of `level` that covers va, made with its ancestors when it is not there. nullptr: no memory.
PageTables::Node* PageTables::open(Level level, u64 va) {
    if (Node* node = find(level, va)) return node;
    SIM_CHECK(level != kPde3);
    Level parent_level = level == kPte4K || level == kPte64K ? kPde0 : static_cast<Level>(level - 1);
    Node* parent = open(parent_level, va);
    if (parent == nullptr) return nullptr;
    if (std::optional<gpu::FbPa> child = existing_child(*parent, parent_level, level, va)) {
        ++parent->used;
        return &(nodes_[key(level, va)] = Node{child->value, 0, 1});
    }
    std::optional<gpu::FbPa> table = store_->alloc_table();
    if (!table) {
        release(parent_level, va);
        return nullptr;
    }
    link(*parent, level, va, table->value);
    return &(nodes_[key(level, va)] = Node{table->value, 0, 0});
}

// Frees the table when nothing in it is valid, and then its ancestors by the same rule.
void PageTables::release(Level level, u64 va) {
    Node* node = find(level, va);
    if (node == nullptr || node->used != 0 || node->adopted != 0 || level == kPde3) return;
    Level parent_level = level == kPte4K || level == kPte64K ? kPde0 : static_cast<Level>(level - 1);
    Node* parent = find(parent_level, va);
    SIM_CHECK(parent != nullptr, va);
    unlink(*parent, level, va);
    store_->free_table({node->address});
    nodes_.erase(key(level, va));
    release(parent_level, va);
}

bool PageTables::map(gpu::GpuVa va, u64 bytes, u64 page_bytes, gpu::PhysAddr target, const LeafAttributes& attributes) {
    Level level = leaf_level(page_bytes);
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
        store_->write_entry({node->address + entry_offset(level, address)}, pte_to(target + done, attributes));
        ++node->used;
    }
    return true;
}

void PageTables::unmap(gpu::GpuVa va, u64 bytes, u64 page_bytes) {
    Level level = leaf_level(page_bytes);
    for (u64 done = 0; done < bytes; done += page_bytes) {
        u64 address = va.value + done;
        Node* node = find(level, address);
        SIM_CHECK(node != nullptr && node->used != 0, address);
        store_->write_entry({node->address + entry_offset(level, address)}, 0);
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
