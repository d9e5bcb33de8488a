// ControlUnit: index lists (what the GPU, its bus, its memory and its graphics engine are), and the older controls that carry their
// list behind a pointer. Values: info_values.def.
#include <algorithm>
#include <optional>

#include "rm/abi/all_structs.h"
#include "rm/abi/info_gpu.h"
#include "rm/abi/info_gr_fb.h"
#include "rm/client/control_unit.h"

namespace rm::client {

namespace {

enum class List : u8 { Gpu, Bus, Fb };

constexpr u32 kFbInfoNumaNodeId = 0x3B;  // NV2080_CTRL_FB_INFO_INDEX_NUMA_NODE_ID, since 575
constexpr u32 kEntryBytes = sizeof(NVXXXX_CTRL_XXX_INFO);
constexpr u32 kGrInfoCount = NV0080_CTRL_GR_INFO_INDEX_MAX + 1;

// PCI Express 3.0 x16, as TU104 boards are; speed changes follow the power state. (model) The link runs at its full speed.
constexpr u32 kLinkCaps = NV2080_CTRL_BUS_INFO_PCIE_LINK_CAP_MAX_SPEED::make(NV2080_CTRL_BUS_INFO_PCIE_LINK_CAP_MAX_SPEED_8000MBPS) |
                          NV2080_CTRL_BUS_INFO_PCIE_LINK_CAP_MAX_WIDTH::make(16) |
                          NV2080_CTRL_BUS_INFO_PCIE_LINK_CAP_GEN::make(NV2080_CTRL_BUS_INFO_PCIE_LINK_CAP_GEN_GEN3) |
                          NV2080_CTRL_BUS_INFO_PCIE_LINK_CAP_CURR_LEVEL::make(NV2080_CTRL_BUS_INFO_PCIE_LINK_CAP_CURR_LEVEL_GEN3) |
                          NV2080_CTRL_BUS_INFO_PCIE_LINK_CAP_GPU_GEN::make(NV2080_CTRL_BUS_INFO_PCIE_LINK_CAP_GPU_GEN_GEN3);
// The link control and status registers of the capability: speed and width in the upper half.
using LINK_STATUS_SPEED = Field<19, 16>;
using LINK_STATUS_WIDTH = Field<25, 20>;
constexpr u32 kLinkControlStatus = LINK_STATUS_SPEED::make(3) | LINK_STATUS_WIDTH::make(16);
constexpr u32 kGenInfo = NV2080_CTRL_BUS_INFO_PCIE_LINK_CAP_GEN::make(NV2080_CTRL_BUS_INFO_PCIE_LINK_CAP_GEN_GEN3) |
                         NV2080_CTRL_BUS_INFO_PCIE_LINK_CAP_CURR_LEVEL::make(NV2080_CTRL_BUS_INFO_PCIE_LINK_CAP_CURR_LEVEL_GEN3) |
                         NV2080_CTRL_BUS_INFO_PCIE_LINK_CAP_GPU_GEN::make(NV2080_CTRL_BUS_INFO_PCIE_LINK_CAP_GPU_GEN_GEN3);
constexpr u32 kCoherentFlags =
    NV2080_CTRL_BUS_INFO_COHERENT_DMA_FLAGS_CTXDMA::make(1) | NV2080_CTRL_BUS_INFO_COHERENT_DMA_FLAGS_GPUGART::make(1);
constexpr u32 kGartUnified = 2;  // NV2080_CTRL_BUS_INFO_GPU_GART_FLAGS_UNIFIED

u32 kib(u64 bytes) {
    return static_cast<u32>(bytes >> 10);
}

std::optional<u32> word(std::span<const u8> bytes, u64 entry, u64 part) {
    return load<u32>(bytes, sizeof(u32) + entry * kEntryBytes + part * sizeof(u32));
}

}  // namespace

// The values need the unit's private parts, so the table is expanded in its friend.
struct InfoValues {
    static std::optional<u32> value(List list, u32 index, const ControlUnit& of) {
        struct Row {
            List list;
            u32 index;
            u32 (*value)(const ControlUnit& unit);
        };
        static constexpr Row rows[] = {
#define INFO_VALUE(list, index, expression) \
    {List::list, index, [](const ControlUnit& unit) -> u32 { return static_cast<void>(unit), expression; }},
#include "rm/client/info_values.def"
#undef INFO_VALUE
        };
        for (const Row& row : rows)
            if (row.list == list && row.index == index) return row.value(of);
        return std::nullopt;
    }

