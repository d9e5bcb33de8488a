// Reading and checking a QMD.
#include "gpu_model/engine/compute/qmd.h"

#include <fmt/format.h>

#include <algorithm>

namespace gpu {
namespace {

constexpr QmdRow kRows[] = {
#define QMD_FIELD(name, hi, lo, stride, versions, use) {#name, hi, lo, stride, QmdVersions::versions, QmdUse::use},
#include "gpu_model/engine/compute/qmd.def"
#undef QMD_FIELD
};

constexpr bool fields_fit() {
    for (const QmdRow& row : kRows) {
        if (row.hi < row.lo || row.hi / 32 != row.lo / 32 || row.hi >= Qmd::kBytes * 8) return false;
    }
    return true;
}
static_assert(fields_fit(), "a field of qmd.def crosses a word or the end");

constexpr u32 mask_of(const QmdRow& row) {
    const u32 bits = u32{row.hi} - row.lo + 1;
    return bits == 32 ? ~u32{0} : (u32{1} << bits) - 1;
}

constexpr u32 kMajorVersion = 2, kMinorOldest = 2, kMinorNewest = 3;
constexpr u32 kThreadsMax = 1024, kRegistersPerSm = 65536, kWarpLanes = 32;
constexpr u32 kSharedUnit = 256, kSharedMax = 65536, kLocalUnit = 16, kLocalMax = 512 * 1024;
constexpr u32 kConstantBytesMax = 65536, kProgramAlign = 16;
constexpr u32 kRegisterUnit = 8;  // registers per thread: 256 per warp

// Bits of NV_PGRAPH_PRI_SKED_HWW_ESR that the model raises, with the names of their checks.
struct SkedBit {
    u32 bit;
    std::string_view name;
};
constexpr SkedBit kConstantBufferSize{7, "CONSTANT_BUFFER_SIZE"}, kLocalLow{9, "LOCAL_MEMORY_LOW_SIZE"},
    kLocalHigh{10, "LOCAL_MEMORY_HIGH_SIZE"}, kLocalTotal{12, "LOCAL_MEMORY_TOTAL_SIZE"},
    kRegisterCount{13, "REGISTER_COUNT"}, kTotalThreads{18, "TOTAL_THREADS"}, kProgram{20, "PROGRAM_OFFSET"},
    kShared{21, "SHARED_MEMORY_SIZE"}, kDimensionZero{23, "CTA_THREAD_DIMENSION_ZERO"},
    kWindowOverlap{24, "MEMORY_WINDOW_OVERLAP"}, kL1Config{25, "L1_CONFIG_TOO_SMALL"},
    kRegisterUse{26, "CTA_REGISTER_CONSUMPTION"};

u64 wide(const Qmd& qmd, QmdField lower, QmdField upper, u32 index = 0) {
    return u64{qmd.get(upper, index)} << 32 | qmd.get(lower, index);
}

u32 constant_bytes(const Qmd& qmd, u32 index) {
    constexpr u32 shift = 4;
    return qmd.get(QmdField::CONSTANT_BUFFER_SIZE_SHIFTED4, index) << shift;
}

std::array<u32, 3> block_of(const Qmd& qmd) {
    return {qmd.get(QmdField::CTA_THREAD_DIMENSION0), qmd.get(QmdField::CTA_THREAD_DIMENSION1),
            qmd.get(QmdField::CTA_THREAD_DIMENSION2)};
}

constexpr u32 kDependentGrid = 1;  // DEPENDENT_QMD_TYPE

}  // namespace

std::span<const QmdRow> qmd_rows() {
    return kRows;
}
const QmdRow& row_of(QmdField field) {
    return kRows[static_cast<std::size_t>(field)];
}

u32 Qmd::get(QmdField field, u32 index) const {
    const QmdRow& row = row_of(field);
    const u32 lo = row.lo + index * row.stride;
    return words[lo / 32 % kWords] >> lo % 32 & mask_of(row);
}

void Qmd::set(QmdField field, u32 value, u32 index) {
    const QmdRow& row = row_of(field);
    const u32 lo = row.lo + index * row.stride;
    u32& word = words[lo / 32 % kWords];
    word = (word & ~(mask_of(row) << lo % 32)) | (value & mask_of(row)) << lo % 32;
}

std::string QmdError::describe() const {
    const std::string place = fmt::format("QMD {} = 0x{:x}", row_of(field).name, value);
    return check.empty() ? place + " is not modelled" : fmt::format("{}: SKED {}", place, check);
}

std::optional<QmdError> check_qmd(const Qmd& qmd, const MemoryWindows& windows) {
    using enum QmdField;
    const auto wrong = [&](QmdField field, SkedBit bit, u32 index = 0) {
        return QmdError{field, qmd.get(field, index), bit.bit, bit.name};
    };
    const auto missing = [&](QmdField field) { return QmdError{field, qmd.get(field), 0, {}}; };
    const u32 minor = qmd.get(QMD_VERSION);
    if (qmd.get(QMD_MAJOR_VERSION) != kMajorVersion) return missing(QMD_MAJOR_VERSION);
    if (minor < kMinorOldest || minor > kMinorNewest) return missing(QMD_VERSION);
    for (std::size_t i = 0; i < std::size(kRows); ++i) {
        const QmdField field = static_cast<QmdField>(i);
        if (kRows[i].use == QmdUse::Refused && qmd.get(field) != 0) return missing(field);
    }
    if (qmd.get(DEPENDENT_QMD_SCHEDULE_ENABLE) != 0) {
        if (qmd.get(DEPENDENT_QMD_TYPE) != kDependentGrid) return missing(DEPENDENT_QMD_TYPE);
        if (qmd.get(DEPENDENT_QMD_FIELD_COPY) != 0) return missing(DEPENDENT_QMD_FIELD_COPY);
    }
    for (u32 i = 0; i < Qmd::kConstantBuffers; ++i) {
        if (qmd.get(CONSTANT_BUFFER_VALID, i) != 0 && constant_bytes(qmd, i) > kConstantBytesMax)
            return wrong(CONSTANT_BUFFER_SIZE_SHIFTED4, kConstantBufferSize, i);
    }
    const u32 low = qmd.get(SHADER_LOCAL_MEMORY_LOW_SIZE), high = qmd.get(SHADER_LOCAL_MEMORY_HIGH_SIZE);
    if (low % kLocalUnit != 0) return wrong(SHADER_LOCAL_MEMORY_LOW_SIZE, kLocalLow);
    if (high % kLocalUnit != 0) return wrong(SHADER_LOCAL_MEMORY_HIGH_SIZE, kLocalHigh);
    if (u64{low} + high > kLocalMax) return wrong(SHADER_LOCAL_MEMORY_HIGH_SIZE, kLocalTotal);
    const u32 registers = qmd.get(REGISTER_COUNT_V);
    if (registers == 0 || registers > sm::kRegistersMax) return wrong(REGISTER_COUNT_V, kRegisterCount);
    const std::array<u32, 3> block = block_of(qmd);
    constexpr QmdField dimensions[] = {CTA_THREAD_DIMENSION0, CTA_THREAD_DIMENSION1, CTA_THREAD_DIMENSION2};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (block[axis] == 0) return wrong(dimensions[axis], kDimensionZero);
    }
    const u64 threads = u64{block[0]} * block[1] * block[2];
    if (threads > kThreadsMax) {
        const auto widest = std::max_element(block.begin(), block.end()) - block.begin();
        return wrong(dimensions[widest], kTotalThreads);
    }
    if (qmd.get(PROGRAM_ADDRESS_LOWER) % kProgramAlign != 0) return wrong(PROGRAM_ADDRESS_LOWER, kProgram);
    const u32 shared = qmd.get(SHARED_MEMORY_SIZE);
    if (shared % kSharedUnit != 0 || shared > kSharedMax) return wrong(SHARED_MEMORY_SIZE, kShared);
    // Codes count 4 KiB and are one too high; zero says nothing.
    constexpr u32 config_unit = 4096;
    const u32 config = qmd.get(MAX_SM_CONFIG_SHARED_MEM_SIZE);
    if (config != 0 && shared > (config - 1) * config_unit) return wrong(MAX_SM_CONFIG_SHARED_MEM_SIZE, kL1Config);
    const u64 warps = (threads + kWarpLanes - 1) / kWarpLanes;
    const u64 per_thread = (registers + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
    if (warps * kWarpLanes * per_thread > kRegistersPerSm) return wrong(REGISTER_COUNT_V, kRegisterUse);
    const u64 apart = windows.shared > windows.local ? windows.shared - windows.local : windows.local - windows.shared;
    if (apart < sm::kWindowBytes && (windows.shared | windows.local) != 0)
        return wrong(SHARED_MEMORY_SIZE, kWindowOverlap);
    return std::nullopt;
}

sm::KernelLaunch make_launch(const Qmd& qmd, const MemoryWindows& windows, u32 sm_count) {
    using enum QmdField;
    sm::KernelLaunch launch;
    launch.entry = wide(qmd, PROGRAM_ADDRESS_LOWER, PROGRAM_ADDRESS_UPPER);
    launch.grid = {qmd.get(CTA_RASTER_WIDTH), qmd.get(CTA_RASTER_HEIGHT), qmd.get(CTA_RASTER_DEPTH)};
    launch.block = block_of(qmd);
    launch.registers = qmd.get(REGISTER_COUNT_V);
    // Code that names no barrier count still uses barrier 0.
    launch.barriers = std::clamp(qmd.get(BARRIER_COUNT), u32{1}, sm::kBarriersMax);
    launch.shared_bytes = qmd.get(SHARED_MEMORY_SIZE);
    launch.local_low_bytes = qmd.get(SHADER_LOCAL_MEMORY_LOW_SIZE);
    launch.local_high_bytes = qmd.get(SHADER_LOCAL_MEMORY_HIGH_SIZE);
    launch.shared_window = windows.shared;
    launch.local_window = windows.local;
    launch.textures = windows.textures;
    launch.sm_count = sm_count;
    for (u32 i = 0; i < Qmd::kConstantBuffers; ++i) {
        if (qmd.get(CONSTANT_BUFFER_VALID, i) == 0) continue;
        launch.banks[i] = {wide(qmd, CONSTANT_BUFFER_ADDR_LOWER, CONSTANT_BUFFER_ADDR_UPPER, i),
                           constant_bytes(qmd, i)};
    }
    return launch;
}

std::optional<u64> dependent_of(const Qmd& qmd) {
    using enum QmdField;
    constexpr u32 qmd_shift = 8;
    if (qmd.get(DEPENDENT_QMD_SCHEDULE_ENABLE) == 0) return std::nullopt;
    return u64{qmd.get(DEPENDENT_QMD_POINTER)} << qmd_shift;
}

std::optional<QmdRelease> release_of(const Qmd& qmd, u32 index) {
    using enum QmdField;
    const bool first = index == 0;
    if (qmd.get(first ? SEMAPHORE_RELEASE_ENABLE0 : SEMAPHORE_RELEASE_ENABLE1) == 0) return std::nullopt;
    QmdRelease release;
    release.va = first ? wide(qmd, RELEASE0_ADDRESS_LOWER, RELEASE0_ADDRESS_UPPER)
                       : wide(qmd, RELEASE1_ADDRESS_LOWER, RELEASE1_ADDRESS_UPPER);
    release.payload = qmd.get(first ? RELEASE0_PAYLOAD : RELEASE1_PAYLOAD);
    release.one_word = qmd.get(first ? RELEASE0_STRUCTURE_SIZE : RELEASE1_STRUCTURE_SIZE) != 0;
    release.reduces = qmd.get(first ? RELEASE0_REDUCTION_ENABLE : RELEASE1_REDUCTION_ENABLE) != 0;
    release.reduction_op = qmd.get(first ? RELEASE0_REDUCTION_OP : RELEASE1_REDUCTION_OP);
    release.reduction_signed = qmd.get(first ? RELEASE0_REDUCTION_FORMAT : RELEASE1_REDUCTION_FORMAT) == 1;
    return release;
}

}  // namespace gpu
