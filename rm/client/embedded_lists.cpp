// Source: open-gpu-kernel-modules 580.95.05, embedded_param_copy.c (the rows), param_copy.c (rmapiParamsAcquire).
#include "rm/client/embedded_lists.h"

#include "rm/abi/controls.h"
#include "rm/client/named_view.h"

namespace rm::client {

namespace {

constexpr u64 kListBytesMax = 1u << 20;  // RMAPI_PARAM_COPY_MAX_PARAMS_SIZE

enum class Copied : u8 { In, OutOnly };

struct EmbeddedList {
    u32 control;
    std::string_view type;
    std::string_view count;
    std::string_view pointer;
    u32 element_bytes;
    Copied copied;
};
constexpr EmbeddedList kLists[] = {
    {abi::NV0080_CTRL_CMD_FIFO_GET_CHANNELLIST, "NV0080_CTRL_FIFO_GET_CHANNELLIST_PARAMS", "numChannels", "pChannelHandleList", 4,
     Copied::In},
    {abi::NV0080_CTRL_CMD_FIFO_GET_CHANNELLIST, "NV0080_CTRL_FIFO_GET_CHANNELLIST_PARAMS", "numChannels", "pChannelList", 4, Copied::In},
    {abi::NV0080_CTRL_CMD_GR_GET_INFO, "NV0080_CTRL_GR_GET_INFO_PARAMS", "grInfoListSize", "grInfoList", 8, Copied::In},
    {abi::NV2080_CTRL_CMD_GR_GET_INFO, "NV2080_CTRL_GR_GET_INFO_PARAMS", "grInfoListSize", "grInfoList", 8, Copied::In},
    {abi::NV2080_CTRL_CMD_GPU_EXEC_REG_OPS, "NV2080_CTRL_GPU_EXEC_REG_OPS_PARAMS", "regOpCount", "regOps", 32, Copied::In},
    {abi::NV0080_CTRL_CMD_HOST_GET_CAPS, "NV0080_CTRL_HOST_GET_CAPS_PARAMS", "capsTblSize", "capsTbl", 1, Copied::OutOnly},
    {abi::NV0080_CTRL_CMD_FIFO_GET_CAPS, "NV0080_CTRL_FIFO_GET_CAPS_PARAMS", "capsTblSize", "capsTbl", 1, Copied::OutOnly},
    {abi::NV0080_CTRL_CMD_FB_GET_CAPS, "NV0080_CTRL_FB_GET_CAPS_PARAMS", "capsTblSize", "capsTbl", 1, Copied::OutOnly},
    {abi::NV0080_CTRL_CMD_GR_GET_CAPS, "NV0080_CTRL_GR_GET_CAPS_PARAMS", "capsTblSize", "capsTbl", 1, Copied::OutOnly},
    {abi::NV0041_CTRL_CMD_GET_SURFACE_INFO, "NV0041_CTRL_GET_SURFACE_INFO_PARAMS", "surfaceInfoListSize", "surfaceInfoList", 8, Copied::In},
};

}  // namespace

Status check_embedded_lists(const DriverVersion& version, u32 control, UserMemory& user, std::span<u8> params) {
    for (const EmbeddedList& list : kLists) {
        if (list.control != control || !field_place(version, list.type, list.pointer)) continue;
        NamedView view(version, list.type, params);
        u64 bytes = u64{view.get32(list.count)} * list.element_bytes;
        u64 pointer = view.get(list.pointer);
        Status status = (bytes == 0) != (pointer == 0) || bytes > kListBytesMax ? NV_ERR_INVALID_ARGUMENT : NV_OK;
        std::vector<u8> copy(status == NV_OK && list.copied == Copied::In ? bytes : 0);
        if (!copy.empty() && !user.read(pointer, copy)) status = NV_ERR_INVALID_ADDRESS;
        if (status == NV_OK) continue;
        view.set(list.pointer, 0);
        return status;
    }
    return NV_OK;
}

}  // namespace rm::client
