// AddressSpace: searches, cuts, state.
#include "rm/client/uvm/space.h"

namespace rm::client::uvm {

std::map<u64, Range>::iterator AddressSpace::find_at(u64 address) {
    auto it = ranges.upper_bound(address);
    if (it == ranges.begin()) return ranges.end();
    --it;
    return address <= it->second.last ? it : ranges.end();
}

Range* AddressSpace::find(u64 address) {
    auto it = find_at(address);
    return it == ranges.end() ? nullptr : &it->second;
}

bool AddressSpace::is_free(u64 base, u64 last) const {
    auto it = ranges.upper_bound(last);
    return it == ranges.begin() || std::prev(it)->second.last < base;
}

Status AddressSpace::check_new(u64 base, u64 last) const {
    if (!is_free(base, last)) return NV_ERR_UVM_ADDRESS_IN_USE;
    return ranges.size() < kRangesMax ? NV_OK : NV_ERR_NO_MEMORY;
}

bool AddressSpace::is_managed(u64 base, u64 last) {
    for (u64 at = base;;) {
        Range* range = find(at);
        if (range == nullptr || range->type != RangeType::Managed) return false;
        if (range->last >= last) return true;
        at = range->last + 1;
    }
}

UserChannel* AddressSpace::find_channel(NvHandle client, NvHandle channel) {
    for (UserChannel& entry : channels)
        if (entry.client == client && entry.channel == channel) return &entry;
    return nullptr;
}

bool AddressSpace::any_on_cpu() const {
    for (const auto& [base, range] : ranges)
        if (range.on_cpu) return true;
    return false;
}

void AddressSpace::split(u64 address) {
    auto it = find_at(address);
    if (it == ranges.end() || it->first == address || it->second.type != RangeType::Managed) return;
    Range upper = it->second;
    upper.block_offset += address - it->first;
    it->second.last = address - 1;
    ++blocks[upper.block].users;
    ranges.emplace(address, upper);
}

void AddressSpace::assign_group(u64 base, u64 last, u64 group) {
    // What overlaps keeps its ends.
    auto it = group_ranges.upper_bound(base);
    if (it != group_ranges.begin()) --it;
    while (it != group_ranges.end() && it->first <= last) {
        GroupRange old = it->second;
        u64 old_base = it->first;
        if (old.last < base) {
            ++it;
            continue;
        }
        it = group_ranges.erase(it);
        if (old_base < base) {
            GroupRange lower = old;
            lower.last = base - 1;
            group_ranges.emplace(old_base, lower);
        }
        if (old.last > last) it = group_ranges.emplace(last + 1, old).first;
    }
    if (group == 0) return;
    auto made = group_ranges.emplace(base, GroupRange{last, group, true}).first;
    auto next = std::next(made);
    if (next != group_ranges.end() && next->first == last + 1 && next->second.group == group) {
        made->second.last = next->second.last;
        group_ranges.erase(next);
    }
    if (made == group_ranges.begin()) return;
    auto previous = std::prev(made);
    if (previous->second.last + 1 == base && previous->second.group == group) {
        previous->second.last = made->second.last;
        previous->second.migrated = true;
        group_ranges.erase(made);
    }
}

bool AddressSpace::migratable(u64 base, u64 last) const {
    for (const auto& [first, range] : group_ranges) {
        if (first > last || range.last < base) continue;
        auto group = groups.find(range.group);
        if (group != groups.end() && !group->second) return false;
    }
    return true;
}

std::string_view AddressSpace::wrong() const {
    std::vector<PageTree::Span> spans;
    std::map<u64, u32> users;
    u64 next = 0;
    for (const auto& [base, range] : ranges) {
        if (base < next || range.last < base || (range.last - base + 1) % kPage4K != 0) return "ranges that overlap";
        next = range.last + 1;
        u64 bytes = range.last - base + 1;
        u64 inside = base;
        for (const auto& [first, map] : range.maps) {
            if (range.type != RangeType::External || first < inside || map.last < first || map.last > range.last)
                return "a mapping outside its range";
            inside = map.last + 1;
            spans.push_back({first & (kVaLimit - 1), map.last - first + 1, map.page_bytes});
        }
        if (range.on_gpu) spans.push_back({base & (kVaLimit - 1), bytes, range.page_bytes});
        if (range.block == 0) continue;
        auto block = blocks.find(range.block);
        if (block == blocks.end() || range.block_offset > block->second.bytes ||
            bytes > block->second.bytes - range.block_offset)
            return "a range outside its memory";
        ++users[range.block];
    }
    if (users.size() != blocks.size()) return "memory of no range";
    for (const auto& [address, block] : blocks)
        if (block.users != users[address]) return "a wrong count of a block's ranges";
    if (gpu_space_registered != tree.exists() || (gpu_space_registered && !gpu_registered))
        return "page tables of no address space";
    if (gpu_space_registered && !tree.holds_exactly(spans)) return "page tables that do not fit the ranges";
    return gpu_space_registered || spans.empty() ? "" : "mappings without page tables";
}

void ExternalMap::visit(sim::StateVisitor& visitor) {
    visitor.field("last", last);
    visitor.field("page_bytes", page_bytes);
    visitor.field("sparse", sparse);
    visitor.field("place", place);
    visitor.field("memory", memory);
}

void Policy::visit(sim::StateVisitor& visitor) {
    visitor.field("preferred", preferred);
    visitor.field("accessed_by_cpu", accessed_by_cpu);
    visitor.field("accessed_by_gpu", accessed_by_gpu);
    visitor.field("read_duplication", read_duplication);
}

void Range::visit(sim::StateVisitor& visitor) {
    visitor.field("type", type);
    visitor.field("last", last);
    visitor.field("maps", maps);
    visitor.field("policy", policy);
    visitor.field("block", block);
    visitor.field("block_offset", block_offset);
    visitor.field("on_cpu", on_cpu);
    visitor.field("cpu_pid", cpu_pid);
    visitor.field("on_gpu", on_gpu);
    visitor.field("page_bytes", page_bytes);
    visitor.field("pte_flags", pte_flags);
}

void MemoryBlock::visit(sim::StateVisitor& visitor) {
    visitor.field("bytes", bytes);
    visitor.field("users", users);
}

void UserChannel::visit(sim::StateVisitor& visitor) {
    visitor.field("client", client);
    visitor.field("channel", channel);
    visitor.field("chid", chid);
}

void GroupRange::visit(sim::StateVisitor& visitor) {
    visitor.field("last", last);
    visitor.field("group", group);
    visitor.field("migrated", migrated);
}

void AddressSpace::visit(sim::StateVisitor& visitor) {
    visitor.field("flags", flags);
    visitor.field("pid", pid);
    visitor.field("mm", mm);
    visitor.field("closed", closed);
    visitor.field("disallow_new_registers", disallow_new_registers);
    visitor.field("gpu_registered", gpu_registered);
    visitor.field("gpu_space_registered", gpu_space_registered);
    visitor.field("duped_space", duped_space);
    visitor.field("rm_space", rm_space);
    visitor.field("tree", tree);
    visitor.field("channels", channels);
    visitor.field("ranges", ranges);
    visitor.field("blocks", blocks);
    visitor.field("groups", groups);
    visitor.field("group_ranges", group_ranges);
    visitor.field("last_group", last_group);
}

}  // namespace rm::client::uvm
