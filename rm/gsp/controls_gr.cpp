// Static facts of the graphics engine: counts, masks, the order of SMs, buffer sizes.
// Source: NVIDIA/open-gpu-kernel-modules tag 570.144, ctrl2080internal.h, ctrl0080gr.h, ctrl2080grmgr.h; values from the chip's profile.
#include <algorithm>
#include <iterator>

#include "rm/abi/ctrl2080grmgr.h"
#include "rm/abi/ctrl2080internal.h"
#include "rm/abi/info_gr_fb.h"
#include "rm/gsp/gsp_impl.h"
#include "rm/gsp/registers.h"

namespace rm {

using abi::NV_STATUS;

namespace {

constexpr u32 kWarpsPerSm = 32;
constexpr u32 kThreadsPerWarp = 32;
constexpr u32 kCoresPerSm = 64;
constexpr u32 kTensorPerSm = 8;
constexpr u32 kTpcsPerPes = 2;    // (model)
constexpr u32 kTpcPerGpcMax = 4;  // TU104: 6 GPCs of 4 TPCs
constexpr u32 kSmVersion = abi::NV2080_CTRL_GR_INFO_SM_VERSION_7_05;

// How the TPCs spread over the GPCs: as evenly as they go, the first GPCs taking the rest. Guess: units differ.
u32 tpcs_of(const gpu::ChipSpec& spec, u32 gpc) {
    if (gpc >= spec.gpc_count) return 0;
    return spec.tpc_count / spec.gpc_count + (gpc < spec.tpc_count % spec.gpc_count ? 1 : 0);
}
u32 low_mask(u32 bits) { return bits >= 32 ? ~0u : (1u << bits) - 1; }

}  // namespace

NV_STATUS Gsp::Impl::ctrl_gr_info(gsp::ControlCall& call) {
    abi::NV2080_CTRL_INTERNAL_STATIC_GR_GET_INFO_PARAMS params{};
    abi::NV2080_CTRL_INTERNAL_STATIC_GR_INFO& info = params.engineInfo[0];
    for (u32 i = 0; i < std::size(info.infoList); ++i) info.infoList[i].index = i;
    auto set = [&](u32 index, u32 value) {
        if (index < std::size(info.infoList)) info.infoList[index].data = value;
    };
    u32 sm_per_tpc = spec_.sm_count / spec_.tpc_count;
    set(abi::NV0080_CTRL_GR_INFO_INDEX_SHADER_PIPE_COUNT, spec_.gpc_count);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_SHADER_PIPE_SUB_COUNT, spec_.tpc_count);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_THREAD_STACK_SCALING_FACTOR, 1);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_SM_VERSION, kSmVersion);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_MAX_WARPS_PER_SM, kWarpsPerSm);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_MAX_THREADS_PER_WARP, kThreadsPerWarp);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_MAX_SP_PER_SM, kCoresPerSm);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_GPU_CORE_COUNT, spec_.sm_count * kCoresPerSm);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_TENSOR_CORE_COUNT, spec_.sm_count * kTensorPerSm);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_RT_CORE_COUNT, spec_.sm_count);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_LITTER_NUM_GPCS, spec_.gpc_count);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_LITTER_NUM_FBPS, spec_.fbpa_count / 2);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_LITTER_NUM_FBPAS, spec_.fbpa_count);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_LITTER_NUM_FBPA_PER_FBP, 2);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_LITTER_NUM_LTCS, spec_.fbpa_count);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_LITTER_NUM_LTC_PER_FBP, 2);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_LITTER_NUM_TPC_PER_GPC, kTpcPerGpcMax);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_FAMILY_MAX_TPC_PER_GPC, kTpcPerGpcMax);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_LITTER_NUM_PES_PER_GPC, kTpcPerGpcMax / kTpcsPerPes);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_LITTER_NUM_TPCS_PER_PES, kTpcsPerPes);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_LITTER_NUM_SM_PER_TPC, sm_per_tpc);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_LITTER_NUM_GRS, 1);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_LITTER_NUM_GPCMMU_PER_GPC, 1);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_TIMESLICE_ENABLED, 1);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_MAX_SUBCONTEXT_COUNT, gsp::reg::kVeidCount);
    set(abi::NV0080_CTRL_GR_INFO_INDEX_MAX_PER_ENGINE_SUBCONTEXT_COUNT, gsp::reg::kVeidCount);
    abi::store(call.params, params);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_gr_masks(gsp::ControlCall& call) {
    abi::NV2080_CTRL_INTERNAL_STATIC_GR_GET_FLOORSWEEPING_MASKS_PARAMS params{};
    abi::NV2080_CTRL_INTERNAL_STATIC_GR_FLOORSWEEPING_MASKS& masks = params.floorsweepingMasks[0];
    masks.gpcMask = masks.physGpcMask = masks.physGfxGpcMask = low_mask(spec_.gpc_count);
    masks.numGfxTpc = spec_.tpc_count;
    for (u32 gpc = 0; gpc < std::min<u64>(spec_.gpc_count, std::size(masks.tpcMask)); ++gpc) {
        u32 tpcs = tpcs_of(spec_, gpc);
        masks.tpcMask[gpc] = low_mask(tpcs);
        masks.tpcCount[gpc] = tpcs;
        masks.mmuPerGpc[gpc] = 1;
        masks.numPesPerGpc[gpc] = (tpcs + kTpcsPerPes - 1) / kTpcsPerPes;
        masks.zcullMask[gpc] = low_mask(tpcs);
    }
    for (u32 tpc = 0; tpc < std::size(masks.tpcToPesMap); ++tpc) masks.tpcToPesMap[tpc] = tpc / kTpcsPerPes;
    abi::store(call.params, params);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_gr_ppc_masks(gsp::ControlCall& call) {
    abi::NV2080_CTRL_INTERNAL_STATIC_GR_GET_PPC_MASKS_PARAMS params{};
    for (u32 gpc = 0; gpc < std::min<u64>(spec_.gpc_count, std::size(params.enginePpcMasks[0].mask)); ++gpc)
        params.enginePpcMasks[0].mask[gpc] = low_mask((tpcs_of(spec_, gpc) + kTpcsPerPes - 1) / kTpcsPerPes);
    abi::store(call.params, params);
    return abi::NV_OK;
}

// SM ids go round the GPCs: first TPC of each GPC, then the second of each, and so on; the two SMs of a TPC follow one another.
NV_STATUS Gsp::Impl::ctrl_gr_sm_order(gsp::ControlCall& call) {
    abi::NV2080_CTRL_INTERNAL_STATIC_GR_GET_GLOBAL_SM_ORDER_PARAMS params{};
    abi::NV2080_CTRL_INTERNAL_STATIC_GR_GLOBAL_SM_ORDER& order = params.globalSmOrder[0];
    u32 sm_per_tpc = spec_.sm_count / spec_.tpc_count;
    for (u32 local = 0; order.numTpc < spec_.tpc_count && local < spec_.tpc_count; ++local) {
        for (u32 gpc = 0; gpc < spec_.gpc_count; ++gpc) {
            if (local >= tpcs_of(spec_, gpc)) continue;
            for (u32 sm = 0; sm < sm_per_tpc && order.numSm < std::size(order.globalSmId); ++sm) {
                auto& id = order.globalSmId[order.numSm++];
                id.gpcId = id.virtualGpcId = static_cast<u16>(gpc);
                id.localTpcId = id.migratableTpcId = static_cast<u16>(local);
                id.localSmId = static_cast<u16>(sm);
                id.globalTpcId = order.numTpc;
            }
            ++order.numTpc;
        }
    }
    abi::store(call.params, params);
    return abi::NV_OK;
}

// Buffers that the driver allocates for a graphics context. Nothing on this machine reads them, so sizes are modest.
NV_STATUS Gsp::Impl::ctrl_gr_buffers(gsp::ControlCall& call) {
    abi::NV2080_CTRL_INTERNAL_STATIC_GR_GET_CONTEXT_BUFFERS_INFO_PARAMS params{};
    constexpr u32 kAlignment = 0x1000;
    // NV0080_CTRL_FIFO_GET_ENGINE_CONTEXT_PROPERTIES_ENGINE_ID_*: what a compute context needs.
    constexpr struct {
        u32 id;
        u32 bytes;
    } kBuffers[] = {
        {0x00, 0x80000},   // GRAPHICS
        {0x09, 0x10000},   // GRAPHICS_PM
        {0x0A, 0x100000},  // COMPUTE_PREEMPT
        {0x0B, 0x100000},  // GRAPHICS_PREEMPT
        {0x0C, 0x10000},   // GRAPHICS_SPILL
        {0x0D, 0x10000},   // GRAPHICS_PAGEPOOL
        {0x0E, 0x10000},   // GRAPHICS_BETACB
        {0x0F, 0x10000},   // GRAPHICS_RTV
        {0x10, 0x10000},   // GRAPHICS_PATCH
        {0x11, 0x10000},   // GRAPHICS_BUNDLE_CB
        {0x12, 0x10000},   // GRAPHICS_PAGEPOOL_GLOBAL
        {0x13, 0x10000},   // GRAPHICS_ATTRIBUTE_CB
        {0x14, 0x10000},   // GRAPHICS_RTV_CB_GLOBAL
        {0x17, 0x10000},   // GRAPHICS_FECS_EVENT
        {0x18, 0x80000},   // GRAPHICS_PRIV_ACCESS_MAP
    };
    for (const auto& buffer : kBuffers) params.engineContextBuffersInfo[0].engine[buffer.id] = {buffer.bytes, kAlignment};
    abi::store(call.params, params);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_gr_properties(gsp::ControlCall& call) {
    abi::NV2080_CTRL_INTERNAL_STATIC_GR_GET_PDB_PROPERTIES_PARAMS params{};
    params.pdbTable[0].bPerSubCtxheaderSupported = 1;
    abi::store(call.params, params);
    return abi::NV_OK;
}

NV_STATUS Gsp::Impl::ctrl_gr_fs_info(gsp::ControlCall& call) {
    auto params = abi::load_prefix<abi::NV2080_CTRL_GRMGR_GET_GR_FS_INFO_PARAMS>(call.params);
    // NV2080_CTRL_GRMGR_GR_FS_INFO_QUERY_*
    enum Query : u32 { kGpcCount = 1, kChipletGpcMap = 2, kTpcMask = 3, kPpcMask = 4, kChipletSyspipeMask = 6, kRopMask = 10 };
    if (params.numQueries > std::size(params.queries)) return abi::NV_ERR_INVALID_ARGUMENT;
    for (u32 i = 0; i < params.numQueries; ++i) {
        auto& query = params.queries[i];
        query.status = abi::NV_OK;
        auto per_gpc = [&](u32 gpc, u32& out, u32 value) {
            if (gpc >= spec_.gpc_count) query.status = abi::NV_ERR_INVALID_ARGUMENT;
            else out = value;
        };
        switch (query.queryType) {
            case kGpcCount: query.queryData.gpcCountData.gpcCount = spec_.gpc_count; break;
            case kChipletGpcMap: {
                auto& data = query.queryData.chipletGpcMapData;
                per_gpc(data.gpcId, data.chipletGpcMap, data.gpcId);
                break;
            }
            case kTpcMask: {
                auto& data = query.queryData.tpcMaskData;
                per_gpc(data.gpcId, data.tpcMask, low_mask(tpcs_of(spec_, data.gpcId)));
                break;
            }
            case kPpcMask: {
                auto& data = query.queryData.ppcMaskData;
                per_gpc(data.gpcId, data.ppcMask, low_mask((tpcs_of(spec_, data.gpcId) + kTpcsPerPes - 1) / kTpcsPerPes));
                break;
            }
            case kChipletSyspipeMask: query.queryData.syspipeMaskData.chipletSyspipeMask = 1; break;
            case kRopMask: {
                auto& data = query.queryData.ropMaskData;
                per_gpc(data.gpcId, data.ropMask, 1);
                break;
            }
            default: query.status = abi::NV_ERR_NOT_SUPPORTED; break;  // partitions and profilers
        }
    }
    abi::store(call.params, params);
    return abi::NV_OK;
}

}  // namespace rm
