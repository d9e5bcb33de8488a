// ControlUnit: the answers of the kernel's half.
#include <string>

#include "rm/abi/all_structs.h"
#include "rm/abi/internal_flags.h"
#include "rm/client/control_unit.h"
#include "rm/client/engine_map.h"

namespace rm::client {

namespace {

constexpr u32 kNoGpu = 0xFFFFFFFF;           // NV0000_CTRL_GPU_INVALID_ID
constexpr u32 kInvalidChannel = 0xFFFFFFFF;  // NV0080_CTRL_FIFO_GET_CHANNELLIST_INVALID_CHANNEL
// NV0000_CTRL_SLI_STATUS_INVALID_GPU_COUNT and _GPU_NOT_SUPPORTED. Observed: what a single GPU says.
constexpr u32 kSliStatus = 0x41;
constexpr u32 kListBytesMax = 1u << 20;      // RMAPI_PARAM_COPY_MAX_PARAMS_SIZE
constexpr u32 kGidBytes = 16;

using NV0000_CTRL_GPU_ID_INFO_IN_USE = Field<0, 0>;
using NV0000_CTRL_GPU_ID_INFO_BOOT_MASTER = Field<3, 3>;
using GET_GID_FLAGS_FORMAT = Field<1, 0>;
using GET_GID_FLAGS_TYPE = Field<2, 2>;
constexpr u32 kGidFormatBinary = 2;  // every other one is text
constexpr u32 kGidTypeSha1 = 0;

// A NUL-terminated text in a 256-byte field at `offset`; what does not fit is cut off.
void put_text(std::span<u8> bytes, u64 offset, std::string_view text) {
    constexpr u64 kFieldBytes = 256;
    if (bytes.size() < offset + kFieldBytes) return;
    for (u64 i = 0; i < std::min<u64>(text.size(), kFieldBytes - 1); ++i) bytes[offset + i] = static_cast<u8>(text[i]);
}

}  // namespace

Status ControlUnit::zeroes(ControlCall& call) {
    std::fill(call.params.begin(), call.params.end(), u8{0});
    return NV_OK;
}

// The count comes first; what lies behind it stays the caller's.
Status ControlUnit::empty_list(ControlCall& call) {
    store(call.params, u32{0});
    return NV_OK;
}

Status ControlUnit::accept(ControlCall&) {
    return NV_OK;
}

Status ControlUnit::not_here(ControlCall&) {
    return NV_ERR_NOT_SUPPORTED;
}

Status ControlUnit::system_build_version(ControlCall& call) {
    // NV0000_CTRL_SYSTEM_GET_BUILD_VERSION_V2_PARAMS: four texts, then two change list numbers.
    constexpr u64 kDriverVersion = 0, kVersion = 256, kBranch = 512, kTitle = 768;
    std::string version(version_name(context_.version));
    std::fill(call.params.begin(), call.params.end(), u8{0});
    put_text(call.params, kDriverVersion, version);
    put_text(call.params, kVersion, "NVIDIA UNIX x86_64 Kernel Module  " + version);
    put_text(call.params, kBranch, "r" + version.substr(0, version.find('.')));
    put_text(call.params, kTitle, "NVIDIA UNIX Open Kernel Module for x86_64");
    return NV_OK;
}

Status ControlUnit::gpu_attached_ids(ControlCall& call) {
    NV0000_CTRL_GPU_GET_ATTACHED_IDS_PARAMS params{};
    std::fill(std::begin(params.gpuIds), std::end(params.gpuIds), kNoGpu);
    if (context_.adapter.started()) params.gpuIds[0] = gpu_id();
    call.write(params);
    return NV_OK;
}

Status ControlUnit::gpu_probed_ids(ControlCall& call) {
    NV0000_CTRL_GPU_GET_PROBED_IDS_PARAMS params{};
    std::fill(std::begin(params.gpuIds), std::end(params.gpuIds), kNoGpu);
    std::fill(std::begin(params.excludedGpuIds), std::end(params.excludedGpuIds), kNoGpu);
    params.gpuIds[0] = gpu_id();
    call.write(params);
    return NV_OK;
}

Status ControlUnit::gpu_attach_ids(ControlCall& call) {
    auto params = call.read<NV0000_CTRL_GPU_ATTACH_IDS_PARAMS>();
    constexpr u32 kAttachAll = 0x0000FFFF;  // NV0000_CTRL_GPU_ATTACH_ALL_PROBED_IDS
    if (params.gpuIds[0] != kAttachAll) {
        for (u32 id : params.gpuIds) {
            if (id == kNoGpu) break;
            if (id == gpu_id()) continue;
            params.failedId = id;
            call.write(params);
            return NV_ERR_INVALID_ARGUMENT;
        }
    }
    return NV_OK;  // failedId is left as it was
}

// A GPU is in use while some client has a device on it.
bool ControlUnit::device_in_use() const {
    for (const auto& [handle, client] : context_.server.clients())
        if (client.on_gsp) return true;
    return false;
}

Status ControlUnit::gpu_id_info(ControlCall& call) {
    auto params = call.read<NV0000_CTRL_GPU_GET_ID_INFO_PARAMS>();
    if (params.gpuId != gpu_id()) return NV_ERR_INVALID_ARGUMENT;
    params.gpuFlags = NV0000_CTRL_GPU_ID_INFO_IN_USE::make(device_in_use() ? 1 : 0);
    params.deviceInstance = 0;
    params.subDeviceInstance = 0;
    params.sliStatus = kSliStatus;
    params.boardId = gpu_id();
    params.gpuInstance = 0;
    params.numaId = -1;
    call.write(params);
    return NV_OK;
}

Status ControlUnit::gpu_id_info_v2(ControlCall& call) {
    auto params = call.read<NV0000_CTRL_GPU_GET_ID_INFO_V2_PARAMS>();
    if (params.gpuId != gpu_id()) return NV_ERR_INVALID_ARGUMENT;
    params = {};
    params.gpuId = gpu_id();
    params.gpuFlags = NV0000_CTRL_GPU_ID_INFO_IN_USE::make(device_in_use() ? 1 : 0);
    params.sliStatus = kSliStatus;
    params.boardId = gpu_id();
    params.numaId = -1;
    call.write(params);
    return NV_OK;
}

Status ControlUnit::gpu_active_devices(ControlCall& call) {
    NV0000_CTRL_GPU_GET_ACTIVE_DEVICE_IDS_PARAMS params{};
    if (context_.adapter.started()) {
        params.numDevices = 1;
        params.devices[0] = {gpu_id(), kNoGpu, kNoGpu};
    }
    call.write(params);
    return NV_OK;
}

Status ControlUnit::client_address_space(ControlCall& call) {
    auto params = call.read<NV0000_CTRL_CLIENT_GET_ADDR_SPACE_TYPE_PARAMS>();
    Object* object = call.client.find(params.hObject);
    if (object == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    MemoryData* memory = object->as<MemoryData>();
    if (memory == nullptr) return NV_ERR_INVALID_OBJECT;
    params.addrSpaceType = address_space_type(*memory);
    call.write(params);
    return NV_OK;
}

Status ControlUnit::device_class_list(ControlCall& call) {
    auto params = call.read<NV0080_CTRL_GPU_GET_CLASSLIST_PARAMS>();
    const std::vector<u32> classes = context_.classes.listed();
    auto count = static_cast<u32>(classes.size());
    if (params.classList != 0) {
        // A list that is too short is an error; nothing of it is written.
        if (params.numClasses < count) return NV_ERR_INVALID_PARAM_STRUCT;
        std::vector<u8> bytes(classes.size() * sizeof(u32));
        for (std::size_t i = 0; i < classes.size(); ++i) store(std::span<u8>(bytes), classes[i], i * sizeof(u32));
        if (!call.user.write(params.classList, bytes)) return NV_ERR_INVALID_ADDRESS;
    }
    params.numClasses = count;
    call.write(params);
    return NV_OK;
}

Status ControlUnit::device_class_list_v2(ControlCall& call) {
    NV0080_CTRL_GPU_GET_CLASSLIST_V2_PARAMS params{};
    const std::vector<u32> classes = context_.classes.listed();
    params.numClasses = static_cast<u32>(std::min(classes.size(), std::size(params.classList)));
    std::copy_n(classes.begin(), params.numClasses, params.classList);
    call.write(params);
    return NV_OK;
}

Status ControlUnit::device_subdevices(ControlCall& call) {
    NV0080_CTRL_GPU_GET_NUM_SUBDEVICES_PARAMS params{};
    params.numSubDevices = 1;
    call.write(params);
    return NV_OK;
}

Status ControlUnit::device_channel_list(ControlCall& call) {
    auto params = call.read<NV0080_CTRL_FIFO_GET_CHANNELLIST_PARAMS>();
    u64 bytes = u64{params.numChannels} * sizeof(u32);
    if (params.numChannels == 0 || bytes > kListBytesMax) return NV_ERR_INVALID_ARGUMENT;
    if (params.pChannelHandleList == 0 || params.pChannelList == 0) return NV_ERR_INVALID_ARGUMENT;
    std::vector<u8> list(bytes);
    if (!call.user.read(params.pChannelHandleList, list)) return NV_ERR_INVALID_ADDRESS;
    for (u64 at = 0; at < bytes; at += sizeof(u32)) {
        Object* object = call.client.find(*load<u32>(list, at));
        ChannelData* channel = object != nullptr ? object->as<ChannelData>() : nullptr;
        store(std::span<u8>(list), channel != nullptr ? channel->chid : kInvalidChannel, at);
    }
    return call.user.write(params.pChannelList, list) ? NV_OK : NV_ERR_INVALID_ADDRESS;
}

Status ControlUnit::subdevice_set_notification(ControlCall& call) {
    auto params = call.read<NV2080_CTRL_EVENT_SET_NOTIFICATION_PARAMS>();
    // An event must hang on the subdevice already.
    bool awaited = false;
    for (auto& [handle, client] : context_.server.clients()) {
        for (auto& [number, object] : client.objects) {
            EventData* event = object.as<EventData>();
            if (event == nullptr || event->source_client != call.client.handle) continue;
            awaited = awaited || event->source == call.object.handle;
        }
    }
    if (!awaited) return NV_ERR_INVALID_STATE;
    if (params.event >= NV2080_NOTIFIERS_MAXCOUNT) return NV_ERR_INVALID_ARGUMENT;
    if (params.event == NV2080_NOTIFIERS_TIMER) return NV_ERR_INVALID_ARGUMENT;  // it has a control of its own
    if (params.action > NV2080_CTRL_EVENT_SET_NOTIFICATION_ACTION_REPEAT) return NV_ERR_INVALID_ARGUMENT;
    u32& action = call.object.as<SubdeviceData>()->notify_actions[params.event];
    bool disables = params.action == NV2080_CTRL_EVENT_SET_NOTIFICATION_ACTION_DISABLE;
    if (!disables && action != NV2080_CTRL_EVENT_SET_NOTIFICATION_ACTION_DISABLE) return NV_ERR_INVALID_STATE;
    action = params.action;
    return NV_OK;
}

Status ControlUnit::subdevice_name(ControlCall& call) {
    auto params = call.read<NV2080_CTRL_GPU_GET_NAME_STRING_PARAMS>();
    constexpr u32 kAscii = 0;  // whatever else is asked for is Unicode
    const StaticInfo& info = context_.adapter.info();
    const std::vector<u8>& name = params.gpuNameStringFlags == kAscii ? info.name : info.name_unicode;
    std::span<u8> out = call.params.subspan(sizeof(u32));
    std::fill(out.begin(), out.end(), u8{0});
    std::copy_n(name.begin(), std::min(name.size(), out.size()), out.begin());
    return NV_OK;
}

Status ControlUnit::subdevice_short_name(ControlCall& call) {
    const std::vector<u8>& name = context_.adapter.info().short_name;
    std::fill(call.params.begin(), call.params.end(), u8{0});
    std::copy_n(name.begin(), std::min(name.size(), call.params.size()), call.params.begin());
    return NV_OK;
}

Status ControlUnit::subdevice_gid(ControlCall& call) {
    auto params = call.read<NV2080_CTRL_GPU_GET_GID_INFO_PARAMS>();
    const std::vector<u8>& gid = context_.adapter.info().gid;
    if (gid.size() < kGidBytes) return NV_ERR_NOT_SUPPORTED;
    if (GET_GID_FLAGS_TYPE::get(params.flags) != kGidTypeSha1) return NV_ERR_INVALID_FLAGS;
    u32 format = GET_GID_FLAGS_FORMAT::get(params.flags);
    if (format == kGidFormatBinary) {
        params.length = kGidBytes;
        std::copy_n(gid.begin(), kGidBytes, params.data);
    } else {
        constexpr char digits[] = "0123456789abcdef";
        std::string text = "GPU-";
        for (u32 i = 0; i < kGidBytes; ++i) {
            if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
            text += digits[gid[i] >> 4];
            text += digits[gid[i] & 0xF];
        }
        params.length = static_cast<u32>(text.size() + 1);
        std::fill_n(params.data, params.length, u8{0});
        for (std::size_t i = 0; i < text.size(); ++i) params.data[i] = static_cast<u8>(text[i]);
    }
    call.write(params);
    return NV_OK;
}

Status ControlUnit::subdevice_engines(ControlCall& call) {
    NV2080_CTRL_GPU_GET_ENGINES_V2_PARAMS params{};
    for (const EngineInfo& engine : context_.adapter.engines()) {
        const EngineName* name = engine_by_rm(engine.rm_engine);
        if (name != nullptr && params.engineCount < std::size(params.engineList))
            params.engineList[params.engineCount++] = name->nv2080;
    }
    call.write(params);
    return NV_OK;
}

Status ControlUnit::subdevice_architecture(ControlCall& call) {
    u32 boot0 = context_.adapter.boot0();
    NV2080_CTRL_MC_GET_ARCH_INFO_PARAMS params{};
    params.architecture = reg::NV_PMC_BOOT_0_ARCHITECTURE::get(boot0) << 4;
    params.implementation = reg::NV_PMC_BOOT_0_IMPLEMENTATION::get(boot0);
    params.revision =
        reg::NV_PMC_BOOT_0_MAJOR_REVISION::get(boot0) << 4 | reg::NV_PMC_BOOT_0_MINOR_REVISION::get(boot0);
    call.write(params);
    return NV_OK;
}

Status ControlUnit::subdevice_pci(ControlCall& call) {
    PciFunction& pci = context_.adapter.pci();
    NV2080_CTRL_BUS_GET_PCI_INFO_PARAMS params{};
    params.pciDeviceId = u32{pci.device()} << 16 | pci.vendor();
    params.pciSubSystemId = pci.subsystem();
    params.pciRevisionId = pci.revision();
    params.pciExtDeviceId = pci.device();
    call.write(params);
    return NV_OK;
}

Status ControlUnit::channel_class_engine(ControlCall& call) {
    auto params = call.read<NV906F_CTRL_GET_CLASS_ENGINEID_PARAMS>();
    Object* object = call.client.find(params.hObject);
    if (object == nullptr || object->parent != call.object.handle) return NV_ERR_OBJECT_NOT_FOUND;
    params.classID = object->class_id;
    EngineObjectData* engine = object->as<EngineObjectData>();
    params.engineID = engine != nullptr ? engine->engine : call.object.as<ChannelData>()->engine;
    params.classEngineID = object->class_id;
    call.write(params);
    return NV_OK;
}

// The client's reasons are few; the driver adds whether an error of the channel is being recovered from, and the firmware resets it.
Status ControlUnit::channel_reset(ControlCall& call) {
    auto params = call.read<NV906F_CTRL_CMD_RESET_CHANNEL_PARAMS>();
    constexpr u32 kReasons = 3;  // NV906F_CTRL_CMD_RESET_CHANNEL_REASON_ENUM_MAX
    if (params.resetReason >= kReasons) return NV_ERR_INVALID_PARAMETER;
    params.bIsRcPending = call.object.as<ChannelData>()->dead;
    call.write(params);
    return forward(call);
}

// Only SEC2's channels have such a buffer, and clients get none of them.
Status ControlUnit::subdevice_falcon_context(ControlCall& call) {
    auto params = call.read<NV2080_CTRL_FLCN_GET_CTX_BUFFER_SIZE_PARAMS>();
    Object* channel = call.client.find(params.hChannel);
    if (channel == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    return channel->as<ChannelData>() != nullptr ? NV_ERR_NOT_SUPPORTED : NV_ERR_INVALID_CHANNEL;
}

Status ControlUnit::channel_token(ControlCall& call) {
    ChannelData* channel = call.object.as<ChannelData>();
    NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN_PARAMS params{};
    params.workSubmitToken = channels_.work_submit_token(*channel);
    channels_.notify_token(call.client, *channel, params.workSubmitToken);
    call.write(params);
    return NV_OK;
}

Status ControlUnit::channel_token_index(ControlCall& call) {
    auto params = call.read<NVC36F_CTRL_GPFIFO_SET_WORK_SUBMIT_TOKEN_NOTIF_INDEX_PARAMS>();
    ChannelData* channel = call.object.as<ChannelData>();
    Object* object = channel->error_memory != 0 ? call.client.find(channel->error_memory) : nullptr;
    MemoryData* memory = object != nullptr ? object->as<MemoryData>() : nullptr;
    if (memory == nullptr) return NV_ERR_INVALID_STATE;
    if ((u64{params.index} + 1) * sizeof(NvNotification) > memory->bytes) return NV_ERR_OUT_OF_RANGE;
    channel->token_index = params.index;
    channels_.notify_token(call.client, *channel, channels_.work_submit_token(*channel));
    return NV_OK;
}

}  // namespace rm::client
