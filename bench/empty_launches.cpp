// How fast kernels that do nothing are launched: pushbuffer, compute class, QMD checks, one block of one warp that
// exits, and the QMD's semaphore. Bar, of one core: 100,000 launches a second without timing.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "tests/support/launch_bench.h"

namespace {

using namespace bench;

constexpr u32 kPerEntry = 500, kEntries = 20, kRounds = 3;
constexpr double kBar = 100'000;

double seconds(std::clock_t ticks) { return static_cast<double>(ticks) / CLOCKS_PER_SEC; }

double launches_per_second(bool timing) {
    LaunchBench bench(timing);
    bench.program({test_support::code::exit()});
    bench.set_release(bench.data.va, 1, true);
    bench.qmd.set(QmdField::RELEASE0_REDUCTION_ENABLE, 1);  // RED_ADD: the count of launches that ended
    bench.write_qmd();
    std::vector<u32> entry = LaunchBench::windows() +
                             inc(1, nvc5c0::SEND_PCAS_A, {static_cast<u32>(bench.qmd_memory.va >> 8)});
    for (u32 i = 0; i < kPerEntry; ++i) entry = std::move(entry) + inc(1, nvc5c0::SEND_SIGNALING_PCAS_B, {3});
    for (u32 i = 0; i < kEntries; ++i) bench.gr.bench.push(bench.gr.channel, entry);
    bench.gr.bench.ring_doorbell(bench.gr.channel);
    const std::clock_t begin = std::clock();
    bench.gr.bench.run(SimTime::from_s(1));
    const std::clock_t end = std::clock();
    const u32 done = bench.gr.bench.read32(bench.data, 0);
    if (done != kPerEntry * kEntries) std::printf("%u of %u launches ended\n", done, kPerEntry * kEntries);
    return kPerEntry * kEntries / seconds(end - begin);
}

}  // namespace

int main() {
    bool within = true;
    for (bool timing : {false, true}) {
        double best = 0;
        for (u32 round = 0; round < kRounds; ++round) best = std::max(best, launches_per_second(timing));
        std::printf("empty launches, timing %-3s %9.0f a second%s\n", timing ? "on" : "off", best,
                    timing ? "" : " (bar 100000)");
        within = within && (timing || best >= kBar);
    }
    return within ? 0 : 1;
}
