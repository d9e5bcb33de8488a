// Work whose outcome no schedule may change, on three machines: at seed 0, at another seed, and without timing. Each
// channel works in an area of its own and one step after the other, so all three must leave the same memory. A record
// of the input: u8 kind, u8 channel (bit 0), u16 and u32 places and sizes.
#include <algorithm>
#include <array>
#include <cstdio>

#include "fuzz/channels.h"
#include "fuzz/input.h"

namespace fuzz {

namespace {

constexpr unsigned kStepsMax = 40;
constexpr u64 kAreaBytes = 0x4000, kAreaStride = 0x8000, kPatternBytes = 0x1000;
constexpr u32 kDone = 0x600D'0001;

constexpr u32 method(u32 subchannel, u32 address, u32 count) {
    return 1u << 29 | count << 16 | subchannel << 13 | address >> 2;
}

struct Step {
    u8 kind = 0;
    u32 channel = 0;
    u32 a = 0, b = 0;
};

std::vector<Step> read_steps(Input input) {
    std::vector<Step> steps;
    while (!input.empty() && steps.size() < kStepsMax) {
        Step step;
        step.kind = input.take<u8>();
        step.channel = input.take<u8>() & 1u;
        step.a = input.take<u16>();
        step.b = input.take<u32>();
        steps.push_back(step);
    }
    return steps;
}

// One machine at its steps.
class Worker {
public:
    explicit Worker(const harness::MachineOptions& options) : bench_(options) {}

    std::vector<u8> run(std::span<const Step> steps) {
        const AtEnd put_back([this] { bench_.booted().reset(); });
        lanes_ = {};
        for (u32 channel = 0; channel < 2; ++channel) bench_.write(bench_.data_pa() + channel * kAreaStride, pattern_);
        bench_.booted().run([&] {
            for (u32 channel = 0; channel < 2; ++channel) bind(channel);
            for (const Step& step : steps) perform(step);
            for (u32 channel = 0; channel < 2; ++channel) {
                release(channel, kAreaBytes, kDone);
                submit(channel);
            }
        });
        SparseMemory& vram = bench_.machine().gpu().vram();
        const std::span<const u8> memory = vram.view(bench_.data_pa(), 2 * kAreaStride);
        for (u32 channel = 0; channel < 2; ++channel)
            FUZZ_CHECK(vram.read_u32(bench_.data_pa() + channel * kAreaStride + kAreaBytes) == kDone);
        return {memory.begin(), memory.end()};
    }

private:
    struct Lane {
        std::vector<u32> words;  // not submitted yet
        u64 used = 0;            // bytes of pushbuffer
        u32 put = 0;
    };
    static u64 va(u32 channel, u64 offset) { return Channels::kDataVa + channel * kAreaStride + offset; }
    void put(u32 channel, std::initializer_list<u32> words) {
        std::vector<u32>& to = lanes_[channel].words;
        to.insert(to.end(), words);
    }
    static u32 low(u64 address) { return static_cast<u32>(address); }
    static u32 high(u64 address) { return static_cast<u32>(address >> 32); }

