// The same engine by its four names: NV2080_ENGINE_TYPE (clients), RM_ENGINE_TYPE (the driver), MC_ENGINE_IDX
// (interrupts), notifier. Source: open-gpu-kernel-modules 570.144, gpu_engine_type.h, engine_idx.h,
// cl2080_notification.h. Engines of TU104, and those that an engine list may add.
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
    {abi::NV2080_ENGINE_TYPE_COPY1, 10, 16, abi::NV2080_NOTIFIERS_CE1, "CE1"},
    {abi::NV2080_ENGINE_TYPE_COPY2, 11, 17, abi::NV2080_NOTIFIERS_CE2, "CE2"},
    {abi::NV2080_ENGINE_TYPE_COPY3, 12, 18, abi::NV2080_NOTIFIERS_CE3, "CE3"},
    {abi::NV2080_ENGINE_TYPE_COPY4, 13, 19, abi::NV2080_NOTIFIERS_CE4, "CE4"},
    {abi::NV2080_ENGINE_TYPE_COPY5, 14, 20, abi::NV2080_NOTIFIERS_CE5, "CE5"},
    {abi::NV2080_ENGINE_TYPE_COPY6, 15, 21, abi::NV2080_NOTIFIERS_CE6, "CE6"},
    {abi::NV2080_ENGINE_TYPE_COPY7, 16, 22, abi::NV2080_NOTIFIERS_CE7, "CE7"},
    {abi::NV2080_ENGINE_TYPE_COPY8, 17, 23, abi::NV2080_NOTIFIERS_CE8, "CE8"},
    {abi::NV2080_ENGINE_TYPE_COPY9, 18, 24, abi::NV2080_NOTIFIERS_CE9, "CE9"},
    {abi::NV2080_ENGINE_TYPE_COPY10, 19, 25, abi::NV2080_NOTIFIERS_CE10, "CE10"},
    {abi::NV2080_ENGINE_TYPE_COPY11, 20, 26, abi::NV2080_NOTIFIERS_CE11, "CE11"},
    {abi::NV2080_ENGINE_TYPE_COPY12, 21, 27, abi::NV2080_NOTIFIERS_CE12, "CE12"},
    {abi::NV2080_ENGINE_TYPE_COPY13, 22, 28, abi::NV2080_NOTIFIERS_CE13, "CE13"},
    {abi::NV2080_ENGINE_TYPE_COPY14, 23, 29, abi::NV2080_NOTIFIERS_CE14, "CE14"},
    {abi::NV2080_ENGINE_TYPE_COPY15, 24, 30, abi::NV2080_NOTIFIERS_CE15, "CE15"},
    {abi::NV2080_ENGINE_TYPE_NVDEC0, 29, 65, kNoNotifier, "NVDEC0"},
    {abi::NV2080_ENGINE_TYPE_NVDEC1, 30, 66, kNoNotifier, "NVDEC1"},
    {abi::NV2080_ENGINE_TYPE_NVDEC2, 31, 67, kNoNotifier, "NVDEC2"},
    {abi::NV2080_ENGINE_TYPE_NVDEC3, 32, 68, kNoNotifier, "NVDEC3"},
    {abi::NV2080_ENGINE_TYPE_NVDEC4, 33, 69, kNoNotifier, "NVDEC4"},
    {abi::NV2080_ENGINE_TYPE_NVDEC5, 34, 70, kNoNotifier, "NVDEC5"},
    {abi::NV2080_ENGINE_TYPE_NVDEC6, 35, 71, kNoNotifier, "NVDEC6"},
    {abi::NV2080_ENGINE_TYPE_NVDEC7, 36, 72, kNoNotifier, "NVDEC7"},
    {abi::NV2080_ENGINE_TYPE_NVENC0, 37, 38, kNoNotifier, "NVENC0"},
    {abi::NV2080_ENGINE_TYPE_NVENC1, 38, 39, kNoNotifier, "NVENC1"},
    {abi::NV2080_ENGINE_TYPE_NVENC2, 39, 40, kNoNotifier, "NVENC2"},
    {abi::NV2080_ENGINE_TYPE_NVJPEG0, 54, 51, kNoNotifier, "NVJPEG0"},
    {abi::NV2080_ENGINE_TYPE_NVJPEG1, 55, 52, kNoNotifier, "NVJPEG1"},
    {abi::NV2080_ENGINE_TYPE_NVJPEG2, 56, 53, kNoNotifier, "NVJPEG2"},
    {abi::NV2080_ENGINE_TYPE_NVJPEG3, 57, 54, kNoNotifier, "NVJPEG3"},
    {abi::NV2080_ENGINE_TYPE_NVJPEG4, 58, 55, kNoNotifier, "NVJPEG4"},
    {abi::NV2080_ENGINE_TYPE_NVJPEG5, 59, 56, kNoNotifier, "NVJPEG5"},
    {abi::NV2080_ENGINE_TYPE_NVJPEG6, 60, 57, kNoNotifier, "NVJPEG6"},
    {abi::NV2080_ENGINE_TYPE_NVJPEG7, 61, 58, kNoNotifier, "NVJPEG7"},
    {abi::NV2080_ENGINE_TYPE_SEC2, 49, 47, kNoNotifier, "SEC2"},
};

// NV2080_ENGINE_TYPE_COPY(i): COPY10 and above have numbers of their own, apart from the others.
inline constexpr u32 copy_engine_type(u32 instance) {
    constexpr u32 kFirstLate = 10;
    return instance < kFirstLate ? abi::NV2080_ENGINE_TYPE_COPY0 + instance : abi::NV2080_ENGINE_TYPE_COPY10 + instance - kFirstLate;
}

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