    // Fills a list of (index, data) behind its count; what the kernel does not know is asked of the firmware in one control.
    static Status fill(ControlUnit& unit, ControlCall& call, List list) {
        u32 room = static_cast<u32>((call.params.size() - sizeof(u32)) / kEntryBytes);
        u32 count = *load<u32>(call.params);
        if (count == 0 || count > room) return NV_ERR_INVALID_ARGUMENT;
        std::vector<u32> asked;
        for (u32 i = 0; i < count; ++i) {
            u32 index = *word(call.params, i, 0);
            if (list == List::Gpu) {
                if (NV2080_CTRL_GPU_INFO_INDEX_GROUP_ID::get(index) != 0) return NV_ERR_INVALID_ARGUMENT;
                index = NV2080_CTRL_GPU_INFO_INDEX_INDEX::get(index);
            }
            if (std::optional<u32> data = value(list, index, unit))
                store(call.params, *data, sizeof(u32) + u64{i} * kEntryBytes + sizeof(u32));
            else
                asked.push_back(i);
        }
        return asked.empty() ? NV_OK : ask(unit, call, asked, list == List::Gpu);
    }

    static Status ask(ControlUnit& unit, ControlCall& call, const std::vector<u32>& asked, bool marked) {
        std::vector<u8> params(call.params.size());
        store(std::span<u8>(params), static_cast<u32>(asked.size()));
        // Of the GPU's indices the driver marks the ones that the firmware shall fill in.
        u32 mark = marked ? NV2080_CTRL_GPU_INFO_INDEX_RESERVED::make(1) : 0;
        for (u64 i = 0; i < asked.size(); ++i) {
            store(std::span<u8>(params), *word(call.params, asked[i], 0) | mark, sizeof(u32) + i * kEntryBytes);
            store(std::span<u8>(params), *word(call.params, asked[i], 1), sizeof(u32) + i * kEntryBytes + sizeof(u32));
        }
        ControlCall physical{call.client, call.object, call.cmd, params, call.user, call.privileged, call.at_root};
        Status status = unit.forward(physical);
        if (status != NV_OK) return status;
        for (u64 i = 0; i < asked.size(); ++i)
            store(call.params, *word(params, i, 1), sizeof(u32) + u64{asked[i]} * kEntryBytes + sizeof(u32));
        return NV_OK;
    }
};

Status ControlUnit::gpu_info(ControlCall& call) {
    return InfoValues::fill(*this, call, List::Gpu);
}

Status ControlUnit::bus_info(ControlCall& call) {
    return InfoValues::fill(*this, call, List::Bus);
}

Status ControlUnit::fb_info(ControlCall& call) {
    return InfoValues::fill(*this, call, List::Fb);
}

u32 ControlUnit::graphics_value(u32 index) const {
    auto info = context_.adapter.graphics<NV2080_CTRL_INTERNAL_STATIC_GR_GET_INFO_PARAMS>(
        NV2080_CTRL_CMD_INTERNAL_STATIC_KGR_GET_INFO);
    return index < std::size(info.engineInfo[0].infoList) ? info.engineInfo[0].infoList[index].data : 0;
}

// The list stands behind a pointer and is read and written in place.
Status ControlUnit::graphics_info(ControlCall& call) {
    auto params = call.read<NV2080_CTRL_GR_GET_INFO_PARAMS>();
    if (params.grInfoListSize == 0 || params.grInfoListSize > kGrInfoCount) return NV_ERR_INVALID_ARGUMENT;
    std::vector<u8> list(u64{params.grInfoListSize} * kEntryBytes);
    if (!call.user.read(params.grInfoList, list)) return NV_ERR_INVALID_ADDRESS;
    Status status = fill_graphics_list(list);
    if (status != NV_OK) return status;
    return call.user.write(params.grInfoList, list) ? NV_OK : NV_ERR_INVALID_ADDRESS;
}

Status ControlUnit::graphics_info_v2(ControlCall& call) {
    u32 count = *load<u32>(call.params);
    if (count == 0 || count > kGrInfoCount) return NV_ERR_INVALID_ARGUMENT;
    return fill_graphics_list(call.params.subspan(sizeof(u32), u64{count} * kEntryBytes));
}

Status ControlUnit::fill_graphics_list(std::span<u8> list) {
    for (u64 at = 0; at + kEntryBytes <= list.size(); at += kEntryBytes) {
        u32 index = *load<u32>(list, at);
        if (index > NV0080_CTRL_GR_INFO_INDEX_MAX) return NV_ERR_INVALID_ARGUMENT;
        store(list, graphics_value(index), at + sizeof(u32));
    }
    return NV_OK;
}

// --- controls that the driver keeps for old clients by turning them into their successors (rmapi_deprecated_control.c)

Status ControlUnit::deprecated_list(ControlCall& call) {
    struct Row {
        u32 old;
        u32 successor;
    };
    static constexpr Row rows[] = {
        {NV2080_CTRL_CMD_GPU_GET_INFO, NV2080_CTRL_CMD_GPU_GET_INFO_V2},
        {NV2080_CTRL_CMD_BUS_GET_INFO, NV2080_CTRL_CMD_BUS_GET_INFO_V2},
        {NV2080_CTRL_CMD_FB_GET_INFO, NV2080_CTRL_CMD_FB_GET_INFO_V2},
        {NV2080_CTRL_CMD_BIOS_GET_INFO, NV2080_CTRL_CMD_BIOS_GET_INFO_V2},
    };
    const Row* row = std::find_if(std::begin(rows), std::end(rows), [&](const Row& other) { return other.old == call.cmd; });
    auto params = call.read<NV2080_CTRL_BUS_GET_INFO_PARAMS>();  // all of them: a count, then a pointer
    std::vector<u8> successor(control_bytes(context_.version, row->successor).value_or(0));
    if (params.busInfoListSize == 0 || successor.size() < sizeof(u32)) return NV_ERR_INVALID_ARGUMENT;
    if (params.busInfoListSize > (successor.size() - sizeof(u32)) / kEntryBytes) return NV_ERR_INVALID_ARGUMENT;
    std::span<u8> list = std::span<u8>(successor).subspan(sizeof(u32), u64{params.busInfoListSize} * kEntryBytes);
    if (!call.user.read(params.busInfoList, list)) return NV_ERR_INVALID_ADDRESS;
    store(std::span<u8>(successor), params.busInfoListSize);
    ControlCall newer{call.client, call.object, row->successor, successor, call.user, call.privileged};
    Status status = control(newer);
    if (status != NV_OK) return status;
    return call.user.write(params.busInfoList, list) ? NV_OK : NV_ERR_INVALID_ADDRESS;
}

bool ControlUnit::is_deprecated(u32 cmd) {
    switch (cmd) {
        case NV0000_CTRL_CMD_SYSTEM_GET_BUILD_VERSION:
        case NV2080_CTRL_CMD_GPU_GET_INFO:
        case NV2080_CTRL_CMD_BUS_GET_INFO:
        case NV2080_CTRL_CMD_FB_GET_INFO:
        case NV2080_CTRL_CMD_BIOS_GET_INFO:
            return true;
        default:
            return false;
    }
}

}  // namespace rm::client
