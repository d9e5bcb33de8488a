// See mmu_regs.h.
#include "gpu_model/mem/mmu_regs.h"

#include <algorithm>

#include "gpu_model/intr/intr_vectors.h"
#include "gpu_model/mem/mmu_format.h"
#include "gpu_model/regs/regs.h"
#include "sim/check.h"

namespace gpu {

namespace {

using namespace regs;

using ALL_VA = NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_ALL_VA;
using ALL_PDB = NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_ALL_PDB;
using HUBTLB_ONLY = NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_HUBTLB_ONLY;
using REPLAY = NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_REPLAY;
using CANCEL_CLIENT_ID = NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_CANCEL_CLIENT_ID;
using CANCEL_GPC_ID = NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_CANCEL_GPC_ID;
using USE_SIZE = NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_USE_SIZE;
using CACHE_LEVEL = NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_CACHE_LEVEL;
using TRIGGER = NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_TRIGGER;
using PDB_APERTURE = NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_PDB_APERTURE;
using PDB_ADDR = NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_PDB_ADDR;
using UPPER_PDB_ADDR = NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_UPPER_PDB_ADDR;
constexpr unsigned kPageShift = 12;
constexpr unsigned kUpperShift = 40;  // the UPPER registers hold address bits from here on
constexpr u32 kSizeMax = mmu_format::kVaBits - kPageShift;
constexpr u32 kWprShift = 12;
constexpr u32 kActiveLtcs = 16;  // (model): 4 MiB of L2 in 16 controllers of 2 slices

u64 address_of(u32 low, u32 upper) { return u64{low} << kPageShift | u64{upper} << kUpperShift; }

}  // namespace

u32 local_memory_range(const ChipSpec& spec) {
    constexpr u32 kMagMax = 63;
    u64 mib = (spec.ecc ? spec.vram_bytes / 15 * 16 : spec.vram_bytes) >> 20;
    u32 scale = 0;
    while (mib > kMagMax || (mib % 2 == 0 && mib / 2 > kMagMax / 2)) {
        SIM_CHECK(mib % 2 == 0, spec.vram_bytes);
        mib /= 2;
        ++scale;
    }
    return NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE_LOWER_SCALE::make(scale) |
           NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE_LOWER_MAG::make(mib) |
           NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE_ECC_MODE::make(spec.ecc);
}

MmuRegs::MmuRegs(sim::Kernel& kernel, const ChipSpec& spec, Mmu& mmu, FaultUnit& faults, BarWindow& bar1,
                 BarWindow& bar2)
    : mmu_(mmu), faults_(faults), block_(kernel, "mmu", {{kMmuRows}}) {
    block_.set_reset(NV_PFB_PRI_MMU_LOCAL_MEMORY_RANGE, local_memory_range(spec));
    block_.set_reset(NV_PFB_PRI_MMU_NUM_ACTIVE_LTCS, NV_PFB_PRI_MMU_NUM_ACTIVE_LTCS_COUNT::make(kActiveLtcs));
    using ERROR = NV_PFB_PRI_MMU_INT_VECTOR_FAULT_ERROR;
    using NOTIFY = NV_PFB_PRI_MMU_INT_VECTOR_FAULT_NOTIFY;
    // The manual lists the replayable buffer's vectors first, though that buffer has index 1 elsewhere.
    block_.set_reset(NV_PFB_PRI_MMU_INT_VECTOR_FAULT.at(FaultUnit::kReplayable),
                     ERROR::make(vector::mmu_replayable_fault_error) | NOTIFY::make(vector::mmu_replayable_fault));
    block_.set_reset(
        NV_PFB_PRI_MMU_INT_VECTOR_FAULT.at(FaultUnit::kNonReplayable),
        ERROR::make(vector::mmu_non_replayable_fault_error) | NOTIFY::make(vector::mmu_non_replayable_fault));
    hook_faults();
    hook_invalidate();

    auto zero = [](u32) { return u32{0}; };
    auto nothing = [](u32, u32) {};
    for (u32 flush : {NV_UFLUSH_FB_FLUSH.offset, NV_UFLUSH_L2_SYSMEM_INVALIDATE.offset,
                      NV_UFLUSH_L2_PEERMEM_INVALIDATE.offset, NV_UFLUSH_L2_CLEAN_COMPTAGS.offset,
                      NV_UFLUSH_L2_FLUSH_DIRTY.offset, NV_VIRTUAL_FUNCTION_PRIV_L2_SYSMEM_INVALIDATE.offset,
                      NV_VIRTUAL_FUNCTION_PRIV_L2_PEERMEM_INVALIDATE.offset}) {
        block_.on_access(flush, zero, nothing);
    }
    block_.on_access(NV_VIRTUAL_FUNCTION_PRIV_BIND_STATUS, zero, nothing);
    block_.on_access(NV_VIRTUAL_FUNCTION_PRIV_BAR1_BLOCK, [&bar1](u32) { return bar1.block(); },
                     [&bar1](u32, u32 value) { bar1.bind(value); });
    block_.on_access(NV_VIRTUAL_FUNCTION_PRIV_BAR2_BLOCK, [&bar2](u32) { return bar2.block(); },
                     [&bar2](u32, u32 value) { bar2.bind(value); });
}

void MmuRegs::hook_faults() {
    FaultUnit& f = faults_;
    auto nothing = [](u32, u32) {};
    auto both = [this](Reg physical_function, Reg legacy, RegBlock::ReadHook read, RegBlock::WriteHook write) {
        block_.on_access(physical_function, read, write);
        block_.on_access(legacy, std::move(read), std::move(write));
    };
    both(
        NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_LO, NV_PFB_PRI_MMU_FAULT_BUFFER_LO,
        [&f](u32 i) { return f.read_lo(i); }, [&f](u32 i, u32 value) { f.write_lo(i, value); });
    both(
        NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_HI, NV_PFB_PRI_MMU_FAULT_BUFFER_HI,
        [&f](u32 i) { return f.read_hi(i); }, [&f](u32 i, u32 value) { f.write_hi(i, value); });
    both(
        NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_GET, NV_PFB_PRI_MMU_FAULT_BUFFER_GET,
        [&f](u32 i) { return f.read_get(i); }, [&f](u32 i, u32 value) { f.write_get(i, value); });
    both(
        NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_PUT, NV_PFB_PRI_MMU_FAULT_BUFFER_PUT,
        [&f](u32 i) { return f.read_put(i); }, nothing);
    both(
        NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_BUFFER_SIZE, NV_PFB_PRI_MMU_FAULT_BUFFER_SIZE,
        [&f](u32 i) { return f.read_size(i); }, [&f](u32 i, u32 value) { f.write_size(i, value); });
    both(
        NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_ADDR_LO, NV_PFB_PRI_MMU_FAULT_ADDR_LO,
        [&f](u32) { return f.read_addr_lo(); }, nothing);
    both(
        NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_ADDR_HI, NV_PFB_PRI_MMU_FAULT_ADDR_HI,
        [&f](u32) { return f.read_addr_hi(); }, nothing);
    both(
        NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_INST_LO, NV_PFB_PRI_MMU_FAULT_INST_LO,
        [&f](u32) { return f.read_inst_lo(); }, nothing);
    both(
        NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_INST_HI, NV_PFB_PRI_MMU_FAULT_INST_HI,
        [&f](u32) { return f.read_inst_hi(); }, nothing);
    both(
        NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_INFO, NV_PFB_PRI_MMU_FAULT_INFO, [&f](u32) { return f.read_info(); },
        nothing);
    both(NV_VIRTUAL_FUNCTION_PRIV_MMU_FAULT_STATUS, NV_PFB_PRI_MMU_FAULT_STATUS, [&f](u32) { return f.read_status(); },
         [&f](u32, u32 value) { f.write_status(value); });
    both(
        NV_VIRTUAL_FUNCTION_PRIV_MMU_PAGE_FAULT_CTRL, NV_PFB_PRI_MMU_PAGE_FAULT_CTRL,
        [&f](u32) { return f.read_page_fault_ctrl(); }, [&f](u32, u32 value) { f.write_page_fault_ctrl(value); });
}

void MmuRegs::hook_invalidate() {
    auto both = [this](Reg physical_function, Reg legacy, u32& word) {
        auto read = [&word](u32) { return word; };
        auto write = [&word](u32, u32 value) { word = value; };
        block_.on_access(physical_function, read, write);
        block_.on_access(legacy, read, write);
    };
    both(NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_PDB, NV_PFB_PRI_MMU_INVALIDATE_PDB, invalidate_pdb_);
    both(NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE_UPPER_PDB, NV_PFB_PRI_MMU_INVALIDATE_UPPER_PDB, invalidate_upper_pdb_);
    for (u32 offset : {NV_VIRTUAL_FUNCTION_PRIV_MMU_INVALIDATE.offset, NV_PFB_PRI_MMU_INVALIDATE.offset}) {
        block_.on_access(offset, [this](u32) { return invalidate_; }, [this](u32, u32 value) { trigger(value); });
    }
}

void MmuRegs::trigger(u32 value) {
    invalidate_ = TRIGGER::set(value, 0);
    if (TRIGGER::get(value) == 0) return;
    TlbInvalidate request;
    request.all_va = ALL_VA::get(value) != 0;
    request.all_pdb = ALL_PDB::get(value) != 0;
    request.hub_only = HUBTLB_ONLY::get(value) != 0;
    request.cache_level = static_cast<u8>(CACHE_LEVEL::get(value));
    request.cancel_client_id = static_cast<u8>(CANCEL_CLIENT_ID::get(value));
    request.cancel_gpc_id = static_cast<u8>(CANCEL_GPC_ID::get(value));
    u32 replay = REPLAY::get(value);
    if (replay <= static_cast<u32>(FaultReplay::CancelVaGlobal)) request.replay = static_cast<FaultReplay>(replay);
    request.pdb.value = address_of(PDB_ADDR::get(invalidate_pdb_), UPPER_PDB_ADDR::get(invalidate_upper_pdb_));
    u32 va_low = NV_PFB_PRI_MMU_INVALIDATE_VADDR_BITS::get(block_.get(NV_PFB_PRI_MMU_INVALIDATE_VADDR));
    u32 va_high = NV_PFB_PRI_MMU_INVALIDATE_UPPER_VADDR_BITS::get(block_.get(NV_PFB_PRI_MMU_INVALIDATE_UPPER_VADDR));
    request.va.value = address_of(va_low, va_high);
    u32 log2_pages = NV_PFB_PRI_MMU_INVALIDATE_SIZE_VAL::get(block_.get(NV_PFB_PRI_MMU_INVALIDATE_SIZE));
    if (USE_SIZE::get(value) == 0) log2_pages = 0;
    request.bytes = u64{1} << (kPageShift + std::min(log2_pages, kSizeMax));
    if (PDB_APERTURE::get(invalidate_pdb_) == 0) {
        request.pdb.aperture = Aperture::Vid;
        mmu_.invalidate(request);
        return;
    }
    // The register does not tell coherent from non-coherent system memory: both go, and a replay is started once.
    request.pdb.aperture = Aperture::SysCoh;
    mmu_.invalidate(request);
    request.pdb.aperture = Aperture::SysNonCoh;
    request.replay = FaultReplay::None;
    mmu_.invalidate(request);
}

void MmuRegs::set_wpr2(FbPa start, FbPa end) {
    block_.set(NV_PFB_PRI_MMU_WPR2_ADDR_LO, NV_PFB_PRI_MMU_WPR2_ADDR_LO_VAL::make(start.value >> kWprShift));
    block_.set(NV_PFB_PRI_MMU_WPR2_ADDR_HI, NV_PFB_PRI_MMU_WPR2_ADDR_HI_VAL::make(end.value >> kWprShift));
}

void MmuRegs::reset() {
    block_.reset();
    invalidate_ = invalidate_pdb_ = invalidate_upper_pdb_ = 0;
}

void MmuRegs::visit(sim::StateVisitor& visitor) {
    visitor.field("registers", block_);
    visitor.field("invalidate", invalidate_);
    visitor.field("invalidate_pdb", invalidate_pdb_);
    visitor.field("invalidate_upper_pdb", invalidate_upper_pdb_);
}

}  // namespace gpu
