// Launching a case: buffers and the cubin's image in a flat memory, bank 0 as CUDA's driver fills it.
#include "guest_harness/corpus/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "gpu_model/sm/cubin_image.h"
#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/flat_memory.h"

namespace harness::corpus {
namespace {

using namespace gpu;

constexpr u64 kImageBase = 0x7f00'0000'0000;
constexpr u64 kBank0Base = 0x7f10'0000'0000;
constexpr u64 kBufferBase = 0x7f20'0000'0000;
constexpr u64 kBufferStride = u64{1} << 32;
constexpr u64 kSharedWindow = 0x7293'0000'0000, kLocalWindow = 0x7294'0000'0000;
// The stack begins below 0x240 bytes that the driver keeps; recursive kernels need the limit that the golden run set.
constexpr u32 kStackReserve = 0x240, kStackBytes = 16384;
constexpr u32 kSmCount = 40;
constexpr u64 kApproxUlpMax = u64{1} << 32;

class StillClock final : public sm::SmClock {
public:
    u64 global_timer_ns() const override { return 0; }
};

// Distance of two floats in representable steps; far apart when only one is a NaN.
u64 ulp_distance(u32 a, u32 b) {
    constexpr u32 sign = u32{1} << 31, infinity = 0x7f80'0000;
    const bool a_nan = (a & ~sign) > infinity, b_nan = (b & ~sign) > infinity;
    if (a_nan || b_nan) return a_nan && b_nan ? 0 : kApproxUlpMax;
    const auto key = [](u32 bits) { return (bits & sign) != 0 ? -i64{bits & ~sign} : i64{bits}; };
    const i64 difference = key(a) - key(b);
    return static_cast<u64>(difference < 0 ? -difference : difference);
}

void compare_buffer(const std::string& name, std::span<const u8> got, const std::string& want, bool approx,
                    CaseReport& report) {
    if (got.size() == want.size() && std::memcmp(got.data(), want.data(), want.size()) == 0) return;
    using Verdict = CaseReport::Verdict;
    if (approx && got.size() == want.size()) {
        for (std::size_t at = 0; at + 4 <= got.size(); at += 4) {
            u32 a = 0, b = 0;
            std::memcpy(&a, got.data() + at, 4);
            std::memcpy(&b, want.data() + at, 4);
            if (a == b) continue;
            ++report.words_different;
            report.ulp_max = std::max(report.ulp_max, ulp_distance(a, b));
        }
        if (report.verdict == Verdict::Equal) report.verdict = Verdict::Close;
        return;
    }
    report.verdict = Verdict::Different;
    std::size_t first = 0;
    while (first < std::min(got.size(), want.size()) && got[first] == static_cast<u8>(want[first])) ++first;
    const std::size_t word = first / 4 * 4;
    std::string ours, theirs;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i)
        wrong += got[i] != static_cast<u8>(want[i]) ? 1u : 0u;
    for (std::size_t i = std::min(word + 4, got.size()); i-- > word;) ours += fmt::format("{:02x}", got[i]);
    for (std::size_t i = std::min(word + 4, want.size()); i-- > word;)
        theirs += fmt::format("{:02x}", static_cast<u8>(want[i]));
    report.detail += fmt::format("{}buffer {}: {} of {} bytes differ, first at {:#x}: {} instead of {}",
                                 report.detail.empty() ? "" : "; ", name, wrong, got.size(), word, ours, theirs);
}

}  // namespace

std::string_view verdict_name(CaseReport::Verdict verdict) {
    switch (verdict) {
        case CaseReport::Verdict::Equal:
            return "equal";
        case CaseReport::Verdict::Close:
            return "close";
        case CaseReport::Verdict::NotCompared:
            return "not compared";
        case CaseReport::Verdict::Different:
            return "different";
        case CaseReport::Verdict::Failed:
            return "failed";
        case CaseReport::Verdict::Unfinished:
            return "unfinished";
    }
    return "?";
}

