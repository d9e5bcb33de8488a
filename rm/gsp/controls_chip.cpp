// Controls about the chip, its memory, its buses and its copy engines.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, ctrl2080 headers; values from the chip's profile.
#include <algorithm>
#include <iterator>

#include "gpu_model/regs/regs.h"
#include "rm/abi/ctrl2080bus.h"
#include "rm/abi/ctrl2080ce.h"
#include "rm/abi/ctrl2080gpu.h"
#include "rm/abi/ctrl2080gsp.h"
#include "rm/abi/ctrl2080internal.h"
#include "rm/abi/engine_types.h"
#include "rm/abi/info_gr_fb.h"
#include "rm/gsp/gsp_impl.h"

namespace rm {

using abi::NV_STATUS;

namespace {

constexpr u32 kMiB = 1u << 20;
constexpr u32 kLtsPerLtc = 4;              // (model) slices of an L2 unit
constexpr u64 kL2Bytes = 4 * u64{kMiB};    // TU104
constexpr u32 kMethodBufferBytes = 5 * 4096;  // (model)
constexpr u32 kRegisterMapBytes = 0x20000;    // (model) one bit per register word of the first 4 MiB: none is set

// Capability bits of a copy engine: NV2080_CTRL_CE_CAPS_*, byte and mask.
constexpr u8 CE_GRCE = 0x01, CE_SHARED = 0x02, CE_SYSMEM_READ = 0x04, CE_SYSMEM_WRITE = 0x08, CE_SYSMEM = 0x20;
constexpr u8 CE_BL_SIZE_GT_64K_SUPPORTED = 0x80;        // byte 0
constexpr u8 CE_SUPPORTS_NONPIPELINED_BL = 0x01, CE_SUPPORTS_PIPELINED_BL = 0x02;  // byte 1

void fill_ce_caps(const gpu::EngineRow& row, u8 (&caps)[2]) {
    u8 low = CE_SYSMEM_READ | CE_SYSMEM_WRITE | CE_SYSMEM | CE_BL_SIZE_GT_64K_SUPPORTED;
    if (row.on_gr_runlist) low = static_cast<u8>(low | CE_GRCE | CE_SHARED);
    caps[0] = low;
    caps[1] = CE_SUPPORTS_NONPIPELINED_BL | CE_SUPPORTS_PIPELINED_BL;
}

template <std::size_t N>
void put_text(u8 (&field)[N], std::string_view text) {
    std::copy_n(text.begin(), std::min(text.size(), N - 1), field);
}

}  // namespace

NV_STATUS Gsp::Impl::ctrl_chip_info(gsp::ControlCall& call) {
    abi::NV2080_CTRL_INTERNAL_GPU_GET_CHIP_INFO_PARAMS params{};
    params.pciDeviceId = u32{spec_.pci_device_id} << 16 | 0x10DE;
    params.pciSubDeviceId = u32{spec_.subsystem_id} << 16 | spec_.subsystem_vendor;
    params.pciRevisionId = spec_.boot0 & 0xFF;
    // Register bases that this chip has at a place of its own; all ones for the rest.
    std::fill(std::begin(params.regBases), std::end(params.regBases), ~u32{0});
    abi::store(call.params, params);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_register_map(gsp::ControlCall& call) {
    abi::NV2080_CTRL_INTERNAL_GPU_GET_USER_REGISTER_ACCESS_MAP_PARAMS params{};
    params.userRegisterAccessMapSize = kRegisterMapBytes;
    abi::store(call.params, params);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_pci_bars(gsp::ControlCall& call) {
    constexpr u64 kBar0Bytes = 16 * u64{kMiB};
    constexpr u64 kBar3Bytes = 32 * u64{kMiB};
    abi::NV2080_CTRL_BUS_GET_PCI_BAR_INFO_PARAMS params{};
    auto add = [&](u64 bytes) {
        abi::NV2080_CTRL_BUS_PCI_BAR_INFO& bar = params.pciBarInfo[params.pciBarCount++];
        bar.barSizeBytes = bytes;
        bar.barSize = static_cast<u32>(bytes / kMiB);
    };
    for (u64 bytes : {kBar0Bytes, spec_.bar1_bytes, kBar3Bytes}) add(bytes);
    abi::store(call.params, params);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_memsys(gsp::ControlCall& call) {
    abi::NV2080_CTRL_INTERNAL_MEMSYS_GET_STATIC_CONFIG_PARAMS params{};
    params.bDisableCompbitBacking = 1;
    params.bDisablePostL2Compression = 1;
    params.bEnabledEccFBPA = spec_.ecc;
    params.bFbpaPresent = 1;
    params.l2CacheSize = kL2Bytes;
    params.comprPageShift = 16;
    params.comprPageSize = 1u << params.comprPageShift;
    params.ramType = abi::NV2080_CTRL_FB_INFO_RAM_TYPE_GDDR6;
    params.ltcCount = spec_.fbpa_count;
    params.ltsPerLtcCount = kLtsPerLtc;
    abi::store(call.params, params);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_gmmu(gsp::ControlCall& call) {
    abi::NV2080_CTRL_INTERNAL_GMMU_GET_STATIC_INFO_PARAMS params{};
    // As many packets as the hardware asks for (SIZE.SET_DEFAULT), at least one page.
    params.nonReplayableFaultBufferSize = gsp::kNonReplayableFaults * gpu::FaultPacket::kBytes;
    params.replayableFaultBufferSize = gsp::kReplayableFaults * gpu::FaultPacket::kBytes;
    abi::store(call.params, params);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_board(gsp::ControlCall& call) {
    abi::NV2080_CTRL_GPU_GET_OEM_BOARD_INFO_PARAMS params{};
    put_text(params.marketingName, spec_.marketing);
    put_text(params.serialNumber, "0000000000000");  // (model) no board was made
    abi::store(call.params, params);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_gsp_features(gsp::ControlCall& call) {
    using NV2080_CTRL_GSP_GET_FEATURES_UVM_ENABLED = Field<0, 0>;
    abi::NV2080_CTRL_GSP_GET_FEATURES_PARAMS params{};
    params.gspFeatures = NV2080_CTRL_GSP_GET_FEATURES_UVM_ENABLED::make(1);
    params.bValid = 1;
    params.bDefaultGspRmGpu = 0;  // Turing boards run without GSP firmware unless the driver is told otherwise
    put_text(params.firmwareVersion, version_name(version_));
    abi::store(call.params, params);
    return abi::NV_OK;
}

// --- copy engines --------------------------------------------------------------------------------------------------------------

NV_STATUS Gsp::Impl::ctrl_ce_caps(gsp::ControlCall& call) {
    auto params = abi::load_prefix<abi::NV2080_CTRL_CE_GET_CAPS_V2_PARAMS>(call.params);
    const gpu::EngineRow* row = fifo_.engine(params.ceEngineType);
    if (row == nullptr || row->kind != gpu::EngineKind::Ce) return abi::NV_ERR_NOT_SUPPORTED;
    fill_ce_caps(*row, params.capsTbl);
    abi::store(call.params, params);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_ce_all_caps(gsp::ControlCall& call) {
    abi::NV2080_CTRL_CE_GET_ALL_CAPS_PARAMS params{};
    for (const gpu::EngineRow& row : spec_.engines) {
        if (row.kind != gpu::EngineKind::Ce || row.instance >= std::size(params.capsTbl)) continue;
        fill_ce_caps(row, params.capsTbl[row.instance]);
        params.present |= u64{1} << row.instance;
    }
    abi::store(call.params, params);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_ce_method_buffer(gsp::ControlCall& call) {
    abi::store(call.params, abi::NV2080_CTRL_CE_GET_FAULT_METHOD_BUFFER_SIZE_PARAMS{kMethodBufferBytes});
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_ce_hub_mask(gsp::ControlCall& call) {
    auto params = abi::load_prefix<abi::NV2080_CTRL_CE_GET_HUB_PCE_MASK_V2_PARAMS>(call.params);
    u32 mask = 0;
    for (const gpu::EngineRow& row : spec_.engines) {
        if (row.kind == gpu::EngineKind::Ce) mask |= 1u << row.instance;
    }
    std::fill(std::begin(params.connectingHubPceMasks), std::end(params.connectingHubPceMasks), 0u);
    params.connectingHubPceMasks[0] = mask;
    params.fbhubPceMask = mask;
    abi::store(call.params, params);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_ce_pce_mask(gsp::ControlCall& call) {
    auto params = abi::load_prefix<abi::NV2080_CTRL_CE_GET_CE_PCE_MASK_PARAMS>(call.params);
    const gpu::EngineRow* row = fifo_.engine(params.ceEngineType);
    if (row == nullptr || row->kind != gpu::EngineKind::Ce) return abi::NV_ERR_NOT_SUPPORTED;
    params.pceMask = 1u << row->instance;
    abi::store(call.params, params);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_ce_class_db(gsp::ControlCall& call) {
    abi::store(call.params, abi::NV2080_CTRL_CE_UPDATE_CLASS_DB_PARAMS{0});
    return abi::NV_OK;
}

}  // namespace rm
