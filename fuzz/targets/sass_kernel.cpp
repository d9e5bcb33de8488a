// A kernel of any instruction words on a flat memory, for a bounded number of instructions. The input's first word
// chooses the block (bits 0 to 4: lanes less one), the grid (bits 8 to 9), the sampler (bits 10 to 13), shared memory (bit
// 16), the texture (bits 17 to 22) and whether it is watched (bit 24); then instruction words. The kernel runs twice,
// with this host's widest vector loops and with the portable ones: everything that can be seen must be the same,
// registers of a watched kernel, too. A watched kernel is timed, which may change nothing but clocks.
#include <algorithm>
#include <cstring>
#include <optional>

#include "fuzz/self_test.h"
#include "fuzz/target.h"
#include "fuzz/textures.h"
#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/flat_memory.h"
#include "gpu_model/sm/timing.h"

namespace fuzz {

namespace {

namespace sm = gpu::sm;

constexpr u64 kCode = 0x1'0000, kData = kTexelsAt, kBank = 0x30'0000, kHeaders = 0x40'0000,
              kSamplersAt = 0x40'1000;
constexpr u32 kCodeBytes = 8192, kDataBytes = 16384, kBankBytes = 1024;
constexpr u64 kInstructions = 2000;
constexpr u32 kRegisters = 128;
constexpr u32 kBlocksOfSm = 4;
constexpr u32 kPointLanes = 32;

// Registers and predicates as blocks leave them, and of the warp that trapped.
struct Registers final : sm::GridObserver {
    DigestBuilder digest;
    void on_block_end(const sm::Cta& block) override {
        for (const sm::Warp& warp : block.warps) note(warp);
    }
    void after(const sm::Step& step) override {
        if (step.trapped) note(step.warp);
    }
    void note(const sm::Warp& warp) {
        digest.add_bytes({reinterpret_cast<const u8*>(&warp.regs[0]), kRegisters * sizeof(sm::Row)});
        for (u32 lanes : warp.preds) digest.add_u64(lanes);
        for (u32 value : warp.uniform) digest.add_u64(value);
    }
};

struct StillClock final : sm::SmClock {
    u64 global_timer_ns() const override { return 0; }
};

struct Bench {
    sm::FlatMemory memory;
    std::span<u8> code = memory.add(kCode, kCodeBytes);
    std::span<u8> data = memory.add(kData, kDataBytes);
    std::span<u8> bank = memory.add(kBank, kBankBytes);
    std::span<u8> headers = memory.add(kHeaders, kTextures * kTextureEntry);
    std::span<u8> samplers = memory.add(kSamplersAt, kSamplers * kTextureEntry);
    sm::CodeCache cache;
    StillClock clock;

    explicit Bench(sm::LaneTarget target) : cache(target) {}

    struct Result {
        sm::GridState state{};
        u64 instructions = 0;
        std::string trap;
        Digest128 data;
        Digest128 registers;  // this and the next two: when watched
        u64 cycles = 0;
        std::string hazards;
        friend bool operator==(const Result&, const Result&) = default;
    };
    Result run(const sm::KernelLaunch& launch, std::span<const u8> words, bool watched) {
        std::fill(code.begin(), code.end(), u8{0});
        std::copy(words.begin(), words.end(), code.begin());
        for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<u8>(i * 7 + i / 256);
        // For each lane of a warp a point that lies in most textures.
        for (u32 i = 0; i < kPointLanes; ++i) {
            const auto n = static_cast<float>(i);
            const float point[] = {n * 0.375F, n * 0.25F, static_cast<float>(i % 3), n * 0.125F};
            std::memcpy(&data[i * sizeof(point)], point, sizeof(point));
        }
        for (std::size_t i = 0; i < bank.size(); ++i) bank[i] = static_cast<u8>(i);
        // Where parameters lie: addresses of the data, so that loads and stores of real kernels reach something.
        for (std::size_t at = 0x160; at + 8 <= bank.size(); at += 8)
            for (std::size_t i = 0; i < 8; ++i) bank[at + i] = static_cast<u8>(kData >> (8 * i));
        cache.clear();
        Registers registers;
        sm::SmTiming timing(launch, kBlocksOfSm);
        sm::GridRun grid(launch, memory, cache, clock);
        if (watched) {
            grid.add_observer(registers);
            grid.add_observer(timing);
        }
        Result result;
        result.state = grid.run(kInstructions);
        result.instructions = grid.instructions();
        if (result.state == sm::GridState::Trapped) result.trap = grid.trap().describe();
        result.data = digest_bytes(data);
        if (!watched) return result;
        result.registers = registers.digest.finish();
        result.cycles = timing.elapsed();
        for (const sm::Hazard& hazard : timing.hazards()) result.hazards += hazard.describe();
        return result;
    }
};

}  // namespace

void run_sass_kernel(std::span<const u8> input) {
    constexpr std::size_t kHead = 4;
    if (input.size() < kHead + 16) return;
    static Bench portable(sm::LaneTarget::Portable);
    static Bench widest(sm::best_lane_target());
    sm::KernelLaunch launch;
    launch.entry = kCode;
    launch.block[0] = 1 + (input[0] & 31u) + ((input[0] & 0x80) != 0 ? 32 : 0);
    launch.grid[0] = 1 + (input[1] & 3u);
    launch.shared_bytes = (input[2] & 1) != 0 ? 4096 : 0;
    launch.local_low_bytes = 512;
    launch.shared_window = u64{0x7F} << 32;
    launch.local_window = u64{0x7E} << 32;
    launch.registers = kRegisters;
    launch.banks[0] = {kBank, kBankBytes};
    launch.textures = {kHeaders, kSamplersAt, kTextures - 1, kSamplers - 1};
    FUZZ_CHECK(sm::check_launch(launch).empty());
    for (Bench* bench : {&portable, &widest})
        write_textures(bench->headers, bench->samplers, input[2] >> 1 & 63u, input[1] >> 2 & 15u);
    const std::span<const u8> words =
        input.subspan(kHead, std::min<std::size_t>(input.size() - kHead, kCodeBytes) / 16 * 16);
    const bool watched = (input[3] & 1) != 0;
    const Bench::Result one = portable.run(launch, words, watched);
    const Bench::Result other = widest.run(launch, words, watched);
    FUZZ_CHECK(one == other);
    if (!noting_outcomes()) return;
    note_outcome(one.data);
    note_text(one.trap);
    const Bench::Result seen = watched ? one : portable.run(launch, words, true);
    // Watching changes nothing; only where a run is cut short it may have come to another place.
    FUZZ_CHECK(one.state == sm::GridState::Running || (seen.data == one.data && seen.trap == one.trap));
    note_outcome(seen.registers);
    note_outcome({seen.cycles, 0});
    note_text(seen.hazards);
}

}  // namespace fuzz
