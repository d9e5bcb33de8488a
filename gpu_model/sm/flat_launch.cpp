// Where everything lies, and bank 0 as CUDA's driver fills it.
#include "gpu_model/sm/flat_launch.h"

#include <fmt/format.h>

#include <algorithm>

namespace gpu::sm {

namespace {

constexpr u64 kFlatImage = 0x7f00'0000'0000;
constexpr u64 kFlatBank0 = 0x7f10'0000'0000;
constexpr u64 kFlatBuffers = 0x7f20'0000'0000;
constexpr u64 kFlatBufferStride = u64{1} << 32;
constexpr u64 kFlatSharedWindow = 0x7293'0000'0000, kFlatLocalWindow = 0x7294'0000'0000;
// The stack begins below 0x240 bytes that the driver keeps.
constexpr u32 kFlatStackReserve = 0x240, kFlatStackBytes = 1024;
constexpr u32 kFlatSmCount = 40;

class StoppedClock final : public SmClock {
public:
    u64 global_timer_ns() const override { return 0; }
};

}  // namespace

FlatLaunch::FlatLaunch(const Cubin& cubin, CodeCache& code)
    : cubin_(cubin), code_(code), image_(load_cubin_image(cubin, kFlatImage)), next_buffer_(kFlatBuffers) {
    std::copy(image_.bytes.begin(), image_.bytes.end(), memory_.add(kFlatImage, image_.bytes.size()).begin());
}

FlatLaunch::Buffer FlatLaunch::add_buffer(u64 bytes) {
    const u64 va = next_buffer_;
    next_buffer_ += (bytes + kFlatBufferStride) / kFlatBufferStride * kFlatBufferStride;
    return {va, memory_.add(va, bytes)};
}

FlatLaunch::Outcome FlatLaunch::run(std::string_view name, const Geometry& geometry,
                                    std::span<const std::vector<u8>> parameters, u64 instructions_max) {
    const auto refuse = [](std::string why) { return Outcome{GridState::Trapped, 0, std::move(why)}; };
    if (!image_.error.empty()) return refuse(image_.error);
    const CubinKernel* kernel = cubin_.find_kernel(name);
    if (kernel == nullptr) return refuse(fmt::format("the cubin has no kernel {}", name));
    if (kernel->parameters.size() != parameters.size())
        return refuse(fmt::format("{} parameters, the kernel takes {}", parameters.size(), kernel->parameters.size()));

    KernelLaunch launch;
    launch.entry = image_.entry(*kernel);
    launch.grid = geometry.grid;
    launch.block = geometry.block;
    launch.registers = std::min(std::max(kernel->registers, 1u), kRegistersMax);
    launch.shared_bytes = kernel->shared_bytes + geometry.dynamic_shared;
    launch.local_high_bytes = kFlatStackBytes + kFlatStackReserve + (kernel->local_bytes + 15) / 16 * 16;
    launch.shared_window = kFlatSharedWindow;
    launch.local_window = kFlatLocalWindow;
    launch.sm_count = kFlatSmCount;
    launch.textures = textures_;
    const auto add_bank = [&](const ConstantBank& bank) {
        if (bank.bank >= kConstantBanks || image_.sections[bank.section] == 0) return;
        launch.banks[bank.bank] = {image_.sections[bank.section], static_cast<u32>(cubin_.sections[bank.section].size)};
    };
    for (const ConstantBank& bank : cubin_.module_banks) add_bank(bank);
    for (const ConstantBank& bank : kernel->banks) add_bank(bank);
    std::vector<u8> bank0 = make_bank0(*kernel, {.grid = geometry.grid,
                                                 .block = geometry.block,
                                                 .shared_window = kFlatSharedWindow,
                                                 .local_window = kFlatLocalWindow,
                                                 .stack_top = static_cast<u32>(kWindowBytes) - kFlatStackReserve,
                                                 .dynamic_shared = geometry.dynamic_shared,
                                                 .constant_image = launch.banks[3].va,
                                                 .sm_count = kFlatSmCount});
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const std::size_t at = std::size_t{kernel->parameter_base} + kernel->parameters[i].offset;
        if (parameters[i].size() > kernel->parameters[i].size || at + parameters[i].size() > bank0.size())
            return refuse(fmt::format("parameter {} has {} bytes, the kernel takes {}", i, parameters[i].size(),
                                      kernel->parameters[i].size));
        std::copy(parameters[i].begin(), parameters[i].end(), bank0.begin() + static_cast<std::ptrdiff_t>(at));
    }
    std::copy(bank0.begin(), bank0.end(), memory_.add(kFlatBank0, bank0.size()).begin());
    launch.banks[0] = {kFlatBank0, static_cast<u32>(bank0.size())};

    if (std::string wrong = check_launch(launch); !wrong.empty()) return refuse("launch refused: " + wrong);
    const StoppedClock clock;
    GridRun grid(launch, memory_, code_, clock, &blocks_);
    Outcome outcome{grid.run(instructions_max), grid.instructions(), {}};
    if (outcome.state == GridState::Trapped) outcome.error = grid.trap().describe();
    if (outcome.state == GridState::Deadlocked) outcome.error = "every warp waits for a barrier";
    if (outcome.state == GridState::Running)
        outcome.error = fmt::format("still running after {} warp instructions", outcome.instructions);
    return outcome;
}

}  // namespace gpu::sm
