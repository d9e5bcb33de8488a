// Checks happen before an instruction, so that it can still be told from what it overwrites; writes count when it is
// done.
#include "gpu_model/sm/tools/memory_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/isa/disasm.h"

namespace gpu::sm {
namespace {

enum FindingKind : u32 { kOutside = 1, kUnwrittenShared, kUnwrittenLocal, kUnwrittenGlobal };

std::string_view space_name(Space space) {
    switch (space) {
        case Space::Shared:
            return "shared";
        case Space::Local:
            return "local";
        case Space::Global:
        case Space::Generic:
            return "global";
    }
    return "?";
}

bool any_unwritten(const std::vector<u8>& written, u64 at, u32 bytes) {
    for (u32 i = 0; i < bytes; ++i) {
        if (at + i < written.size() && written[at + i] == 0) return true;
    }
    return false;
}

void mark_written(std::vector<u8>& written, u64 at, u32 bytes) {
    for (u32 i = 0; i < bytes; ++i) {
        if (at + i < written.size()) written[at + i] = 1;
    }
}

// To the pages that memory objects are made of.
u64 round_up(u64 bytes) {
    constexpr u64 page = u64{64} << 10;
    return (bytes + page - 1) / page * page;
}

// Where a local address lies in the lane's memory: low part first (launch.h).
u64 local_offset(const KernelLaunch& launch, u64 address) {
    const u64 high_begin = kWindowBytes - launch.local_high_bytes;
    return address >= high_begin ? launch.local_low_bytes + (address - high_begin) : address;
}

}  // namespace

void MemoryCheck::allocate(Allocation allocation) {
    const u64 last = allocation.va + std::max<u64>(allocation.bytes, 1) - 1;
    std::erase_if(allocations_, [&](const auto& entry) {
        const Allocation& old = entry.second.allocation;
        return old.va <= last && allocation.va - old.va < std::max<u64>(old.bytes, 1);
    });
    allocations_.erase(allocations_.lower_bound(allocation.va), allocations_.upper_bound(last));
    Known& known = allocations_[allocation.va];
    known = {};
    if (!allocation.initialised) known.written.assign(allocation.bytes, 0);
    known.allocation = std::move(allocation);
}

void MemoryCheck::forget_range(u64 va, u64 bytes) {
    if (bytes == 0) return;
    const u64 last = va + std::min(bytes - 1, ~va);
    auto at = allocations_.upper_bound(va);
    if (at != allocations_.begin()) --at;
    while (at != allocations_.end() && at->first <= last) {
        const u64 first = at->first, count = at->second.allocation.bytes;
        if (count == 0 || first + (count - 1) < va) {
            ++at;
            continue;
        }
        const Known whole = std::move(at->second);
        at = allocations_.erase(at);
        const auto keep = [&](u64 from, u64 to) {
            Known part{whole.allocation, {}};
            part.allocation.va = from;
            part.allocation.bytes = to - from;
            if (!whole.written.empty())
                part.written.assign(whole.written.begin() + static_cast<i64>(from - first),
                                    whole.written.begin() + static_cast<i64>(to - first));
            at = std::next(allocations_.insert_or_assign(from, std::move(part)).first);
        };
        if (first < va) keep(first, va);
        if (first + (count - 1) > last) keep(last + 1, first + count);
    }
}

MemoryCheck::Block* MemoryCheck::find_block(const Cta& cta) {
    const auto found = blocks_.find({cta.grid, cta.linear});
    return found == blocks_.end() ? nullptr : &found->second;
}

void MemoryCheck::on_block(const Cta& cta) {
    Block& block = blocks_[{cta.grid, cta.linear}];
    block = {};
    block.shared.assign(cta.shared.size(), 0);
    block.local.resize(cta.warps.size());
}

void MemoryCheck::on_block_end(const Cta& cta) {
    blocks_.erase({cta.grid, cta.linear});
}

void MemoryCheck::on_grid_end(const GridRun& grid) {
    std::erase_if(blocks_, [&](const auto& entry) { return entry.first.first == grid.id(); });
}

MemoryCheck::Known* MemoryCheck::find_allocation(u64 va) {
    auto found = allocations_.upper_bound(va);
    if (found == allocations_.begin()) return nullptr;
    --found;
    return &found->second;
}

MemoryCheck::Written* MemoryCheck::local_of(const Step& step, u32 lane) {
    Block* block = find_block(step.cta);
    if (block == nullptr) return nullptr;
    Written& written = block->local[step.warp.index][lane];
    const KernelLaunch& launch = step.grid.launch();
    if (written.empty()) written.assign(std::size_t{launch.local_low_bytes} + launch.local_high_bytes, 0);
    return &written;
}

void MemoryCheck::report(const Step& step, u32 kind, u32 lane, const Place& place, const std::string& what) {
    const u64 pc = step.pc - step.grid.launch().entry;
    findings_.add({kind, pc, 0}, [&] {
        return fmt::format("{} of {} bytes of {} memory at 0x{:x}, pc 0x{:04x} ({}), block ({},{},{}) warp {} lane {}: {}",
                           access_->kind == MemoryAccess::Kind::Load    ? "load"
                           : access_->kind == MemoryAccess::Kind::Store ? "store"
                                                                        : "atomic",
                           access_->bytes, space_name(place.space), place.address, pc,
                           sass::disassemble(step.slot.in), step.cta.id[0], step.cta.id[1], step.cta.id[2],
                           step.warp.index, lane, what);
    });
}

void MemoryCheck::check_global(const Step& step, u32 lane, const Place& place) {
    if (allocations_.empty()) return;
    Known* known = find_allocation(place.address);
    const u64 offset = known == nullptr ? 0 : place.address - known->allocation.va;
    if (known == nullptr || offset + access_->bytes > known->allocation.bytes) {
        if (in_part_ && (known == nullptr || offset >= round_up(known->allocation.bytes))) return;
        std::string what = "outside every allocation";
        if (known != nullptr) {
            const u64 beyond = offset + access_->bytes - known->allocation.bytes;
            what += fmt::format(": {} bytes beyond the end of {} (0x{:x}, {} bytes)", beyond, known->allocation.name,
                                known->allocation.va, known->allocation.bytes);
        }
        report(step, kOutside, lane, place, what);
        return;
    }
    if (access_->kind != MemoryAccess::Kind::Store && !known->written.empty() &&
        any_unwritten(known->written, offset, access_->bytes))
        report(step, kUnwrittenGlobal, lane, place, "nobody has written it");
}

void MemoryCheck::check_lane(const Step& step, u32 lane) {
    const Place& place = access_->place[lane];
    if (place.space == Space::Global) {
        check_global(step, lane, place);
        return;
    }
    if (access_->kind == MemoryAccess::Kind::Store) return;
    if (place.space == Space::Shared) {
        const Block* block = find_block(step.cta);
        if (block != nullptr && any_unwritten(block->shared, place.address, access_->bytes))
            report(step, kUnwrittenShared, lane, place, "this block has not written it");
        return;
    }
    const Written* written = local_of(step, lane);
    if (written != nullptr && any_unwritten(*written, local_offset(step.grid.launch(), place.address), access_->bytes))
        report(step, kUnwrittenLocal, lane, place, "this thread has not written it");
}

void MemoryCheck::note_written(const Step& step, u32 lane) {
    const Place& place = access_->place[lane];
    if (place.space == Space::Shared) {
        if (Block* block = find_block(step.cta)) mark_written(block->shared, place.address, access_->bytes);
    } else if (place.space == Space::Local) {
        if (Written* written = local_of(step, lane))
            mark_written(*written, local_offset(step.grid.launch(), place.address), access_->bytes);
    } else if (Known* known = find_allocation(place.address)) {
        mark_written(known->written, place.address - known->allocation.va, access_->bytes);
    }
}

GridObserver::Verdict MemoryCheck::before(const Step& step) {
    access_ = access_of(step);
    if (access_) for_lanes(access_->lanes, [&](u32 lane) { check_lane(step, lane); });
    return Verdict::Go;
}

void MemoryCheck::after(const Step& step) {
    if (access_ && access_->writes()) for_lanes(access_->lanes & step.done, [&](u32 lane) { note_written(step, lane); });
    access_.reset();
}

}  // namespace gpu::sm
