// How fast pushbuffer words become class methods: fetched through the MMU, decoded, checked by the three CRCs that the
// host keeps, folded into the entry's digest and stored as state, with timing and without. The peer is the least that any
// model of the host must do: those CRCs over the same words, a byte at a time as the manual gives them. Bars: at most twice
// the peer's time, and of one core 60 million data words a second without timing, 15 million with it.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "gpu_model/host/crc.h"
#include "tests/support/graphics_bench.h"

namespace {

using namespace bench;

constexpr u32 kWordsPerRun = 8000;  // of one header: incrementing over scratch, or to one method
constexpr u32 kEntries = 60;
constexpr u32 kRunsPerEntry = 4;
constexpr int kRounds = 5;

u32 crc_by_bytes(u32 crc, u32 word) {
    crc ^= word;
    for (int byte = 0; byte < 4; ++byte) crc = crc << 8 ^ gpu::crc_detail::tables[0][crc >> 24];
    return crc;
}

double seconds(std::clock_t ticks) { return static_cast<double>(ticks) / CLOCKS_PER_SEC; }

// Words that became methods, and how long it took.
double model_seconds(u64& words, bool incrementing, bool timing) {
    GrBench gr({}, timing);
    std::vector<u32> entry;
    std::vector<u32> data(incrementing ? 256 : kWordsPerRun, 0x12345678);
    u32 runs = incrementing ? kRunsPerEntry * kWordsPerRun / 256 : kRunsPerEntry;
    for (u32 run = 0; run < runs; ++run) {
        entry.push_back(header(incrementing ? 1 : 3, 1, kScratch, static_cast<u32>(data.size())));
        entry.insert(entry.end(), data.begin(), data.end());
    }
    for (u32 i = 0; i < kEntries; ++i) gr.bench.push(gr.channel, entry);
    gr.bench.ring_doorbell(gr.channel);
    std::clock_t begin = std::clock();
    gr.bench.run(SimTime::from_s(1));
    std::clock_t end = std::clock();
    if (!gr.bench.idle(gr.channel)) std::printf("the channel did not finish\n");
    words = u64{runs} * data.size() * kEntries;
    return seconds(end - begin);
}

double peer_seconds(u64 words) {
    std::clock_t begin = std::clock();
    u32 gp = 0, pushbuffer = 0, method = 0;
    for (u64 i = 0; i < words; ++i) {
        u32 word = static_cast<u32>(i);
        pushbuffer = crc_by_bytes(pushbuffer, word);
        method = crc_by_bytes(crc_by_bytes(method, kScratch), word);
    }
    gp ^= pushbuffer ^ method;
    std::clock_t end = std::clock();
    if (gp == 1) std::printf("\n");  // the result is used
    return seconds(end - begin);
}

}  // namespace

int main() {
    bool within = true;
    std::printf("%-26s %7s %10s %5s %9s %6s %4s\n", "methods", "timing", "M words/s", "bar", "peer M/s", "ratio", "bar");
    for (int row = 0; row < 4; ++row) {
        const bool incrementing = row % 2 == 1, timing = row / 2 == 1;
        const double bar = timing ? 15 : 60;
        double model = 1e9, peer = 1e9;
        u64 words = 0;
        for (int round = 0; round < kRounds; ++round) {
            model = std::min(model, model_seconds(words, incrementing, timing));
            peer = std::min(peer, peer_seconds(words));
        }
        double million = static_cast<double>(words) / 1e6;
        within = within && model <= peer * 2 && million / model >= bar;
        std::printf("%-26s %7s %10.1f %5.0f %9.1f %6.2f %4.1f\n",
                    incrementing ? "incrementing, 256 a header" : "one method, 8000 a header", timing ? "on" : "off",
                    million / model, bar, million / peer, model / peer, 2.0);
    }
    return within ? 0 : 1;
}
