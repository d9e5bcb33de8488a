// The same engine by its four names: NV2080_ENGINE_TYPE (clients), RM_ENGINE_TYPE (the driver), MC_ENGINE_IDX
// (interrupts), notifier. Source: open-gpu-kernel-modules 570.144, gpu_engine_type.h, engine_idx.h,
// cl2080_notification.h. Engines of TU104 only.
#pragma once

#include <optional>
#include <string_view>

#include "rm/abi/engine_types.h"
#include "rm/abi/notifiers.h"

namespace rm::client {

using namespace sim;

inline constexpr u32 MC_ENGINE_IDX_GSP = 50;

struct EngineName {
    u32 nv2080;
    u32 rm;
    u32 mc;
    u32 notifier;  // event index of the engine's non-stall interrupt
    std::string_view name;
};

inline constexpr u32 kNoNotifier = ~u32{0};

inline constexpr EngineName kEngineNames[] = {
    {abi::NV2080_ENGINE_TYPE_GR0, 1, 84, abi::NV2080_NOTIFIERS_GR0, "GRAPHICS"},
    {abi::NV2080_ENGINE_TYPE_COPY0, 9, 15, abi::NV2080_NOTIFIERS_CE0, "CE0"},
    {abi::NV2080_ENGINE_TYPE_COPY0 + 1, 10, 16, abi::NV2080_NOTIFIERS_CE0 + 1, "CE1"},
    {abi::NV2080_ENGINE_TYPE_COPY0 + 2, 11, 17, abi::NV2080_NOTIFIERS_CE0 + 2, "CE2"},
    {abi::NV2080_ENGINE_TYPE_COPY0 + 3, 12, 18, abi::NV2080_NOTIFIERS_CE0 + 3, "CE3"},
    {abi::NV2080_ENGINE_TYPE_COPY0 + 4, 13, 19, abi::NV2080_NOTIFIERS_CE0 + 4, "CE4"},
    {abi::NV2080_ENGINE_TYPE_NVDEC0, 29, 65, kNoNotifier, "NVDEC0"},
    {abi::NV2080_ENGINE_TYPE_NVDEC1, 30, 66, kNoNotifier, "NVDEC1"},
    {abi::NV2080_ENGINE_TYPE_NVENC0, 37, 38, kNoNotifier, "NVENC0"},
    {abi::NV2080_ENGINE_TYPE_SEC2, 49, 47, kNoNotifier, "SEC2"},
};

inline const EngineName* engine_by_nv2080(u32 type) {
    for (const EngineName& row : kEngineNames)
        if (row.nv2080 == type) return &row;
    return nullptr;
}
inline const EngineName* engine_by_rm(u32 type) {
    for (const EngineName& row : kEngineNames)
        if (row.rm == type) return &row;
    return nullptr;
}
inline const EngineName* engine_by_mc(u32 index) {
    for (const EngineName& row : kEngineNames)
        if (row.mc == index) return &row;
    return nullptr;
}

}  // namespace rm::client
