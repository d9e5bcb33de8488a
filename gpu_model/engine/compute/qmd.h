// The Queue Meta Data that describes a launch: its fields, and the scheduler's checks of them.
// Source: clc5c0qmd.h, clc4c0qmd.h; checks: SKED error status of the pri_sked manual of TU104.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gpu_model/addresses.h"
#include "gpu_model/sm/launch.h"

namespace gpu {

// One per row of qmd.def, of either version.
enum class QmdField : u8 {
#define QMD_FIELD(name, ...) name,
#include "gpu_model/engine/compute/qmd.def"
#undef QMD_FIELD
};

enum class QmdVersions : u8 { V22 = 1, V23 = 2, Both = 3 };
enum class QmdUse : u8 { Used, Hint, Refused, Unread, Scratch, Reserved };

struct QmdRow {
    std::string_view name;
    u16 hi, lo;
    u16 stride;  // bits; 0: one field
    QmdVersions versions;
    QmdUse use;
};
std::span<const QmdRow> qmd_rows();
const QmdRow& row_of(QmdField field);

class Qmd {
public:
    static constexpr u32 kBytes = 256;
    static constexpr u32 kWords = kBytes / 4;
    static constexpr u32 kConstantBuffers = 8;

    std::array<u32, kWords> words{};

    u32 get(QmdField field, u32 index = 0) const;
    void set(QmdField field, u32 value, u32 index = 0);
};

// What the scheduler finds wrong with a launch.
struct QmdError {
    QmdField field{};
    u32 value = 0;
    u32 sked_bit = 0;        // of NV_PGRAPH_PRI_SKED_HWW_ESR
    std::string_view check;  // name of that bit; empty: the field asks for what nobody models
    std::string describe() const;
};

// The windows of generic addresses, the pools of textures and the trap handler, from the class's state.
struct MemoryWindows {
    u64 shared = 0, local = 0;
    sm::TexturePools textures{};
    u64 trap_handler = 0;  // 0: none
};

// The first check that fails, or none.
std::optional<QmdError> check_qmd(const Qmd& qmd, const MemoryWindows& windows);
// The launch that a checked QMD describes. sm_count: of the board.
sm::KernelLaunch make_launch(const Qmd& qmd, const MemoryWindows& windows, u32 sm_count);

// Virtual address of the QMD that is scheduled when this one's grid is over, if any.
std::optional<u64> dependent_of(const Qmd& qmd);

// One of the two semaphores that are written when the grid is over.
struct QmdRelease {
    u64 va = 0;
    u32 payload = 0;
    bool one_word = false;
    bool reduces = false;
    u32 reduction_op = 0;
    bool reduction_signed = false;
};
std::optional<QmdRelease> release_of(const Qmd& qmd, u32 index);

}  // namespace gpu
