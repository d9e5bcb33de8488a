// ControlUnit: the GPU's clock, alone and beside the processor's.
// Source: open-gpu-kernel-modules 570.144, subdevice_ctrl_timer_kernel.c, timer_gm107.c, ctrl2080tmr.h.
#include "rm/abi/all_structs.h"
#include "rm/client/control_unit.h"
#include "rm/host_clock.h"

namespace rm::client {

namespace {

using NV2080_TIMER_GPU_CPU_TIME_CPU_CLK_ID_SOURCE = Field<3, 0>;
using NV2080_TIMER_GPU_CPU_TIME_CPU_CLK_ID_PROCESSOR = Field<7, 4>;
constexpr u32 kOsTime = 1, kTimestampCounter = 2, kPlatform = 3;  // NV2080_TIMER_GPU_CPU_TIME_CPU_CLK_ID_*
constexpr u32 kProcessorCpu = 0, kProcessorGsp = 1;

}  // namespace

u64 ControlUnit::gpu_time() const {
    ChipIo& io = context_.adapter.io();
    u32 high = io.reg_read(reg::NV_PTIMER_TIME_1);
    u32 low = io.reg_read(reg::NV_PTIMER_TIME_0);
    u32 again = io.reg_read(reg::NV_PTIMER_TIME_1);
    if (again != high) low = io.reg_read(reg::NV_PTIMER_TIME_0);
    return u64{again} << 32 | low;
}

Status ControlUnit::subdevice_time(ControlCall& call) {
    NV2080_CTRL_TIMER_GET_TIME_PARAMS params{};
    params.time_nsec = gpu_time();
    call.write(params);
    return NV_OK;
}

// Pairs of the two clocks, read one right after the other. The processor's is what the process reads by the same name: the wall clock in
// microseconds, the time-stamp counter, the monotonic clock in nanoseconds.
Status ControlUnit::subdevice_time_correlation(ControlCall& call) {
    auto params = call.read<NV2080_CTRL_TIMER_GET_GPU_CPU_TIME_CORRELATION_INFO_PARAMS>();
    if (params.sampleCount > std::size(params.samples)) return NV_ERR_INVALID_ARGUMENT;
    const u32 processor = NV2080_TIMER_GPU_CPU_TIME_CPU_CLK_ID_PROCESSOR::get(params.cpuClkId);
    if (processor == kProcessorGsp) return forward(call);
    if (processor != kProcessorCpu) return NV_ERR_INVALID_ARGUMENT;
    const u32 source = NV2080_TIMER_GPU_CPU_TIME_CPU_CLK_ID_SOURCE::get(params.cpuClkId);
    auto read_cpu = [&]() -> u64 {
        const SimTime now = context_.kernel.now();
        if (source == kOsTime) return wall_clock_us(now);
        return source == kTimestampCounter ? timestamp_counter(now) : now.ns();
    };
    if (source != kOsTime && source != kTimestampCounter && source != kPlatform) return NV_ERR_NOT_SUPPORTED;
    const u32 count = source == kPlatform ? 1 : params.sampleCount;  // the platform's clock is sampled once, whatever was asked
    for (u32 i = 0; i < count; ++i) {
        params.samples[i].cpuTime = read_cpu();
        params.samples[i].gpuTime = gpu_time();
    }
    call.write(params);
    return NV_OK;
}

}  // namespace rm::client
