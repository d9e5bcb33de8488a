// ControlUnit: NV50_THIRD_PARTY_P2P, by which a client announces video memory to other drivers of the computer (network cards). The
// machine has none, so announcements are checked, kept and withdrawn. Source: open-gpu-kernel-modules 570.144, third_party_p2p_ctrl.c.
#include <algorithm>

#include "rm/abi/all_structs.h"
#include "rm/client/control_unit.h"

namespace rm::client {

namespace {

constexpr u64 kPeerPageBytes = 0x10000;  // NVRM_P2P_PAGESIZE_BIG_64K
constexpr u32 kFirstToken = 0xFE00;      // Observed: 580.159.04. Guess: what the number is made of

bool aligned(u64 value) {
    return value % kPeerPageBytes == 0;
}

}  // namespace

Status ControlUnit::peer_register_va_space(ControlCall& call) {
    ThirdPartyData* peer = call.object.as<ThirdPartyData>();
    auto params = call.read<NV503C_CTRL_REGISTER_VA_SPACE_PARAMS>();
    Object* space = call.client.find(params.hVASpace);
    if (space == nullptr || space->as<VaSpaceData>() == nullptr) return NV_ERR_INVALID_OBJECT_HANDLE;
    if (std::find(peer->va_spaces.begin(), peer->va_spaces.end(), params.hVASpace) != peer->va_spaces.end())
        return NV_ERR_INSERT_DUPLICATE_NAME;
    params.vaSpaceToken = kFirstToken + peer->va_spaces.size();
    peer->va_spaces.push_back(params.hVASpace);
    call.write(params);
    return NV_OK;
}

Status ControlUnit::peer_register_memory(ControlCall& call) {
    ThirdPartyData* peer = call.object.as<ThirdPartyData>();
    auto params = call.read<NV503C_CTRL_REGISTER_VIDMEM_PARAMS>();
    Object* object = call.client.find(params.hMemory);
    if (object == nullptr) return NV_ERR_OBJECT_NOT_FOUND;
    MemoryData* memory = object->as<MemoryData>();
    if (memory == nullptr) return NV_ERR_INVALID_OBJECT_HANDLE;
    if (memory->place != MemoryData::Place::Video) return NV_ERR_NOT_SUPPORTED;
    if (params.size == 0 || !aligned(params.size) || !aligned(params.address) || !aligned(params.offset))
        return NV_ERR_INVALID_ARGUMENT;
    if (params.address > ~u64{0} - params.size || params.offset > memory->bytes || params.size > memory->bytes - params.offset)
        return NV_ERR_INVALID_ARGUMENT;
    if (std::find(peer->memories.begin(), peer->memories.end(), params.hMemory) != peer->memories.end())
        return NV_ERR_INSERT_DUPLICATE_NAME;
    peer->memories.push_back(params.hMemory);
    return NV_OK;
}

Status ControlUnit::peer_unregister_memory(ControlCall& call) {
    ThirdPartyData* peer = call.object.as<ThirdPartyData>();
    auto params = call.read<NV503C_CTRL_UNREGISTER_VIDMEM_PARAMS>();
    return std::erase(peer->memories, params.hMemory) != 0 ? NV_OK : NV_ERR_OBJECT_NOT_FOUND;
}

}  // namespace rm::client
