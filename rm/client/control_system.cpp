// ControlUnit: controls of the client object (the system, peer-to-peer, confidential computing) and those of a device or subdevice
// that change a setting. Source: open-gpu-kernel-modules 570.144, client_resource.c, conf_compute_api.c, the files named by the rows.
#include <algorithm>
#include <cstddef>

#include "rm/abi/all_structs.h"
#include "rm/abi/info_gpu.h"
#include "rm/abi/info_gr_fb.h"
#include "rm/client/control_unit.h"
#include "rm/client/engine_map.h"

namespace rm::client {

namespace {

constexpr u8 kP2pNotSupported = 5;  // NV0000_P2P_CAPS_STATUS_NOT_SUPPORTED

// A capability table is bytes; a capability is a byte and a bit of it (NV0080_CTRL_FB_CAPS_*).
struct Capability {
    u32 byte;
    u8 bit;
};
constexpr Capability kFbCaps[] = {
    {0, 0x01},  // SUPPORT_RENDER_TO_SYSMEM
    {0, 0x02},  // BLOCKLINEAR
    {0, 0x08},  // SUPPORT_CACHED_SYSMEM
    {1, 0x01},  // BLOCKLINEAR_GOBS_512
    {1, 0x80},  // GENERIC_PAGE_KIND
    {2, 0x10},  // PARTIAL_UNMAP
};

}  // namespace

Status ControlUnit::system_build_version_old(ControlCall& call) {
    auto params = call.read<NV0000_CTRL_SYSTEM_GET_BUILD_VERSION_PARAMS>();
    std::vector<u8> texts(control_bytes(context_.version, NV0000_CTRL_CMD_SYSTEM_GET_BUILD_VERSION_V2).value_or(0));
    ControlCall newer{call.client, call.object, NV0000_CTRL_CMD_SYSTEM_GET_BUILD_VERSION_V2, texts, call.user, call.privileged};
    Status status = control(newer);
    if (status != NV_OK) return status;
    constexpr u64 kTextBytes = 256, kVersion = 256, kTitle = 768;  // of the V2 struct: driver version, version, branch, title
    if (params.sizeOfStrings == 0 || params.sizeOfStrings > kTextBytes) return NV_ERR_INVALID_ARGUMENT;
    struct Text {
        u64 user;
        u64 offset;
    };
    for (Text text : {Text{params.pDriverVersionBuffer, 0}, Text{params.pVersionBuffer, kVersion}, Text{params.pTitleBuffer, kTitle}})
        if (!call.user.write(text.user, std::span<const u8>(texts).subspan(text.offset, params.sizeOfStrings)))
            return NV_ERR_INVALID_ADDRESS;
    params.changelistNumber = 0;
    params.officialChangelistNumber = 0;
    call.write(params);
    return NV_OK;
}

// A GPU is no peer of itself: no capability, no copy engine to reach it with.
Status ControlUnit::system_p2p_matrix(ControlCall& call) {
    auto params = call.read<NV0000_CTRL_SYSTEM_GET_P2P_CAPS_MATRIX_PARAMS>();
    constexpr u32 kGroupMax = std::size(decltype(params.gpuIdGrpA){});
    if (params.grpACount == 0 || params.grpACount > kGroupMax || params.grpBCount > kGroupMax) return NV_ERR_INVALID_ARGUMENT;
    for (u32 i = 0; i < params.grpACount; ++i)
        if (params.gpuIdGrpA[i] != gpu_id()) return NV_ERR_INVALID_ARGUMENT;
    for (u32 i = 0; i < params.grpBCount; ++i)
        if (params.gpuIdGrpB[i] != gpu_id()) return NV_ERR_INVALID_ARGUMENT;
    u32 columns = params.grpBCount == 0 ? params.grpACount : params.grpBCount;
    for (u32 a = 0; a < params.grpACount; ++a)
        for (u32 b = 0; b < columns; ++b) {
            params.p2pCaps[a][b] = 0;
            params.a2bOptimalReadCes[a][b] = params.a2bOptimalWriteCes[a][b] = 0;
            params.b2aOptimalReadCes[a][b] = params.b2aOptimalWriteCes[a][b] = 0;
        }
    call.write(params);
    return NV_OK;
}

// V1 and V2 begin alike; V1's lists stand behind pointers that may be null.
Status ControlUnit::system_p2p_caps(ControlCall& call) {
    auto params = call.read<NV0000_CTRL_SYSTEM_GET_P2P_CAPS_PARAMS>();
    if (params.gpuCount == 0 || params.gpuCount > std::size(params.gpuIds)) return NV_ERR_INVALID_ARGUMENT;
    for (u32 i = 0; i < params.gpuCount; ++i)
        if (params.gpuIds[i] != gpu_id()) return NV_ERR_INVALID_ARGUMENT;
    params.p2pCaps = 0;
    params.p2pOptimalReadCEs = 0;
    params.p2pOptimalWriteCEs = 0;
    std::fill(std::begin(params.p2pCapsStatus), std::end(params.p2pCapsStatus), kP2pNotSupported);
    constexpr u64 kCommonBytes =
        offsetof(NV0000_CTRL_SYSTEM_GET_P2P_CAPS_PARAMS, p2pCapsStatus) + sizeof(params.p2pCapsStatus);
    std::vector<u8> bytes(sizeof(params));
    store(std::span<u8>(bytes), params);
    std::copy_n(bytes.begin(), std::min<u64>(kCommonBytes, call.params.size()), call.params.begin());
    return NV_OK;
}

// The machine's processor, as its guests see it: guest_harness/guest/cpuid.h. (model)
Status ControlUnit::system_cpu(ControlCall& call) {
    NV0000_CTRL_SYSTEM_GET_CPU_INFO_PARAMS params{};
    params.type = 0;  // NV0000_CTRL_SYSTEM_CPU_TYPE_UNKNOWN: a processor that the driver does not know
    params.dataCacheLineSize = 64;
    params.numLogicalCpus = params.numPhysicalCpus = params.coresOnDie = 1;
    call.write(params);
    return NV_OK;
}

Status ControlUnit::system_fabric(ControlCall& call) {
    constexpr u32 kFabricSkip = 1;  // NV0000_CTRL_GET_SYSTEM_FABRIC_STATUS_SKIP: no fabric manager is needed
    call.write(NV0000_CTRL_SYSTEM_GET_FABRIC_STATUS_PARAMS{kFabricSkip});
    return NV_OK;
}

Status ControlUnit::gpu_device_ids(ControlCall& call) {
    // Bit per device instance.
    call.write(NV0000_CTRL_GPU_GET_DEVICE_IDS_PARAMS{context_.adapter.started() ? 1u : 0u});
    return NV_OK;
}

Status ControlUnit::gpu_pci_info(ControlCall& call) {
    auto params = call.read<NV0000_CTRL_GPU_GET_PCI_INFO_PARAMS>();
    if (params.gpuId != gpu_id()) return NV_ERR_INVALID_ARGUMENT;
    PciLocation place = context_.adapter.pci().location();
    params.domain = place.domain;
    params.bus = static_cast<u16>(place.bus);
    params.slot = static_cast<u16>(place.slot);
    call.write(params);
    return NV_OK;
}

Status ControlUnit::gpu_uuid(ControlCall& call) {
    auto params = call.read<NV0000_CTRL_GPU_GET_UUID_FROM_GPU_ID_PARAMS>();
    if (params.gpuId != gpu_id()) return NV_ERR_OBJECT_NOT_FOUND;
    constexpr u32 kBinary = 2;  // NV0000_CTRL_CMD_GPU_GET_UUID_FROM_GPU_ID_FLAGS_FORMAT_BINARY
    if ((params.flags & 3) != kBinary) return NV_ERR_INVALID_ARGUMENT;
    const std::vector<u8>& gid = context_.adapter.info().gid;
    std::copy_n(gid.begin(), std::min(gid.size(), std::size(params.gpuUuid)), params.gpuUuid);
    params.uuidStrLen = static_cast<u32>(gid.size());
    call.write(params);
    return NV_OK;
}

Status ControlUnit::gpu_drain_state(ControlCall& call) {
    auto params = call.read<NV0000_CTRL_GPU_QUERY_DRAIN_STATE_PARAMS>();
    if (params.gpuId != gpu_id()) return NV_ERR_INVALID_ARGUMENT;
    params.drainState = 0;
    params.flags = 0;
    call.write(params);
    return NV_OK;
}

// Both ids of the asynchronous attach, which for one GPU that is there is over at once.
Status ControlUnit::gpu_attach_id(ControlCall& call) {
    std::optional<u32> id = load<u32>(call.params);
    if (id != gpu_id()) return NV_ERR_INVALID_ARGUMENT;
    return NV_OK;
}

Status ControlUnit::gpu_detach_ids(ControlCall& call) {
    auto params = call.read<NV0000_CTRL_GPU_DETACH_IDS_PARAMS>();
    constexpr u32 kDetachAll = 0x0000FFFF;  // NV0000_CTRL_GPU_DETACH_ALL_ATTACHED_IDS
    constexpr u32 kNone = 0xFFFFFFFF;
    if (params.gpuIds[0] == kDetachAll) return NV_OK;
    for (u32 id : params.gpuIds) {
        if (id == kNone) break;
        if (id != gpu_id()) return NV_ERR_INVALID_ARGUMENT;
    }
    return NV_OK;  // the GPU stays while a file or a device uses it
}

// --- device

Status ControlUnit::device_fb_caps(ControlCall& call) {
    std::fill(call.params.begin(), call.params.end(), u8{0});
    for (const Capability& cap : kFbCaps)
        if (cap.byte < call.params.size()) call.params[cap.byte] = static_cast<u8>(call.params[cap.byte] | cap.bit);
    return NV_OK;
}

Status ControlUnit::device_virtualization_mode(ControlCall& call) {
    NV0080_CTRL_GPU_GET_VIRTUALIZATION_MODE_PARAMS params{};
    params.virtualizationMode = NV0080_CTRL_GPU_VIRTUALIZATION_MODE_NONE;
    call.write(params);
    return NV_OK;
}

Status ControlUnit::device_va_caps(ControlCall& call) {
    NV0080_CTRL_DMA_ADV_SCHED_GET_VA_CAPS_PARAMS asked = call.read<NV0080_CTRL_DMA_ADV_SCHED_GET_VA_CAPS_PARAMS>();
    constexpr u32 kVaBits = 49, kPdeBits = 21;  // what one entry of the lowest directory covers: 2 MiB
    asked.vaBitCount = kVaBits;
    asked.pdeCoverageBitCount = kPdeBits;
    asked.num4KPageTableFormats = 1;
    asked.bigPageSize = kPage64K;
    asked.compressionPageSize = kPage64K;
    asked.dualPageTableSupported = 1;
    asked.idealVRAMPageSize = kPage2M;
    asked.vaRangeLo = kVaStart;
    call.write(asked);
    return NV_OK;
}

// The policy of every object of the client that has none of its own.
Status ControlUnit::client_inherited_policy(ControlCall& call) {
    auto params = call.read<NV0000_CTRL_CLIENT_SET_INHERITED_SHARE_POLICY_PARAMS>();
    const RS_SHARE_POLICY& policy = params.sharePolicy;
    Status status = call.object.share({policy.target, policy.accessMask.limbs[0], policy.type, policy.action});
    if (status != NV_OK || policy.type != SharePolicy::kClient) return status;
    // The driver asks for the client that is named only after it took the policy.
    bool named = policy.target == call.client.handle || context_.server.find_client(policy.target) != nullptr;
    return named || (policy.action & SharePolicy::kRevoke) != 0 ? NV_OK : NV_ERR_INVALID_OBJECT_HANDLE;
}

// Counts the device's requests; only the first and the last reach the firmware.
Status ControlUnit::device_cuda_limit(ControlCall& call) {
    DeviceData* device = call.object.as<DeviceData>();
    bool on = !call.params.empty() && call.params[0] != 0;
    if (!on && device->cuda_limit_users == 0) return NV_ERR_INVALID_REQUEST;
    bool before = device->cuda_limit_users != 0;
    device->cuda_limit_users += on ? 1 : u32{0} - 1;
    if (before == (device->cuda_limit_users != 0)) return NV_OK;
    return forward_as(call, NV0080_CTRL_CMD_INTERNAL_PERF_CUDA_LIMIT_SET_CONTROL);
}

// --- subdevice

Status ControlUnit::subdevice_id(ControlCall& call) {
    call.write(NV2080_CTRL_GPU_GET_ID_PARAMS{gpu_id()});
    return NV_OK;
}

Status ControlUnit::subdevice_compute_policy(ControlCall& call) {
    NV2080_CTRL_GPU_GET_COMPUTE_POLICY_CONFIG_PARAMS params{};
    params.numConfigs = 1;  // the timeslice policy, at its default
    call.write(params);
    return NV_OK;
}

Status ControlUnit::subdevice_fabric_probe(ControlCall& call) {
    auto params = call.read<NV2080_CTRL_CMD_GET_GPU_FABRIC_PROBE_INFO_PARAMS>();
    params.state = 0;  // NV2080_CTRL_GPU_FABRIC_PROBE_STATE_UNSUPPORTED: nothing else is written
    call.write(params);
    return NV_OK;
}

Status ControlUnit::subdevice_nvlink_status(ControlCall& call) {
    // Without links the driver clears the masks and leaves the rest.
    auto params = call.read<NV2080_CTRL_CMD_NVLINK_GET_NVLINK_STATUS_PARAMS>();
    params.enabledLinkMask = 0;
    call.write(params);
    return NV_OK;
}

Status ControlUnit::subdevice_perf_boost(ControlCall& call) {
    auto params = call.read<NV2080_CTRL_PERF_BOOST_PARAMS>();
    NV2080_CTRL_INTERNAL_PERF_BOOST_SET_PARAMS_2X told{};
    told.flags = static_cast<NvBool>(params.flags);  // the low byte, as the driver passes on
    told.duration = params.duration;
    std::vector<u8> bytes(sizeof(told));
    store(std::span<u8>(bytes), told);
    ControlCall internal{call.client, call.object, NV2080_CTRL_CMD_INTERNAL_PERF_BOOST_SET_2X, bytes, call.user, call.privileged, true};
    return forward(internal);
}

Status ControlUnit::subdevice_ce_caps(ControlCall& call) {
    return forward_as(call, NV2080_CTRL_CMD_CE_GET_PHYSICAL_CAPS);
}

Status ControlUnit::subdevice_ce_all_caps(ControlCall& call) {
    return forward_as(call, NV2080_CTRL_CMD_CE_GET_ALL_PHYSICAL_CAPS);
}

Status ControlUnit::forward_as(ControlCall& call, u32 cmd) {
    ControlCall internal{call.client, call.object, cmd, call.params, call.user, call.privileged, call.at_root};
    return forward(internal);
}

// The names of processes that use an object of the GPU: none is told to a process. (model)
Status ControlUnit::subdevice_pids(ControlCall& call) {
    auto params = call.read<NV2080_CTRL_GPU_GET_PIDS_PARAMS>();
    params.pidTblCount = 0;
    for (auto& [handle, client] : context_.server.clients()) {
        if (!client.on_gsp || params.pidTblCount == std::size(params.pidTbl)) continue;
        u32* end = params.pidTbl + params.pidTblCount;
        if (std::find(params.pidTbl, end, client.pid) == end) params.pidTbl[params.pidTblCount++] = client.pid;
    }
    call.write(params);
    return NV_OK;
}

// (model) Memory that somebody else copied counts as its owner's private memory.
Status ControlUnit::subdevice_pid_info(ControlCall& call) {
    constexpr u32 kVideoMemoryUsage = 0;  // NV2080_CTRL_GPU_PID_INFO_INDEX_VIDEO_MEMORY_USAGE
    auto params = call.read<NV2080_CTRL_GPU_GET_PID_INFO_PARAMS>();
    if (params.pidInfoListCount == 0 || params.pidInfoListCount > std::size(params.pidInfoList)) return NV_ERR_INVALID_ARGUMENT;
    for (u32 i = 0; i < params.pidInfoListCount; ++i) {
        NV2080_CTRL_GPU_PID_INFO& info = params.pidInfoList[i];
        info.result = info.index == kVideoMemoryUsage ? NV_OK : NV_ERR_INVALID_ARGUMENT;
        if (info.result != NV_OK) continue;
        info.data.vidMemUsage = {};
        for (auto& [handle, client] : context_.server.clients()) {
            if (client.pid != info.pid) continue;
            for (auto& [number, object] : client.objects) {
                const MemoryData* memory = object.as<MemoryData>();
                if (memory == nullptr || memory->place != MemoryData::Place::Video) continue;
                (memory->borrowed ? info.data.vidMemUsage.memSharedDuped : info.data.vidMemUsage.memPrivate) += memory->bytes;
            }
        }
    }
    call.write(params);
    return NV_OK;
}

// Type and buffer size stay the caller's. In place: the struct is too large for a fiber's stack.
Status ControlUnit::subdevice_load_samples(ControlCall& call) {
    constexpr u64 kCount = offsetof(NV2080_CTRL_PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2_PARAMS, count);
    if (call.params.size() < kCount) return NV_ERR_INVALID_PARAM_STRUCT;
    std::fill(call.params.begin() + kCount, call.params.end(), u8{0});
    return NV_OK;
}

// Both controls about secure channels begin with a subdevice; what is told of it is none.
Status ControlUnit::secure_none(ControlCall& call) {
    Object* subdevice = call.client.find(load<u32>(call.params, 0).value_or(0));
    if (subdevice == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    if (subdevice->internal_class() != "Subdevice") return NV_ERR_INVALID_OBJECT_HANDLE;
    std::fill(call.params.begin() + sizeof(u32), call.params.end(), u8{0});
    return NV_OK;
}

}  // namespace rm::client