CaseReport Runner::run(const Case& item, const std::string& variant, const Cubin& cubin, const Truth* truth, u64 budget) {
    CaseReport report;
    report.case_id = item.id;
    report.variant = variant;
    const auto fail = [&](std::string why) {
        report.verdict = CaseReport::Verdict::Failed;
        report.detail = std::move(why);
        return report;
    };
    const CubinKernel* kernel = cubin.find_kernel(item.kernel);
    if (kernel == nullptr) return fail(fmt::format("the cubin has no kernel {}", item.kernel));
    if (kernel->parameters.size() != item.parameters.size())
        return fail(
            fmt::format("{} parameters, the kernel takes {}", item.parameters.size(), kernel->parameters.size()));

    sm::FlatMemory memory;
    const CubinImage image = load_cubin_image(cubin, kImageBase);
    if (!image.error.empty()) return fail(image.error);
    std::ranges::copy(image.bytes, memory.add(kImageBase, image.bytes.size()).begin());
    std::map<std::string, std::span<u8>> buffers;
    std::map<std::string, u64> addresses;
    u64 next = kBufferBase;
    for (const Buffer& buffer : item.buffers) {
        const std::span<u8> bytes = memory.add(next, buffer.bytes);
        std::ranges::copy(fill_bytes(buffer.fill, buffer.bytes), bytes.begin());
        buffers[buffer.name] = bytes;
        addresses[buffer.name] = next;
        next += kBufferStride;
    }

    sm::KernelLaunch launch;
    launch.entry = image.entry(*kernel);
    launch.grid = item.grid;
    launch.block = item.block;
    launch.registers = std::min(std::max(kernel->registers, 1u), sm::kRegistersMax);
    launch.shared_bytes = kernel->shared_bytes + item.shared;
    launch.local_high_bytes = kStackBytes + kStackReserve + (kernel->local_bytes + 15) / 16 * 16;
    launch.shared_window = kSharedWindow;
    launch.local_window = kLocalWindow;
    launch.sm_count = kSmCount;
    Bank0 header{.grid = item.grid,
                 .block = item.block,
                 .shared_window = kSharedWindow,
                 .local_window = kLocalWindow,
                 .stack_top = static_cast<u32>(sm::kWindowBytes) - kStackReserve,
                 .dynamic_shared = item.shared,
                 .sm_count = kSmCount};
    const auto add_bank = [&](const ConstantBank& bank) {
        if (bank.bank >= sm::kConstantBanks || image.sections[bank.section] == 0) return;
        launch.banks[bank.bank] = {image.sections[bank.section], static_cast<u32>(cubin.sections[bank.section].size)};
    };
    for (const ConstantBank& bank : cubin.module_banks) add_bank(bank);
    for (const ConstantBank& bank : kernel->banks) add_bank(bank);
    header.constant_image = launch.banks[3].va;
    std::vector<u8> bank0 = make_bank0(*kernel, header);
    for (std::size_t i = 0; i < item.parameters.size(); ++i) {
        const Parameter& parameter = item.parameters[i];
        std::vector<u8> value = parameter.value;
        if (!parameter.buffer.empty()) {
            if (!addresses.contains(parameter.buffer)) return fail("no buffer " + parameter.buffer);
            const u64 pointer = addresses[parameter.buffer] + parameter.offset;
            value.resize(sizeof(pointer));
            std::memcpy(value.data(), &pointer, sizeof(pointer));
        }
        const std::size_t at = std::size_t{kernel->parameter_base} + kernel->parameters[i].offset;
        if (at + value.size() > bank0.size()) return fail(fmt::format("parameter {} does not fit", i));
        std::ranges::copy(value, bank0.begin() + static_cast<std::ptrdiff_t>(at));
    }
    std::ranges::copy(bank0, memory.add(kBank0Base, bank0.size()).begin());
    launch.banks[0] = {kBank0Base, static_cast<u32>(bank0.size())};

    if (std::string wrong = sm::check_launch(launch); !wrong.empty()) return fail("launch refused: " + wrong);
    const StillClock clock;
    sm::GridRun grid(launch, memory, code_, clock);
    if (watch_) {
        WatchedLaunch watched;
        watched.kernel = item.kernel;
        watched.regions.push_back({"the cubin's image", kImageBase, image.bytes.size()});
        watched.regions.push_back({"constant bank 0", kBank0Base, bank0.size()});
        for (const auto& [name, va] : addresses) watched.regions.push_back({name, va, buffers[name].size()});
        watch_(watched, grid);
    }
    const sm::GridState state = grid.run(std::min(budget, kInstructionsMax));
    report.instructions = grid.instructions();
    if (state == sm::GridState::Paused) {
        report.verdict = CaseReport::Verdict::NotCompared;
        report.detail = "held at a breakpoint";
        return report;
    }
    if (state == sm::GridState::Trapped) return fail(grid.trap().describe());
    if (state == sm::GridState::Deadlocked) return fail("every warp waits for a barrier");
    if (state == sm::GridState::Running) {
        fail(fmt::format("still running after {} warp instructions", report.instructions));
        if (budget < kInstructionsMax) report.verdict = CaseReport::Verdict::Unfinished;
        return report;
    }

    const bool unstable = truth != nullptr && truth->unstable("O3", item.id);
    if (truth == nullptr || item.arch_dependent || unstable || !truth->ran(variant, item.id)) {
        report.verdict = CaseReport::Verdict::NotCompared;
        return report;
    }
    // Fast math shows the raw results of the approximations.
    const bool approx = item.approx || (item.fp && variant == "fast");
    for (const std::string& name : item.compare) {
        const std::string* want = truth->find(variant, item.id, name);
        if (want == nullptr || !buffers.contains(name)) return fail("hardware has no buffer " + name);
        compare_buffer(name, buffers[name], *want, approx, report);
    }
    return report;
}

}  // namespace harness::corpus
