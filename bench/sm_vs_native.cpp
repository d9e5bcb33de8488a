// How fast the executor runs sm_75 code: warp instructions a second on loops of one kind of instruction, and the same
// integer loop as native code of this host in the same run. Bars: at most 8 times the native loop's time, with the
// widest vectors that the host has; with timing at least 3 million warp instructions a second.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/flat_memory.h"
#include "tests/support/sm_assembler.h"

namespace {

using namespace gpu::sm;
using namespace test_support;
using namespace test_support::code;

constexpr u64 kCode = 0x1'0000;
constexpr u32 kData = 0x20'0000;
constexpr u32 kRounds = 20'000, kUnroll = 16, kThreads = 1024;
constexpr u32 kMultiplier = 1664525, kIncrement = 1013904223;
constexpr double kSlowestRatio = 8.0, kTimedMillions = 3.0;

double seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct StillClock final : SmClock {
    u64 global_timer_ns() const override { return 0; }
};

// r2 = r2 * r3 + r4, and others of the same shape.
Word imad() {
    return Asm(0x224).set(23, 16, 2).set(31, 24, 2).set(39, 32, 3).set(71, 64, 4).set(83, 81, pt).set(90, 87, 0xf);
}
Word lop3_xor() {
    return Asm(0x212)
        .set(23, 16, 2)
        .set(31, 24, 2)
        .set(39, 32, 3)
        .set(71, 64, rz)
        .set(79, 72, 0x3c)
        .set(83, 81, pt)
        .set(90, 87, 0xf);
}
Word iadd3() {
    return iadd_register(2, 2, 3);
}
Word ffma() {
    return Asm(0x223).set(23, 16, 2).set(31, 24, 2).set(39, 32, 3).set(71, 64, 4).set(83, 81, pt);
}
Word shf() {
    return Asm(0x819).set(23, 16, 2).set(31, 24, 2).set(63, 32, 1).set(71, 64, rz).set(74, 73, 3).set(83, 81, pt);
}

// Neighbouring words, by address r6:r7.
Word load_global() {
    return ldg(2, 6);
}
// Word r3 of shared memory.
Word load_shared() {
    return Asm(0x984).set(23, 16, 2).set(31, 24, 3).set(75, 73, 4).set(79, 78, 1).set(83, 81, pt);
}

struct Result {
    double time = 0;
    u64 instructions = 0;
    double rate() const { return static_cast<double>(instructions) / time / 1e6; }
};

// A loop of `body` kUnroll times, kRounds rounds, by kThreads threads.
Result run_loop(LaneTarget target, Word body, u32 rounds = kRounds, bool timed = false) {
    // r6:r7 = data + 4 * thread.
    std::vector<Word> words = {s2r(3, 0x21),           mov(4, kIncrement), mov(5, rounds), iadd_register(6, 3, 3),
                               iadd_register(6, 6, 6), iadd(6, 6, kData),  mov(7, 0)};
    for (u32 i = 0; i < kUnroll; ++i) words.push_back(body);
    words.push_back(iadd(5, 5, 0xffff'ffff));
    words.push_back(isetp(0, 5, 5, 0));
    words.push_back(bra(-static_cast<i64>(kUnroll) - 3).guard(0));
    words.push_back(exit());
    FlatMemory memory;
    memory.add(kData, kThreads * 4);
    const std::span<u8> bytes = memory.add(kCode, 4096);
    for (std::size_t i = 0; i < words.size() * 16; ++i) {
        const u64 half = i % 16 < 8 ? words[i / 16].lo : words[i / 16].hi;
        bytes[i] = static_cast<u8>(half >> 8 * (i % 8));
    }
    KernelLaunch launch;
    launch.entry = kCode;
    launch.block = {kThreads, 1, 1};
    launch.registers = 16;
    launch.shared_bytes = kThreads * 4;
    CodeCache cache(target);
    const StillClock clock;
    GridRun grid(launch, memory, cache, clock);
    if (timed) grid.enable_timing();
    const double start = seconds();
    const GridState state = grid.run(~u64{0} >> 1);
    Result result{seconds() - start, grid.instructions()};
    if (state != GridState::Done) std::printf("the loop did not end: %s\n", grid.trap().describe().c_str());
    return result;
}

// The same multiply-add chain for as many threads, as the host's compiler makes it.
double native_loop() {
    std::vector<u32> value(kThreads, 0);
    volatile u32 multiplier = kMultiplier, increment = kIncrement;
    const u32 a = multiplier, c = increment;
    const double start = seconds();
    for (u32 round = 0; round < kRounds; ++round) {
        for (u32 i = 0; i < kUnroll; ++i) {
            for (u32 thread = 0; thread < kThreads; ++thread) value[thread] = value[thread] * a + c;
            // Keeps the chain in memory, as registers of a warp are.
            asm volatile("" ::"r"(value.data()) : "memory");
        }
    }
    return seconds() - start;
}

}  // namespace

int main() {
    const LaneTarget best = best_lane_target();
    struct Loop {
        const char* name;
        Word body;
    };
    const Loop loops[] = {{"IMAD", imad()}, {"IADD3", iadd3()},     {"LOP3", lop3_xor()},  {"SHF", shf()},
                          {"FFMA", ffma()}, {"LDG", load_global()}, {"LDS", load_shared()}};
    std::printf("%-10s", "M warp/s");
    for (const Loop& loop : loops) std::printf(" %8s", loop.name);
    std::printf("\n");
    Result imad_best;
    for (LaneTarget target : {LaneTarget::Portable, LaneTarget::Avx2, LaneTarget::Avx512}) {
        if (target > best) break;
        std::printf("%-10s", std::string(lane_target_name(target)).c_str());
        for (const Loop& loop : loops) {
            const Result result = run_loop(target, loop.body);
            if (target == best && &loop == &loops[0]) imad_best = result;
            std::printf(" %8.1f", result.rate());
        }
        std::printf("\n");
    }
    std::printf("%-10s", "timing on");
    constexpr u32 timed_rounds = 1'000;
    double timed_slowest = 1e9;
    for (const Loop& loop : loops) {
        const double rate = run_loop(best, loop.body, timed_rounds, true).rate();
        timed_slowest = std::min(timed_slowest, rate);
        std::printf(" %8.1f", rate);
    }
    std::printf("  (bar %.0f)\n", kTimedMillions);
    const double native = native_loop();
    const double ratio = imad_best.time / native;
    std::printf("IMAD loop: %.3f s simulated, %.3f s native: %.1f times (bar %.0f)\n", imad_best.time, native, ratio,
                kSlowestRatio);
    return ratio <= kSlowestRatio && timed_slowest >= kTimedMillions ? 0 : 1;
}
