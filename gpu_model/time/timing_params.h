// Named timing parameters of a board: see timing_params.def for units and the class of evidence behind each value.
#pragma once

#include <span>
#include <string_view>

#include "gpu_model/addresses.h"

namespace gpu {

struct TimingParams {
#define TIMING(name, evidence, t4, rtx2080, rtx5000, off) u64 name = t4;
#include "gpu_model/time/timing_params.def"
#undef TIMING
    bool modelled = true;  // false: the values without timing; results in memory are the same, except times
};

// Precondition: `chip` is a profile name (chip.h).
const TimingParams& timing_for(std::string_view chip, bool modelled = true);

struct TimingRow {
    std::string_view name;
    char evidence;  // 'A', 'B', 'C'
    u64 TimingParams::* member;
};
// Every parameter, for reports and for scaling all uncertain ones at once.
std::span<const TimingRow> timing_rows();

// Time to move `bytes` at `bytes_per_us`, rounded up to a picosecond. Precondition: bytes_per_us > 0.
constexpr SimTime transfer_time(u64 bytes, u64 bytes_per_us) {
    // Whole microseconds first, so that the product below cannot overflow.
    u64 whole_us = bytes / bytes_per_us;
    u64 rest = bytes % bytes_per_us;
    return SimTime::from_us(whole_us) + SimTime{(rest * 1'000'000 + bytes_per_us - 1) / bytes_per_us};
}

}  // namespace gpu
