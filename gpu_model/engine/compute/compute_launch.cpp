// Launch methods of the compute class: conditions, QMDs in the pushbuffer, and the hand-over to the launcher.
// Source: clc5c0.h.
#include <fmt/format.h>

#include "gpu_model/engine/compute/compute.h"
#include "gpu_model/regs/regs.h"

namespace gpu {

using namespace nvc5c0;

// SET_RENDER_ENABLE_A..C and SET_GLOBAL_RENDER_ENABLE_A..C have the same fields.
MethodResult Compute::condition_holds(Call& call, u32 method_a, bool& holds) {
    const State& state = call.context.state;
    constexpr u32 step = 4;
    const u32 mode = SET_RENDER_ENABLE_C_MODE::get(state[(method_a + 2 * step) / 4]);
    holds = mode == SET_RENDER_ENABLE_C_MODE_TRUE;
    if (mode > SET_RENDER_ENABLE_C_MODE_RENDER_IF_NOT_EQUAL) return refuse(call, class_error::INVALID_ENUM);
    if (mode < SET_RENDER_ENABLE_C_MODE_CONDITIONAL) return MethodResult::Ok;
    const u64 va = u64{SET_RENDER_ENABLE_A_OFFSET_UPPER::get(state[method_a / 4])} << 32 | state[(method_a + step) / 4];
    // Guess: 64-bit values, the second one 16 bytes after the first, as the 3D class compares them.
    constexpr u64 second_at = 16;
    std::array<u8, 8> first{}, second{};
    MmuFault mmu_fault;
    const MmuClient who = client(call.channel);
    if (!mmu_.read(call.channel.gr_space, GpuVa{va}, first, who, mmu_fault)) return fault(call, mmu_fault);
    if (mode == SET_RENDER_ENABLE_C_MODE_CONDITIONAL) {
        holds = first != second;  // `second` is still zero
        return MethodResult::Ok;
    }
    if (!mmu_.read(call.channel.gr_space, GpuVa{va + second_at}, second, who, mmu_fault)) return fault(call, mmu_fault);
    holds = (first == second) == (mode == SET_RENDER_ENABLE_C_MODE_RENDER_IF_EQUAL);
    return MethodResult::Ok;
}

// Whether a launch may happen: by the override, or when both conditions hold.
MethodResult Compute::render_enabled(Call& call, bool& enabled) {
    const u32 mode = SET_RENDER_ENABLE_OVERRIDE_MODE::get(call.context.state[SET_RENDER_ENABLE_OVERRIDE / 4]);
    enabled = mode == SET_RENDER_ENABLE_OVERRIDE_MODE_ALWAYS_RENDER;
    if (mode > SET_RENDER_ENABLE_OVERRIDE_MODE_NEVER_RENDER) return refuse(call, class_error::INVALID_ENUM);
    if (mode != SET_RENDER_ENABLE_OVERRIDE_MODE_USE_RENDER_ENABLE) return MethodResult::Ok;
    bool global = false, local = false;
    MethodResult result = condition_holds(call, SET_GLOBAL_RENDER_ENABLE_A, global);
    if (result == MethodResult::Ok && global) result = condition_holds(call, SET_RENDER_ENABLE_A, local);
    enabled = global && local;
    return result;
}

// Invalidating only drops the scheduler's copy of the QMD, which the model does not keep.
MethodResult Compute::schedule_grid(Call& call) {
    if (SEND_SIGNALING_PCAS_B_SCHEDULE::get(call.data) == 0) return MethodResult::Ok;
    const State& state = call.context.state;
    bool enabled = false;
    if (const MethodResult result = render_enabled(call, enabled); result != MethodResult::Ok) return result;
    if (!enabled) {
        SIM_PROBE(kernel_, "compute.render_disabled");
        return MethodResult::Ok;
    }
    constexpr u32 qmd_shift = 8;
    const u64 qmd_va = u64{state[SEND_PCAS_A / 4]} << qmd_shift;
    const auto window = [&](u32 upper, u32 lower) {
        constexpr u32 upper_mask = 0x1FFFF;  // BASE_ADDRESS_UPPER of the windows, OFFSET_UPPER of the pools
        return u64{state[upper / 4] & upper_mask} << 32 | state[lower / 4];
    };
    const sm::TexturePools textures{window(SET_TEX_HEADER_POOL_A, SET_TEX_HEADER_POOL_B),
                                    window(SET_TEX_SAMPLER_POOL_A, SET_TEX_SAMPLER_POOL_B),
                                    SET_TEX_HEADER_POOL_C_MAXIMUM_INDEX::get(state[SET_TEX_HEADER_POOL_C / 4]),
                                    SET_TEX_SAMPLER_POOL_C_MAXIMUM_INDEX::get(state[SET_TEX_SAMPLER_POOL_C / 4])};
    const GridLauncher::Request request{call.channel,
                                        qmd_va,
                                        {window(SET_SHADER_SHARED_MEMORY_WINDOW_A, SET_SHADER_SHARED_MEMORY_WINDOW_B),
                                         window(SET_SHADER_LOCAL_MEMORY_WINDOW_A, SET_SHADER_LOCAL_MEMORY_WINDOW_B),
                                         textures, window(SET_TRAP_HANDLER_A, SET_TRAP_HANDLER_B)},
                                        trapped(call)};
    MmuFault mmu_fault;
    QmdError error;
    switch (launcher_.schedule(request, mmu_fault, error)) {
        case GridLauncher::Answer::Taken:
            return MethodResult::Ok;
        case GridLauncher::Answer::Full:
            return MethodResult::Busy;
        case GridLauncher::Answer::Fault:
            return fault(call, mmu_fault);
        case GridLauncher::Answer::Refused:
            break;
    }
    if (error.check.empty()) {
        kernel_.unmodelled().refused(fmt::format("qmd {}", row_of(error.field).name), kernel_.now());
        return refuse(call, class_error::INVALID_VALUE);
    }
    return refuse_exception(call, regs::NV_PGRAPH_PRI_SKED_HWW_ESR, u32{1} << error.sked_bit,
                            regs::NV_PGRAPH_EXCEPTION_SKED::make(1));
}

// One word of a QMD that travels in the pushbuffer, to its place in memory.
MethodResult Compute::inline_qmd(Call& call) {
    const State& state = call.context.state;
    constexpr u32 qmd_shift = 8;
    const u64 base = (u64{state[SET_INLINE_QMD_ADDRESS_A / 4]} << 32 | state[SET_INLINE_QMD_ADDRESS_B / 4])
                     << qmd_shift;
    const u64 va = base + (call.method - LOAD_INLINE_QMD_DATA);
    std::array<u8, 4> bytes{};
    for (u32 i = 0; i < 4; ++i) bytes[i] = static_cast<u8>(call.data >> 8 * i);
    MmuFault mmu_fault;
    if (!mmu_.write(call.channel.gr_space, GpuVa{va}, bytes, client(call.channel), mmu_fault))
        return fault(call, mmu_fault);
    return MethodResult::Ok;
}

}  // namespace gpu
