// See mmu.h.
#include "gpu_model/mem/mmu.h"

#include <algorithm>
#include <array>

#include "gpu_model/fault_points.h"
#include "gpu_model/mem/mmu_format.h"
#include "sim/rng.h"

namespace gpu {

namespace {

using namespace mmu_format;

// One translation covers at most this much, so that a hostile length over sparse space cannot make a walk long.
constexpr u64 kCoalesceMax = u64{4} << 30;
// Seeds other than 0 lose a cached slot in one fill of this many.
constexpr u64 kEarlyEvictionRatio = 16;

std::optional<FaultType> check_leaf(u64 leaf, AccessType access, const MmuClient& client) {
    if (PTE_PRIVILEGE::get(leaf) != 0 && !client.privileged) return FaultType::PrivViolation;
    auto kind = static_cast<Kind>(PTE_KIND::get(leaf));
    if (kind == Kind::SmskedMessage) return FaultType::WorkCreation;
    if (kind == Kind::Invalid || kind > Kind::LastMemory) return FaultType::UnsupportedKind;
    bool atomic = access == AccessType::Atomic || access == AccessType::AtomicWeak;
    if ((access == AccessType::Write || atomic) && PTE_READ_ONLY::get(leaf) != 0) return FaultType::RoViolation;
    if (atomic && PTE_ATOMIC_DISABLE::get(leaf) != 0) return FaultType::AtomicViolation;
    if (leaf_aperture(leaf) == Aperture::Peer) return FaultType::UnsupportedAperture;  // there is no second board
    return std::nullopt;
}

bool type_is_replayable(FaultType type) {
    switch (type) {
        case FaultType::Pde:
        case FaultType::Pte:
        case FaultType::RoViolation:
        case FaultType::WoViolation:
        case FaultType::AtomicViolation: return true;
        case FaultType::PdeSize:
        case FaultType::VaLimitViolation:
        case FaultType::UnboundInstBlock:
        case FaultType::PrivViolation:
        case FaultType::PitchMaskViolation:
        case FaultType::WorkCreation:
        case FaultType::UnsupportedAperture:
        case FaultType::CompressionFailure:
        case FaultType::UnsupportedKind:
        case FaultType::RegionViolation:
        case FaultType::Poisoned: return false;
    }
    return false;
}

u64 load_le(std::span<const u8> bytes, u64 offset, unsigned count) {
    u64 value = 0;
    for (unsigned i = 0; i < count; ++i) value |= u64{bytes[offset + i]} << (8 * i);
    return value;
}

}  // namespace

Mmu::Mmu(sim::Kernel& kernel, PhysicalMemory& memory) : kernel_(kernel), memory_(memory) {}

AddressSpace Mmu::load_address_space(PhysAddr instance, std::optional<u32> veid) {
    AddressSpace space;
    space.instance = instance;
    std::array<u8, kInstanceBytes> block;
    if (!memory_.read(instance, block)) return space;
    u64 base = load_le(block, kPageDirBaseOffset, 8);
    if (veid && *veid < kSubcontexts) {
        u64 valid = load_le(block, kSubcontextValidOffset, 8);
        if (extract_bits(valid, *veid, *veid) != 0) {
            base = load_le(block, kSubcontextBaseOffset + kSubcontextStride * *veid, 8);
        }
    }
    auto aperture = target_aperture(PAGE_DIR_BASE_TARGET::get(base));
    space.pdb.value = PAGE_DIR_BASE_LO::make<u64>(PAGE_DIR_BASE_LO::get(base)) |
                      PAGE_DIR_BASE_HI::make<u64>(PAGE_DIR_BASE_HI::get(base));
    space.replay_tex = PAGE_DIR_FAULT_REPLAY_TEX::get(base) != 0;
    space.replay_gcc = PAGE_DIR_FAULT_REPLAY_GCC::get(base) != 0;
    // (model): 128 KiB big pages do not exist in the version-2 format here, so such a block names no usable space.
    bool usable = PAGE_DIR_USE_VER2_PT_FORMAT::get(base) != 0 && PAGE_DIR_BIG_PAGE_SIZE::get(base) != 0;
    if (aperture && usable) {
        space.pdb.aperture = *aperture;
        space.bound = true;
    }
    return space;
}

MmuFault Mmu::make_fault(const AddressSpace& space, FaultType type, AccessType access, GpuVa va,
                         const MmuClient& client) const {
    MmuFault fault{.type = type, .access = access, .va = va, .client = client, .instance = space.instance};
    fault.replay_enabled = space.replay_tex || space.replay_gcc;
    bool enabled = client.client_id == kClientGpcGcc ? space.replay_gcc : space.replay_tex;
    fault.replayable =
        client.gpc && enabled && type_is_replayable(type) && sink_ != nullptr && sink_->replayable_buffer_enabled();
    return fault;
}

bool Mmu::translate(const AddressSpace& space, GpuVa va, u64 bytes_wanted, AccessType access, const MmuClient& client,
                    Translation& out, MmuFault& fault) {
    auto fail = [&](FaultType type) {
        fault = make_fault(space, type, access, va, client);
        return false;
    };
    if (!space.bound) return fail(FaultType::UnboundInstBlock);
    if (va.value >= kVaLimit) return fail(FaultType::VaLimitViolation);
    u64 bytes = std::min({std::max<u64>(bytes_wanted, 1), kCoalesceMax, kVaLimit - va.value});
    u64 page = va.value >> kPageShift;
    u64 last_page = (va.value + bytes - 1) >> kPageShift;

    FaultType type = FaultType::Pte;
    const Tlb::Block* block = obtain_leaf(space, client.gpc, page, last_page, type);
    if (block == nullptr) return fail(type);
    u64 leaf = block->leaf(static_cast<u32>(page % kSlotPages));
    if (leaf != kSparseLeaf) {
        if (auto violation = check_leaf(leaf, access, client)) return fail(*violation);
    }
    u64 end_page = coalesced_end(space, client.gpc, page, last_page, leaf);
    bytes = std::min(bytes, (end_page << kPageShift) - va.value);

    out = Translation{};
    if (leaf == kSparseLeaf) {
        out.sparse = true;
        out.bytes = bytes;
        return true;
    }
    out.pa = {leaf_aperture(leaf), leaf_address(leaf) + va.value % kSmallPageBytes};
    if (out.pa.aperture == Aperture::Vid) {
        u64 size = memory_.vram().size();
        // (model): a PTE that names video memory which is not there.
        if (out.pa.value >= size) return fail(FaultType::RegionViolation);
        bytes = std::min(bytes, size - out.pa.value);
    }
    out.bytes = bytes;
    out.is_volatile = PTE_VOL::get(leaf) != 0;
    out.kind = static_cast<u8>(PTE_KIND::get(leaf));
    out.read_only = PTE_READ_ONLY::get(leaf) != 0;
    out.atomic_disable = PTE_ATOMIC_DISABLE::get(leaf) != 0;
    return true;
}

const Tlb::Block* Mmu::obtain_leaf(const AddressSpace& space, bool gpc, u64 page, u64 last_page, FaultType& type) {
    Tlb::Key key{gpc, space.pdb, page / kSlotPages};
    u32 first = static_cast<u32>(page % kSlotPages);
    Tlb::Block* block = tlb_.find(key);
    if (block != nullptr && block->leaf(first) != kNoLeaf) return block;

    SlotWalk slot = walk_to_slot(memory_, space.pdb, GpuVa{page << kPageShift});
    type = FaultType::Pde;
    if (slot.status == WalkStatus::InvalidPde) return nullptr;
    if (slot.status == WalkStatus::Unreachable) {
        type = FaultType::RegionViolation;  // (model): a page table where no memory answers
        return nullptr;
    }
    u32 last = static_cast<u32>(std::min<u64>(last_page - page + first, kSlotPages - 1));
    std::array<u64, kSlotPages> leaves;
    std::span<u64> wanted(leaves.data(), last - first + 1);
    if (slot.status == WalkStatus::Sparse) {
        std::fill(wanted.begin(), wanted.end(), kSparseLeaf);
    } else if (!read_slot_leaves(memory_, slot, first, wanted)) {
        type = FaultType::RegionViolation;
        return nullptr;
    }
    type = FaultType::Pte;
    u64 flipped_bit = 0;
    bool plain = wanted[0] != kNoLeaf && wanted[0] != kSparseLeaf;
    if (plain && kernel_.faults().fires(faults::mmu_pte_flip, &flipped_bit)) {
        u64 bit = u64{1} << flipped_bit % 64;
        wanted[0] = PTE_VALID::get(wanted[0] ^ bit) != 0 ? wanted[0] ^ bit : kNoLeaf;
        slot.huge_pte ^= bit;
    }
    if (wanted[0] == kNoLeaf) return nullptr;
    evict_early();
    Tlb::Block& filled = tlb_.obtain(key);
    if (slot.status != WalkStatus::Tables && filled.pages.empty()) {
        filled.uniform = wanted[0] == kSparseLeaf ? kSparseLeaf : slot.huge_pte;
        return &filled;
    }
    if (filled.pages.empty()) filled.pages.assign(kSlotPages, kNoLeaf);
    for (u32 i = 0; i < wanted.size(); ++i) {
        // What is cached stays, even when memory says otherwise by now.
        if (filled.pages[first + i] == kNoLeaf) filled.pages[first + i] = wanted[i];
    }
    return &filled;
}

u64 Mmu::coalesced_end(const AddressSpace& space, bool gpc, u64 page, u64 last_page, u64 leaf) {
    u64 next = page + 1;
    FaultType ignored = FaultType::Pte;
    while (next <= last_page) {
        const Tlb::Block* block = obtain_leaf(space, gpc, next, last_page, ignored);
        if (block == nullptr) return next;
        u64 slot_end = std::min((next / kSlotPages + 1) * kSlotPages, last_page + 1);
        bool whole = block->uniform != kNoLeaf;
        for (; next < slot_end; ++next) {
            u64 expected = leaf == kSparseLeaf ? kSparseLeaf : leaf_advance(leaf, static_cast<u32>(next - page));
            u64 found = block->leaf(static_cast<u32>(next % kSlotPages));
            if (found == kNoLeaf) break;  // not cached yet: look it up, it may be mapped
            if (found != expected) return next;
            if (whole) {
                next = slot_end;
                break;
            }
        }
    }
    return next;
}

void Mmu::evict_early() {
    ++fills_;
    if (kernel_.seed() == 0 || tlb_.block_count() == 0) return;
    sim::RandomStream stream = kernel_.stream("gpu.mmu", "early eviction " + std::to_string(fills_));
    if (stream.chance(1, kEarlyEvictionRatio)) tlb_.evict(static_cast<u32>(stream.below(tlb_.block_count())));
}

bool Mmu::read(const AddressSpace& space, GpuVa va, std::span<u8> out, const MmuClient& client, MmuFault& fault) {
    while (!out.empty()) {
        Translation part;
        if (!translate(space, va, out.size(), AccessType::Read, client, part, fault)) return false;
        std::span<u8> piece = out.first(part.bytes);
        if (part.sparse) {
            std::fill(piece.begin(), piece.end(), u8{0});
        } else if (!memory_.read(part.pa, piece)) {
            fault = make_fault(space, FaultType::RegionViolation, AccessType::Read, va, client);
            return false;
        }
        out = out.subspan(part.bytes);
        va.value += part.bytes;
    }
    return true;
}

bool Mmu::write(const AddressSpace& space, GpuVa va, std::span<const u8> bytes, const MmuClient& client,
                MmuFault& fault) {
    while (!bytes.empty()) {
        Translation part;
        if (!translate(space, va, bytes.size(), AccessType::Write, client, part, fault)) return false;
        if (!part.sparse && !memory_.write(part.pa, bytes.first(part.bytes))) {
            fault = make_fault(space, FaultType::RegionViolation, AccessType::Write, va, client);
            return false;
        }
        bytes = bytes.subspan(part.bytes);
        va.value += part.bytes;
    }
    return true;
}

bool Mmu::read_atomic(const AddressSpace& space, GpuVa va, std::span<u8> out, const MmuClient& client, MmuFault& fault) {
    Translation ignored;
    if (!translate(space, va, out.size(), AccessType::Atomic, client, ignored, fault)) return false;
    return read(space, va, out, client, fault);
}

void Mmu::invalidate(const TlbInvalidate& request) {
    if (request.all_va) tlb_.drop_space(request.hub_only, request.all_pdb, request.pdb);
    else tlb_.drop_range(request.hub_only, request.all_pdb, request.pdb, request.va, request.bytes);
    ++generation_;
    if (request.replay == FaultReplay::None) return;
    for (ReplayListener* listener : listeners_) listener->on_fault_replay(request);
}

void Mmu::report_fault(const MmuFault& fault) {
    SIM_PROBE(kernel_, "mmu.fault");
    if (sink_ != nullptr) sink_->on_mmu_fault(fault);
}

void Mmu::reset() {
    tlb_.clear();
    ++generation_;
}

void Mmu::visit(sim::StateVisitor& visitor) {
    visitor.field("tlb", tlb_);
    visitor.field("generation", generation_);
    visitor.field("fills", fills_);
}

}  // namespace gpu
