// See identity_regs.h.
#include "gpu_model/bus/identity_regs.h"

#include "gpu_model/regs/regs.h"
#include "sim/check.h"

namespace gpu {

namespace {

using namespace regs;

// NV_PTOP_DEVICE_INFO_ENTRY and _TYPE_ENUM.
constexpr u32 kEntryData = 1;
constexpr u32 kEntryEnum = 2;
constexpr u32 kEntryType = 3;
constexpr u32 kTypeGraphics = 0;
constexpr u32 kTypeSec = 13;
constexpr u32 kTypeNvenc = 14;
constexpr u32 kTypeNvdec = 16;
constexpr u32 kTypeLce = 19;
constexpr u32 kTypeGsp = 20;
constexpr u32 kTypeNvjpg = 21;

constexpr u32 kStallVectorBase = 192;  // NV_CTRL_LEGACY_ENGINE_STALL_INTR_BASE_VECTORID
constexpr u32 kGspFaultId = 0x02;
constexpr u32 kGspPriBase = 0x110000;

// The chip's maximum, not the board's. (model): the arrangement of memory partitions; see hw reference of the L2.
constexpr u32 kGpcsMax = 6;
constexpr u32 kTpcsPerGpc = 4;
constexpr u32 kFbps = 4;
constexpr u32 kFbpaPerFbp = 2;
constexpr u32 kLtcs = 16;
constexpr u32 kSlicesPerLtc = 2;

constexpr u32 kTemperature = 45;          // degrees Celsius
constexpr u32 kNvdecDisabled = 0x4;       // TU104 has two of the three NVDECs that the fuse covers
constexpr u64 kVgaWorkspaceBytes = u64{1} << 20;
constexpr u32 kGfwBootCompleted = 0xFF;
constexpr u32 kReadableByAll = 0xFF;

u32 ptop_type(EngineKind kind) {
    switch (kind) {
        case EngineKind::Graphics: return kTypeGraphics;
        case EngineKind::Ce: return kTypeLce;
        case EngineKind::Nvdec: return kTypeNvdec;
        case EngineKind::Nvenc: return kTypeNvenc;
        case EngineKind::Sec2: return kTypeSec;
        case EngineKind::Nvjpg: return kTypeNvjpg;
    }
    return kTypeGraphics;
}

u32 type_word(u32 type, u32 chain) {
    return NV_PTOP_DEVICE_INFO_ENTRY::make(kEntryType) | NV_PTOP_DEVICE_INFO_TYPE_ENUM::make(type) |
           NV_PTOP_DEVICE_INFO_CHAIN::make(chain);
}

u32 data_word(u32 instance, u32 pri_base, u32 fault_id, u32 chain) {
    return NV_PTOP_DEVICE_INFO_ENTRY::make(kEntryData) | NV_PTOP_DEVICE_INFO_DATA_INST_ID::make(instance) |
           NV_PTOP_DEVICE_INFO_DATA_PRI_BASE::make(NV_PTOP_DEVICE_INFO_DATA_PRI_BASE::get(pri_base)) |
           NV_PTOP_DEVICE_INFO_DATA_FAULT_ID_ENUM::make(fault_id) | NV_PTOP_DEVICE_INFO_DATA_FAULT_ID::make(1) |
           NV_PTOP_DEVICE_INFO_CHAIN::make(chain);
}

u32 enum_word(const EngineRow& row) {
    u32 word = NV_PTOP_DEVICE_INFO_ENTRY::make(kEntryEnum) | NV_PTOP_DEVICE_INFO_ENGINE_ENUM::make(row.engine_id) |
               NV_PTOP_DEVICE_INFO_ENGINE::make(1) | NV_PTOP_DEVICE_INFO_RUNLIST_ENUM::make(row.runlist_id) |
               NV_PTOP_DEVICE_INFO_RUNLIST::make(1) | NV_PTOP_DEVICE_INFO_RESET_ENUM::make(row.reset_id) |
               NV_PTOP_DEVICE_INFO_RESET::make(1);
    if (row.intr_stall_vector == kNoVector) return word;
    return word | NV_PTOP_DEVICE_INFO_INTR_ENUM::make(row.intr_stall_vector - kStallVectorBase) |
           NV_PTOP_DEVICE_INFO_INTR::make(1);
}

}  // namespace

std::vector<u32> ptop_device_info(const ChipSpec& spec) {
    std::vector<u32> words;
    for (const EngineRow& row : spec.engines) {
        words.push_back(type_word(ptop_type(row.kind), 1));
        words.push_back(data_word(row.instance, row.pri_base, row.fault_id, 1));
        words.push_back(enum_word(row));
    }
    words.push_back(type_word(kTypeGsp, 1));
    words.push_back(data_word(0, kGspPriBase, kGspFaultId, 0));
    return words;
}

IdentityRegs::IdentityRegs(sim::Kernel& kernel, const ChipSpec& spec) : block_(kernel, "identity", {{kIdentityRows}}) {
    block_.set_reset(NV_THERM_TSENSOR,
                     NV_THERM_TSENSOR_VALID::make(1) | NV_THERM_TSENSOR_TEMPERATURE::make(kTemperature));
    block_.set_reset(NV_FUSE_OPT_NVDEC_DISABLE, kNvdecDisabled);
    block_.set_reset(NV_FUSE_OPT_SECURE_GSP_DEBUG_DIS, NV_FUSE_OPT_SECURE_GSP_DEBUG_DIS_DATA::make(1));
    block_.set_reset(NV_FUSE_STATUS_OPT_DISPLAY, NV_FUSE_STATUS_OPT_DISPLAY_DATA::make(spec.display ? 0 : 1));
    block_.set_reset(NV_PTOP_SCAL_NUM_GPCS, kGpcsMax);
    block_.set_reset(NV_PTOP_SCAL_NUM_TPC_PER_GPC, kTpcsPerGpc);
    block_.set_reset(NV_PTOP_SCAL_NUM_FBPS, kFbps);
    block_.set_reset(NV_PTOP_SCAL_NUM_FBPAS, spec.fbpa_count);
    block_.set_reset(NV_PTOP_SCAL_NUM_LTC_PER_FBP, kLtcs / kFbps);
    block_.set_reset(NV_PTOP_SCAL_NUM_LTCS, kLtcs);
    block_.set_reset(NV_PTOP_SCAL_NUM_FBPA_PER_FBP, kFbpaPerFbp);
    block_.set_reset(NV_PTOP_SCAL_NUM_SLICES_PER_LTC, kSlicesPerLtc);
    std::vector<u32> info = ptop_device_info(spec);
    SIM_CHECK(info.size() <= NV_PTOP_DEVICE_INFO.count, info.size());
    for (u32 i = 0; i < info.size(); ++i) block_.set_reset(NV_PTOP_DEVICE_INFO.at(i), info[i]);
    // The boot firmware has run by the time a bus can reach the chip.
    block_.set_reset(NV_PGC6_AON_SECURE_SCRATCH_GROUP_05_PRIV_LEVEL_MASK, kReadableByAll);
    block_.set_reset(NV_PGC6_AON_SECURE_SCRATCH_GROUP_05,
                     NV_PGC6_AON_SECURE_SCRATCH_GROUP_05_PROGRESS::make(kGfwBootCompleted));
    if (!spec.display) return;
    u64 workspace_64k = (spec.vram_bytes - kVgaWorkspaceBytes) >> 16;
    block_.set_reset(NV_PDISP_VGA_WORKSPACE_BASE, NV_PDISP_VGA_WORKSPACE_BASE_ADDR::make(workspace_64k) |
                                                      NV_PDISP_VGA_WORKSPACE_BASE_STATUS_VALID::make(1));
}

}  // namespace gpu
