// ControlUnit: what a memory object is, and its bytes as a debugger reads them.
// Source: open-gpu-kernel-modules 570.144, mem.c (memCtrlCmdGetSurfaceInfoLvm), kernel_sm_debugger_session_ctrl.c, ctrl0041.h.
#include <algorithm>

#include "rm/abi/all_structs.h"
#include "rm/abi/flags_nvos.h"
#include "rm/client/control_unit.h"

namespace rm::client {

namespace {

// NV0041_CTRL_SURFACE_INFO: an index and its value.
constexpr u64 kSurfaceEntryBytes = 8;
constexpr u32 kSurfaceAttributes = 1;    // NV0041_CTRL_SURFACE_INFO_INDEX_ATTRS
constexpr u32 kSurfaceCompression = 5;   // NV0041_CTRL_SURFACE_INFO_INDEX_COMPR_COVERAGE
constexpr u32 kSurfacePages = 7;         // NV0041_CTRL_SURFACE_INFO_INDEX_PHYS_SIZE, in pages of 4 KiB
constexpr u32 kSurfacePhysical = 8;      // NV0041_CTRL_SURFACE_INFO_INDEX_PHYS_ATTR
constexpr u32 kSurfaceAddressSpace = 9;  // NV0041_CTRL_SURFACE_INFO_INDEX_ADDR_SPACE_TYPE
constexpr u64 kReadChunkBytes = 1u << 20;
constexpr u64 kReadBytesMax = 256u << 20;  // of one call, word by word (model)

// Nothing for an index that has no meaning.
std::optional<u32> surface_value(const MemoryData& memory, u32 index) {
    switch (index) {
        case kSurfaceAttributes:
        case kSurfaceCompression:
        case kSurfacePhysical: return 0;  // of compressed memory alone, of which there is none
        case kSurfacePages: return static_cast<u32>(memory.bytes / kPage4K);
        case kSurfaceAddressSpace: return address_space_type(memory);
        default: return std::nullopt;
    }
}

}  // namespace

u32 address_space_type(const MemoryData& memory) {
    constexpr u32 kSystem = 1, kVideo = 2, kRegisters = 3;  // NV0000_CTRL_CMD_CLIENT_GET_ADDR_SPACE_TYPE_*
    switch (memory.place) {
        case MemoryData::Place::System: return kSystem;
        case MemoryData::Place::Video: return kVideo;
        case MemoryData::Place::Registers: return kRegisters;
    }
    return 0;
}

// The list stands behind a pointer; the first index without meaning ends it, and what came before is told.
Status ControlUnit::memory_surface_info(ControlCall& call) {
    auto params = call.read<NV0041_CTRL_GET_SURFACE_INFO_PARAMS>();
    if (params.surfaceInfoListSize == 0 || params.surfaceInfoList == 0) return NV_OK;
    MemoryData* memory = call.object.as<MemoryData>();
    if (memory == nullptr) return unknown(call);
    // check_embedded_lists() has bounded the list.
    std::vector<u8> list(u64{params.surfaceInfoListSize} * kSurfaceEntryBytes);
    if (!call.user.read(params.surfaceInfoList, list)) return NV_ERR_INVALID_ADDRESS;
    Status status = NV_OK;
    for (u64 at = 0; status == NV_OK && at < list.size(); at += kSurfaceEntryBytes) {
        std::optional<u32> value = surface_value(*memory, *load<u32>(list, at));
        if (!value) status = NV_ERR_INVALID_ARGUMENT;
        else store(std::span<u8>(list), *value, at + sizeof(u32));
    }
    if (!call.user.write(params.surfaceInfoList, list) && status == NV_OK) return NV_ERR_INVALID_ADDRESS;
    return status;
}

// The debugger reads memory of its own client. (model) Bytes move by the driver's window, where silicon would ask a copy engine.
Status ControlUnit::debug_read_memory(ControlCall& call) {
    auto params = call.read<NV83DE_CTRL_DEBUG_READ_MEMORY_PARAMS>();
    Object* object = call.client.find(params.hMemory);
    if (object == nullptr) return NV_ERR_INSUFFICIENT_PERMISSIONS;
    MemoryData* memory = object->as<MemoryData>();
    if (memory == nullptr) return NV_ERR_INVALID_ARGUMENT;
    if (memory->place == MemoryData::Place::Registers) return NV_ERR_INVALID_STATE;
    if (params.length == 0 || params.offset > ~u64{0} - params.length) return NV_ERR_INVALID_ARGUMENT;
    if (params.offset + params.length > memory->bytes) return NV_ERR_INVALID_ARGUMENT;
    if (memory->of_process) return NV_ERR_NOT_SUPPORTED;
    if (params.length > kReadBytesMax) {
        context_.refused("DEBUG_READ_MEMORY of more than 256 MiB", std::to_string(params.length) + " bytes");
        return NV_ERR_INSUFFICIENT_RESOURCES;
    }
    std::vector<u8> chunk;
    for (u64 done = 0; done < params.length; done += chunk.size()) {
        chunk.resize(std::min(kReadChunkBytes, params.length - done));
        if (!channels_.memory().read_memory(*memory, params.offset + done, chunk)) return NV_ERR_INVALID_STATE;
        if (!call.user.write(params.buffer + done, chunk)) return NV_ERR_INVALID_ADDRESS;
    }
    return NV_OK;
}

}  // namespace rm::client
