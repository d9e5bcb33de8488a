// See reg_block.h.
#include "gpu_model/regs/reg_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "sim/check.h"

namespace gpu {

namespace {

struct DocumentedRow {
    std::string_view name;
    u32 offset;
    u32 stride;
    u32 count;
};

constexpr DocumentedRow kDocumented[] = {
#define REGNAME(name, offset, stride, count) {#name, offset, stride, count},
#include "gpu_model/regs/documented.def"
#undef REGNAME
};

struct BlockRow {
    std::string_view name;
    u32 first;
    u32 last;
};

constexpr BlockRow kBlocks[] = {
#define REGBLOCK(name, first, last) {#name, first, last},
#include "gpu_model/regs/blocks.def"
#undef REGBLOCK
};

// A guest that scans all of BAR0 must not make the list long: past this many entries, undocumented registers are listed
// by page.
constexpr std::size_t kUnknownListed = 4096;
constexpr u32 kListPageBytes = 4096;

std::string unknown_key(sim::Kernel& kernel, u32 offset) {
    std::string name = documented_register_name(offset);
    if (!name.empty()) return fmt::format("register 0x{:08x} {}", offset, name);
    if (kernel.unmodelled().entries().size() < kUnknownListed)
        return fmt::format("register 0x{:08x} {}", offset, register_block_place(offset));
    u32 page = offset / kListPageBytes * kListPageBytes;
    return fmt::format("registers of page 0x{:08x} {}", page, register_block_place(page));
}

// All words in pieces, for an undo, which compares them after each input of a fuzzer.
template <typename Words>
void visit_words_in_place(sim::StateVisitor& visitor, Words& words) {
    std::array<u32, 256> piece{};
    for (std::size_t first = 0; first < words.size(); first += piece.size()) {
        const std::size_t count = std::min(piece.size(), words.size() - first);
        for (std::size_t i = 0; i < count; ++i) piece[i] = words[first + i].value;
        visitor.raw_field(piece.data(), count * sizeof piece[0]);
        if (!visitor.loading()) continue;
        for (std::size_t i = 0; i < count; ++i) words[first + i].value = piece[i];
    }
}

}  // namespace

std::string register_block_place(u32 offset) {
    auto behind = std::upper_bound(std::begin(kBlocks), std::end(kBlocks), offset,
                                   [](u32 key, const BlockRow& row) { return key < row.first; });
    SIM_CHECK(behind != std::begin(kBlocks), offset);  // the first block begins at 0
    const BlockRow& row = *std::prev(behind);
    if (offset <= row.last) return fmt::format("{}+0x{:x}", row.name, offset - row.first);
    return fmt::format("(0x{:x} behind {})", offset - row.last - 1, row.name);
}

std::string documented_register_name(u32 offset) {
    for (const DocumentedRow& row : kDocumented) {
        if (offset < row.offset) continue;
        u32 distance = offset - row.offset;
        if (distance == 0 && row.count == 1) return std::string(row.name);
        if (row.stride == 0 || distance % row.stride != 0 || distance / row.stride >= row.count) continue;
        return fmt::format("{}({})", row.name, distance / row.stride);
    }
    return {};
}

u32 unknown_register_read(sim::Kernel& kernel, u32 offset) {
    kernel.unmodelled().refused(unknown_key(kernel, offset), kernel.now(), "read");
    return kPriNoRegister;
}

void unknown_register_write(sim::Kernel& kernel, u32 offset, u32 value) {
    kernel.unmodelled().refused(unknown_key(kernel, offset), kernel.now(), fmt::format("write of 0x{:08x}", value));
}

RegBlock::RegBlock(sim::Kernel& kernel, std::string_view unit_name, std::initializer_list<Table> tables)
    : kernel_(kernel), unit_name_(unit_name) {
    for (const Table& table : tables) {
        for (const RegRow& row : table.rows) {
            u32 number = static_cast<u32>(rows_.size());
            rows_.push_back({row, {}, {}});
            for (u32 i = 0; i < row.count; ++i) {
                words_.push_back({table.base + row.offset + row.stride * i, number, i, row.reset, row.reset});
            }
        }
    }
    std::sort(words_.begin(), words_.end(), [](const Word& a, const Word& b) { return a.offset < b.offset; });
    for (std::size_t i = 1; i < words_.size(); ++i) {
        SIM_CHECK(words_[i - 1].offset < words_[i].offset, unit_name_, words_[i].offset);
    }
}

const RegBlock::Word* RegBlock::find(u32 offset) const {
    auto it =
        std::lower_bound(words_.begin(), words_.end(), offset, [](const Word& w, u32 key) { return w.offset < key; });
    return it != words_.end() && it->offset == offset ? &*it : nullptr;
}

RegBlock::Word& RegBlock::at(u32 offset) {
    const Word* word = find(offset);
    SIM_CHECK(word != nullptr, unit_name_, offset);
    return words_[static_cast<std::size_t>(word - words_.data())];
}

RegBlock::Row& RegBlock::row_at(u32 offset) {
    Word& word = at(offset);
    SIM_CHECK(word.index == 0, unit_name_, offset);
    return rows_[word.row];
}

void RegBlock::on_read(u32 offset, ReadHook hook) { row_at(offset).read = std::move(hook); }
void RegBlock::on_write(u32 offset, WriteHook hook) { row_at(offset).write = std::move(hook); }
void RegBlock::on_access(u32 offset, ReadHook read, WriteHook write) {
    on_read(offset, std::move(read));
    on_write(offset, std::move(write));
}

u32 RegBlock::get(u32 offset) const {
    const Word* word = find(offset);
    SIM_CHECK(word != nullptr, unit_name_, offset);
    return word->value;
}

void RegBlock::set(u32 offset, u32 value) { at(offset).value = value; }

void RegBlock::set_reset(u32 offset, u32 value) {
    Word& word = at(offset);
    word.reset = value;
    word.value = value;
}

u32 RegBlock::read(u32 offset) {
    const Word* word = find(offset);
    if (word == nullptr) return unknown_register_read(kernel_, offset);
    const Row& row = rows_[word->row];
    if (row.read) return row.read(word->index);
    SIM_CHECK(row.row.access != RegAccess::HW, unit_name_, row.row.name);
    return row.row.access == RegAccess::WO ? 0 : word->value;
}

void RegBlock::write(u32 offset, u32 value) {
    if (!contains(offset)) return unknown_register_write(kernel_, offset, value);
    Word& word = at(offset);
    const Row& row = rows_[word.row];
    switch (row.row.access) {
        case RegAccess::RW: word.value = (word.value & ~row.row.writable) | (value & row.row.writable); break;
        case RegAccess::W1C: word.value &= ~(value & row.row.writable); break;
        case RegAccess::R: return;
        case RegAccess::WO: break;
        case RegAccess::HW: SIM_CHECK(row.write != nullptr, unit_name_, row.row.name); break;
    }
    if (row.write) row.write(word.index, value);
}

void RegBlock::reset() {
    for (Word& word : words_) word.value = word.reset;
}

void RegBlock::visit(sim::StateVisitor& visitor) {
    if (visitor.in_place()) return visit_words_in_place(visitor, words_);
    for (Word& word : words_) {
        const RegRow& row = rows_[word.row].row;
        if (row.access == RegAccess::HW || row.access == RegAccess::WO) continue;
        if (row.count == 1) visitor.field(row.name, word.value);  // names cost time
        else visitor.field(fmt::format("{}({})", row.name, word.index), word.value);
    }
}

}  // namespace gpu
