// ControlUnit: the graphics engine's floorsweeping, SM order, capabilities and buffer sizes, from what the firmware told at bring-up.
// Source: open-gpu-kernel-modules 570.144, kernel_graphics.c.
#include <algorithm>

#include "rm/abi/all_structs.h"
#include "rm/client/control_unit.h"

namespace rm::client {

namespace {

u64 align_up(u64 value, u64 alignment) {
    return alignment == 0 ? value : (value + alignment - 1) / alignment * alignment;
}

}  // namespace

Status ControlUnit::graphics_gpc_mask(ControlCall& call) {
    auto params = call.read<NV2080_CTRL_GR_GET_GPC_MASK_PARAMS>();
    auto masks = context_.adapter.graphics<NV2080_CTRL_INTERNAL_STATIC_GR_GET_FLOORSWEEPING_MASKS_PARAMS>(
        NV2080_CTRL_CMD_INTERNAL_STATIC_KGR_GET_FLOORSWEEPING_MASKS);
    params.gpcMask = masks.floorsweepingMasks[0].gpcMask;
    call.write(params);
    return NV_OK;
}

// The driver does not refuse a GPC that is not there: its mask is empty.
Status ControlUnit::graphics_tpc_mask(ControlCall& call) {
    auto params = call.read<NV2080_CTRL_GR_GET_TPC_MASK_PARAMS>();
    auto masks = context_.adapter.graphics<NV2080_CTRL_INTERNAL_STATIC_GR_GET_FLOORSWEEPING_MASKS_PARAMS>(
        NV2080_CTRL_CMD_INTERNAL_STATIC_KGR_GET_FLOORSWEEPING_MASKS);
    const auto& per_gpc = masks.floorsweepingMasks[0].tpcMask;
    params.tpcMask = params.gpcId < std::size(per_gpc) ? per_gpc[params.gpcId] : 0;
    call.write(params);
    return NV_OK;
}

Status ControlUnit::graphics_sm_order(ControlCall& call) {
    auto params = call.read<NV2080_CTRL_GR_GET_GLOBAL_SM_ORDER_PARAMS>();
    auto orders = context_.adapter.graphics<NV2080_CTRL_INTERNAL_STATIC_GR_GET_GLOBAL_SM_ORDER_PARAMS>(
        NV2080_CTRL_CMD_INTERNAL_STATIC_KGR_GET_GLOBAL_SM_ORDER);
    const auto& order = orders.globalSmOrder[0];
    params.numSm = static_cast<u16>(std::min<std::size_t>(order.numSm, std::size(order.globalSmId)));
    params.numTpc = order.numTpc;
    for (u32 i = 0; i < params.numSm; ++i) {
        const auto& from = order.globalSmId[i];
        params.globalSmId[i] = {from.gpcId,        from.localTpcId,   from.localSmId,
                                from.globalTpcId,  from.virtualGpcId, from.migratableTpcId};
    }
    call.write(params);
    return NV_OK;
}

Status ControlUnit::graphics_sm_mappings(ControlCall& call) {
    auto params = call.read<NV2080_CTRL_GR_GET_SM_TO_GPC_TPC_MAPPINGS_PARAMS>();
    auto orders = context_.adapter.graphics<NV2080_CTRL_INTERNAL_STATIC_GR_GET_GLOBAL_SM_ORDER_PARAMS>(
        NV2080_CTRL_CMD_INTERNAL_STATIC_KGR_GET_GLOBAL_SM_ORDER);
    const auto& order = orders.globalSmOrder[0];
    params.smCount = static_cast<u32>(std::min<std::size_t>(order.numSm, std::size(params.smId)));
    for (u32 i = 0; i < params.smCount; ++i)
        params.smId[i] = {order.globalSmId[i].gpcId, order.globalSmId[i].localTpcId};
    call.write(params);
    return NV_OK;
}

Status ControlUnit::graphics_issue_rate(ControlCall& call) {
    auto params = call.read<NV2080_CTRL_GR_GET_SM_ISSUE_RATE_MODIFIER_PARAMS>();
    auto rates = context_.adapter.graphics<NV2080_CTRL_INTERNAL_STATIC_GR_GET_SM_ISSUE_RATE_MODIFIER_PARAMS>(
        NV2080_CTRL_CMD_INTERNAL_STATIC_KGR_GET_SM_ISSUE_RATE_MODIFIER);
    const auto& rate = rates.smIssueRateModifier[0];
    params.imla0 = rate.imla0;
    params.fmla16 = rate.fmla16;
    params.dp = rate.dp;
    params.fmla32 = rate.fmla32;
    params.ffma = rate.ffma;
    params.imla1 = rate.imla1;
    params.imla2 = rate.imla2;
    params.imla3 = rate.imla3;
    params.imla4 = rate.imla4;
    call.write(params);
    return NV_OK;
}

Status ControlUnit::graphics_caps(ControlCall& call) {
    auto caps = context_.adapter.graphics<NV2080_CTRL_INTERNAL_STATIC_GR_GET_CAPS_PARAMS>(
        NV2080_CTRL_CMD_INTERNAL_STATIC_KGR_GET_CAPS);
    const auto& table = caps.engineCaps[0].capsTbl;
    std::copy_n(std::begin(table), std::min(std::size(table), call.params.size()), call.params.begin());
    return NV_OK;
}

// What a mapping of all of a channel's context buffers needs: each at its alignment, and room to align the first of each kind.
Status ControlUnit::graphics_context_bytes(ControlCall& call) {
    auto params = call.read<NV2080_CTRL_GR_GET_CTX_BUFFER_SIZE_PARAMS>();
    Object* channel = call.client.find(params.hChannel);
    if (channel == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    if (channel->as<ChannelData>() == nullptr) return NV_ERR_INVALID_CHANNEL;
    auto sizes = context_.adapter.graphics<NV2080_CTRL_INTERNAL_STATIC_GR_GET_CONTEXT_BUFFERS_INFO_PARAMS>(
        NV2080_CTRL_CMD_INTERNAL_STATIC_KGR_GET_CONTEXT_BUFFERS_INFO);
    u64 total = 0;
    u64 previous = 0;
    for (const auto& buffer : sizes.engineContextBuffersInfo[0].engine) {
        constexpr u32 kAbsent = ~u32{0};
        if (buffer.size == 0 || buffer.size == kAbsent) continue;
        if (buffer.alignment != previous) total += buffer.alignment;
        previous = buffer.alignment;
        total += align_up(buffer.size, buffer.alignment);
    }
    params.totalBufferSize = total;
    call.write(params);
    return NV_OK;
}

}  // namespace rm::client
