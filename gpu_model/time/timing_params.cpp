// Expands timing_params.def.
#include "gpu_model/time/timing_params.h"

#include <array>
#include <utility>

#include "sim/check.h"

namespace gpu {

const TimingParams& timing_for(std::string_view chip) {
    static constexpr std::pair<std::string_view, TimingParams> kProfiles[] = {
#define TIMING(name, evidence, t4, rtx2080, rtx5000) .name = t4,
        {"t4", TimingParams{
#include "gpu_model/time/timing_params.def"
               }},
#undef TIMING
#define TIMING(name, evidence, t4, rtx2080, rtx5000) .name = rtx2080,
        {"rtx2080", TimingParams{
#include "gpu_model/time/timing_params.def"
                    }},
#undef TIMING
#define TIMING(name, evidence, t4, rtx2080, rtx5000) .name = rtx5000,
        {"rtx5000", TimingParams{
#include "gpu_model/time/timing_params.def"
                    }},
#undef TIMING
    };
    for (const auto& [name, params] : kProfiles) {
        if (name == chip) return params;
    }
    SIM_CHECK(false && "chip profile without timing parameters", chip);
    return kProfiles[0].second;
}

std::span<const TimingRow> timing_rows() {
    static constexpr TimingRow kRows[] = {
#define TIMING(name, evidence, t4, rtx2080, rtx5000) {#name, #evidence[0], &TimingParams::name},
#include "gpu_model/time/timing_params.def"
#undef TIMING
    };
    return kRows;
}

}  // namespace gpu