    void bind(u32 channel) {
        if (channel == 0)
            put(0, {method(4, 0, 1), 0xC5B5});
        else
            put(1, {method(1, 0, 1), 0xC5C0});
    }
    // A host semaphore, which waits for the engine; one word, no time stamp.
    void release(u32 channel, u64 offset, u32 payload) {
        const u64 at = va(channel, offset);
        constexpr u32 kRelease = 1, kWaitForIdle = 1u << 20;
        put(channel, {method(0, 0x5C, 5), low(at), high(at), payload, 0, kRelease | kWaitForIdle});
    }
    void submit(u32 channel) {
        Lane& lane = lanes_[channel];
        if (lane.words.empty()) return;
        const Channels::Channel& to = bench_.channel(channel);
        const u64 offset = Channels::kPushAt + lane.used;
        for (std::size_t i = 0; i < lane.words.size(); ++i) bench_.write_u32(to.ring_pa + offset + 4 * i, lane.words[i]);
        bench_.put_entry(to, lane.put, Channels::entry(to, offset, lane.words.size()));
        lane.used += lane.words.size() * 4;
        lane.put = (lane.put + 1) % Channels::kEntries;
        lane.words.clear();
        bench_.submit(to, lane.put);
    }
    // Lines of the channel's own area; the second place lies in its other half, so that no copy overlaps itself.
    void copy(const Step& step, u32 lines) {
        const u32 bytes = 1 + step.b % 512, pitch = 1024;
        const u64 places = kAreaBytes / 2 - 4 * pitch;
        const u64 one = va(0, step.a % places), other = va(0, kAreaBytes / 2 + (step.b >> 9) % places);
        const bool back = (step.a & 0x8000) != 0;
        const u64 from = back ? other : one, to = back ? one : other;
        put(0, {method(4, 0x400, 8), high(from), low(from), high(to), low(to), pitch, pitch, bytes, lines});
        put(0, {method(4, 0x300, 1), lines == 1 ? 0x186u : 0x386u});  // not pipelined, flush, pitch; several lines
    }
    void fill(const Step& step) {
        const u64 to = va(0, (step.a % (kAreaBytes - 1024)) & ~u64{3});
        put(0, {method(4, 0x700, 3), step.b, ~step.b, 0x3'0004, method(4, 0x408, 2), high(to), low(to)});
        put(0, {method(4, 0x418, 2), 1 + step.b % 128, 1, method(4, 0x300, 1), 0x586u});
    }
    void inline_data(const Step& step) {
        const u64 to = va(1, (step.a % (kAreaBytes - 64)) & ~u64{3});
        const u32 words = 1 + step.b % 8;
        put(1, {method(1, 0x180, 4), 4 * words, 1, high(to), low(to), method(1, 0x1B0, 1), 0x41});
        put(1, {3u << 29 | words << 16 | 1u << 13 | 0x1B4 >> 2});
        for (u32 i = 0; i < words; ++i) put(1, {step.b + i});
    }
    void perform(const Step& step) {
        switch (step.kind % 8) {
            case 0:
            case 1:
                return step.channel == 0 ? copy(step, 1) : inline_data(step);
            case 2:
                return step.channel == 0 ? copy(step, 2 + step.b % 3) : inline_data(step);
            case 3:
                return step.channel == 0 ? fill(step) : inline_data(step);
            case 4:
                return release(step.channel, (step.a % (kAreaBytes - 16)) & ~u64{3}, step.b);
            case 5:
                bench_.machine().kernel().fibers().sleep_for({u64{step.b} & 0xFF'FFFF});
                return;
            default:
                return submit(step.channel);
        }
    }

    static std::vector<u8> make_pattern() {
        std::vector<u8> pattern(kPatternBytes);
        for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<u8>(i * 7 + i / 256);
        return pattern;
    }

    Channels bench_;
    const std::vector<u8> pattern_ = make_pattern();
    std::array<Lane, 2> lanes_;
};

// Names the first byte that differs.
bool same_memory(const char* machine, std::span<const u8> expected, std::span<const u8> found) {
    if (std::equal(expected.begin(), expected.end(), found.begin(), found.end())) return true;  // in large steps
    const auto [one, other] = std::mismatch(expected.begin(), expected.end(), found.begin(), found.end());
    const auto offset = static_cast<u64>(one - expected.begin());
    std::fprintf(stderr, "%s: channel %llu, offset 0x%llx: 0x%02x, expected 0x%02x\n", machine,
                 static_cast<unsigned long long>(offset / kAreaStride), static_cast<unsigned long long>(offset % kAreaStride),
                 unsigned{*other}, unsigned{*one});
    return false;
}

harness::MachineOptions with(u64 seed, bool timing) {
    harness::MachineOptions options;
    options.seed = seed;
    options.timing = timing;
    return options;
}

}  // namespace

void run_order(std::span<const u8> bytes) {
    static Worker nominal(with(0, true)), seeded(with(7, true)), untimed(with(0, false));
    const std::vector<Step> steps = read_steps(Input(bytes));
    const std::vector<u8> expected = nominal.run(steps);
    FUZZ_CHECK(same_memory("another seed", expected, seeded.run(steps)));
    FUZZ_CHECK(same_memory("no timing", expected, untimed.run(steps)));
}

}  // namespace fuzz
