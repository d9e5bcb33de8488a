// Expands timing_params.def.
#include "gpu_model/time/timing_params.h"

#include "sim/check.h"

namespace gpu {

namespace {

// Values of the column `off`.
constexpr u64 kAsOnBoard = 0;
constexpr u64 kInstantly = u64{1} << 40;

struct Profile {
    std::string_view name;
    TimingParams on;
    TimingParams off;
};

constexpr TimingParams without_timing(TimingParams params) {
    params.modelled = false;
#define TIMING(name, evidence, t4, rtx2080, rtx5000, off) \
    if constexpr (off != kAsOnBoard) params.name = off;
#include "gpu_model/time/timing_params.def"
#undef TIMING
    return params;
}

constexpr TimingParams kT4{
#define TIMING(name, evidence, t4, rtx2080, rtx5000, off) .name = t4,
#include "gpu_model/time/timing_params.def"
#undef TIMING
};
constexpr TimingParams kRtx2080{
#define TIMING(name, evidence, t4, rtx2080, rtx5000, off) .name = rtx2080,
#include "gpu_model/time/timing_params.def"
#undef TIMING
};
constexpr TimingParams kRtx5000{
#define TIMING(name, evidence, t4, rtx2080, rtx5000, off) .name = rtx5000,
#include "gpu_model/time/timing_params.def"
#undef TIMING
};

constexpr Profile kProfiles[] = {
    {"t4", kT4, without_timing(kT4)},
    {"rtx2080", kRtx2080, without_timing(kRtx2080)},
    {"rtx5000", kRtx5000, without_timing(kRtx5000)},
};

}  // namespace

const TimingParams& timing_for(std::string_view chip, bool modelled) {
    for (const Profile& profile : kProfiles) {
        if (profile.name == chip) return modelled ? profile.on : profile.off;
    }
    SIM_CHECK(false && "chip profile without timing parameters", chip);
    return kProfiles[0].on;
}

std::span<const TimingRow> timing_rows() {
    static constexpr TimingRow kRows[] = {
#define TIMING(name, evidence, t4, rtx2080, rtx5000, off) {#name, #evidence[0], &TimingParams::name},
#include "gpu_model/time/timing_params.def"
#undef TIMING
    };
    return kRows;
}

}  // namespace gpu
