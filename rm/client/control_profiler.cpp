// ControlUnit: what profilers ask: performance monitors, registers, flushes. Who holds the monitors is kept by the firmware
// (rm/gsp/controls_profiler.cpp).
// Source: open-gpu-kernel-modules 570.144, kern_profiler_v2_ctrl.c, mem.c (memRegisterWithGsp), subdevice_ctrl_gpu_regops.c, gpu_access.c
// (gpuValidateRegOffset), kern_mem_sys_ctrl.c, kern_mem_sys_gm200.c.
#include "rm/abi/all_structs.h"
#include "rm/client/control_unit.h"

namespace rm::client {

namespace {

using NV2080_CTRL_FB_FLUSH_GPU_CACHE_FLAGS_APERTURE = Field<1, 0>;
using NV2080_CTRL_FB_FLUSH_GPU_CACHE_FLAGS_WRITE_BACK = Field<2, 2>;
using NV2080_CTRL_FB_FLUSH_GPU_CACHE_FLAGS_INVALIDATE = Field<3, 3>;
using NV2080_CTRL_FB_FLUSH_GPU_CACHE_FLAGS_FLUSH_MODE = Field<4, 4>;
constexpr u32 kApertureVideo = 0, kAperturePeer = 2;
constexpr u32 kFullCache = 1;  // NV2080_CTRL_FB_FLUSH_GPU_CACHE_FLAGS_FLUSH_MODE_FULL_CACHE
constexpr u8 NV2080_CTRL_GPU_REG_OP_STATUS_INVALID_OFFSET = 0x04;
constexpr u64 kRegOpsMax = u64{1} << 15;  // what fits into a list (embedded_lists.cpp)

}  // namespace

// What L2 holds is always what memory holds, so that only the statuses are left; the flush to memory has none of its own.
Status ControlUnit::subdevice_flush_cache(ControlCall& call) {
    const auto params = call.read<NV2080_CTRL_FB_FLUSH_GPU_CACHE_PARAMS>();
    const bool write_back = NV2080_CTRL_FB_FLUSH_GPU_CACHE_FLAGS_WRITE_BACK::get(params.flags) != 0;
    const bool invalidate = NV2080_CTRL_FB_FLUSH_GPU_CACHE_FLAGS_INVALIDATE::get(params.flags) != 0;
    if (!write_back && !invalidate) return NV_OK;
    const u32 aperture = NV2080_CTRL_FB_FLUSH_GPU_CACHE_FLAGS_APERTURE::get(params.flags);
    if (aperture > kAperturePeer) return NV_ERR_INVALID_ARGUMENT;
    if (NV2080_CTRL_FB_FLUSH_GPU_CACHE_FLAGS_FLUSH_MODE::get(params.flags) == kFullCache)
        return aperture == kApertureVideo && !invalidate ? NV_ERR_NOT_SUPPORTED : NV_OK;
    const bool legal = params.addressArraySize != 0 && params.addressArraySize <= std::size(params.addressArray) &&
                       params.memBlockSizeBytes != 0;
    return legal ? NV_ERR_GENERIC : NV_ERR_INVALID_ARGUMENT;  // the driver does no list, and says it in this way
}

// Two controls have had the number: the memory is ready once the GPU is up; it is never encrypted.
Status ControlUnit::subdevice_fb_status(ControlCall& call) {
    constexpr u32 NV2080_CTRL_FB_STATUS_READY = 1, kNotSupported = 0;
    const bool asks_for_encryption = !control_bytes(context_.version, NV2080_CTRL_CMD_FB_QUERY_DRAM_ENCRYPTION_STATUS);
    call.write(asks_for_encryption ? kNotSupported : NV2080_CTRL_FB_STATUS_READY);
    return NV_OK;
}

Status ControlUnit::subdevice_reg_ops(ControlCall& call) {
    const auto params = call.read<NV2080_CTRL_GPU_EXEC_REG_OPS_PARAMS>();
    if (params.regOpCount == 0 || params.regOps == 0) return NV_ERR_INVALID_PARAM_STRUCT;
    if ((params.hClientTarget == 0) != (params.hChannelTarget == 0)) return NV_ERR_INVALID_PARAM_STRUCT;
    if (params.regOpCount > kRegOpsMax) return NV_ERR_INVALID_ARGUMENT;
    std::vector<u8> ops(params.regOpCount * sizeof(NV2080_CTRL_GPU_REG_OP));
    if (!call.user.read(params.regOps, ops)) return NV_ERR_INVALID_ADDRESS;
    const u64 last = context_.adapter.pci().registers().bytes - sizeof(u32);
    bool any_valid = false;
    for (u32 i = 0; i < params.regOpCount; ++i) {
        std::span<u8> place = std::span<u8>(ops).subspan(i * sizeof(NV2080_CTRL_GPU_REG_OP), sizeof(NV2080_CTRL_GPU_REG_OP));
        auto op = load_prefix<NV2080_CTRL_GPU_REG_OP>(place);
        op.regStatus = 0;
        // The firmware's map of registers that a user may touch is empty.
        const bool valid = call.privileged && op.regOffset <= last;
        any_valid = any_valid || valid;
        if (!valid) op.regStatus = NV2080_CTRL_GPU_REG_OP_STATUS_INVALID_OFFSET;
        if (!valid && params.bNonTransactional == 0) return NV_ERR_INVALID_ARGUMENT;
        store(place, op);
    }
    if (any_valid) {
        context_.refused("register operations of an administrator", "RPC GPU_EXEC_REG_OPS");
        return NV_ERR_NOT_SUPPORTED;
    }
    return call.user.write(params.regOps, ops) ? NV_OK : NV_ERR_INVALID_ADDRESS;
}

Status ControlUnit::profiler_reserve_hwpm(ControlCall& call) {
    return forward_as(call, NVB0CC_CTRL_CMD_INTERNAL_RESERVE_HWPM_LEGACY);
}

// The firmware learns of both pieces of memory first; without them there is nothing to stream to.
Status ControlUnit::profiler_alloc_stream(ControlCall& call) {
    const auto params = call.read<NVB0CC_CTRL_ALLOC_PMA_STREAM_PARAMS>();
    for (NvHandle handle : {params.hMemPmaBuffer, params.hMemPmaBytesAvailable}) {
        Object* object = call.client.find(handle);
        if (object == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
        if (object->as<VirtualMemoryData>() != nullptr) return NV_ERR_INVALID_STATE;
        const MemoryData* memory = object->as<MemoryData>();
        if (memory == nullptr) return NV_ERR_INVALID_OBJECT;
        if (memory->place == MemoryData::Place::Registers) return NV_ERR_INVALID_STATE;
    }
    NVB0CC_CTRL_INTERNAL_ALLOC_PMA_STREAM_PARAMS internal{};
    internal.hMemPmaBuffer = params.hMemPmaBuffer;
    internal.pmaBufferOffset = params.pmaBufferOffset;
    internal.pmaBufferSize = params.pmaBufferSize;
    internal.hMemPmaBytesAvailable = params.hMemPmaBytesAvailable;
    internal.pmaBytesAvailableOffset = params.pmaBytesAvailableOffset;
    internal.ctxsw = params.ctxsw;
    internal.pmaChannelIdx = params.pmaChannelIdx;
    internal.pmaBufferVA = params.pmaBufferVA;
    std::vector<u8> bytes(sizeof(internal));
    store(std::span<u8>(bytes), internal);
    ControlCall inner{call.client, call.object, NVB0CC_CTRL_CMD_INTERNAL_ALLOC_PMA_STREAM, bytes, call.user, call.privileged, true};
    return forward(inner);
}

Status ControlUnit::profiler_free_stream(ControlCall& call) { return forward_as(call, NVB0CC_CTRL_CMD_INTERNAL_FREE_PMA_STREAM); }
Status ControlUnit::profiler_bind(ControlCall& call) { return forward_as(call, NVB0CC_CTRL_CMD_INTERNAL_BIND_PM_RESOURCES); }
Status ControlUnit::profiler_unbind(ControlCall& call) { return forward_as(call, NVB0CC_CTRL_CMD_INTERNAL_UNBIND_PM_RESOURCES); }

}  // namespace rm::client
