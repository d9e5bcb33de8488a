// Without timing the same work leaves the same memory, in hardly any virtual time; with other latencies, too. Only words that are
// times differ.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/chip_bench.h"

using namespace bench;
using namespace gpu;

namespace {

constexpr u64 kBytes = u64{1} << 16;
constexpr u64 kSemaphore = kBytes - 4096;  // the last page of each buffer holds semaphores, one every 16 bytes
constexpr u32 kPipelinedPitch = 1 | 1u << 7 | 1u << 8;
constexpr u32 kFourWord = 2u << 3;
constexpr u32 kHostRelease = nvc46f::SEM_EXECUTE_OPERATION_RELEASE | 1u << 20 | 1u << 24;  // after WFI, 64 bits
constexpr u32 kTimestamp = 1u << 25;

struct Worker {
    BenchChannel* channel = nullptr;
    ChipBench::Buffer src, dst;
    u32 semaphores = 0;
};

// What one workload leaves: the buffers with their timestamps blanked, those timestamps, and when it was over.
struct Left {
    std::vector<u8> memory;
    std::vector<u64> timestamps;
    SimTime end;
};

// Copies, semaphores of host and copy engine, and acquires on a copy engine's channel and the graphics engine's.
Left work(u64 seed, u64 workload, const TimingParams& params) {
    ChipBench bench(seed, params);
    sim::RandomStream random(workload, "tests", "timing off");
    Worker workers[2];
    for (u32 i = 0; i < 2; ++i) workers[i].channel = &bench.add_channel({.runlist = 1 + i});
    for (u32 runlist : {1u, 2u}) bench.submit_runlist(runlist);
    for (Worker& worker : workers) {
        worker.src = bench.make_buffer(kBytes, random.chance(1, 2));
        worker.dst = bench.make_buffer(kBytes, random.chance(1, 2));
        std::vector<u8> bytes(kSemaphore);
        for (u8& byte : bytes) byte = static_cast<u8>(random.next());
        bench.write(worker.src, 0, bytes);
    }
    ChipBench::Buffer turn = bench.make_buffer(4096);
    for (u32 step = 1; step <= 12; ++step) {
        // Each waits for the other's step before, so that the copies across both buffers have one order.
        Worker& worker = workers[step % 2];
        Worker& other = workers[1 - step % 2];
        std::vector<u32> words = semaphore(turn.va, step - 1, nvc46f::SEM_EXECUTE_OPERATION_ACQ_CIRC_GEQ);
        u64 from = random.below(kSemaphore / 2), to = random.below(kSemaphore / 2);
        const ChipBench::Buffer& source = random.chance(1, 2) ? worker.src : other.dst;
        u64 release = worker.dst.va + kSemaphore + 16 * worker.semaphores++;
        u32 length = static_cast<u32>(1 + random.below(kSemaphore / 2 - 1));
        words = words + inc(4, nvc5b5::SET_SEMAPHORE_A, {static_cast<u32>(release >> 32), static_cast<u32>(release), step}) +
                inc(4, nvc5b5::OFFSET_IN_UPPER,
                    {static_cast<u32>((source.va + from) >> 32), static_cast<u32>(source.va + from),
                     static_cast<u32>((worker.dst.va + to) >> 32), static_cast<u32>(worker.dst.va + to)}) +
                inc(4, nvc5b5::LINE_LENGTH_IN, {length}) +
                inc(4, nvc5b5::LAUNCH_DMA, {kPipelinedPitch | kFourWord | 1u << 2});
        release = worker.dst.va + kSemaphore + 16 * worker.semaphores++;
        words = words + semaphore(release, step, kHostRelease | kTimestamp) + semaphore(turn.va, step, kHostRelease);
        bench.submit(*worker.channel, words);
    }
    Left left;
    while (!bench.idle(*workers[0].channel) || !bench.idle(*workers[1].channel)) {
        REQUIRE(bench.kernel.events().run_one());
        REQUIRE(bench.kernel.now() < SimTime::from_ms(50));
    }
    left.end = bench.kernel.now();
    REQUIRE(bench.errors.empty());
    CHECK(bench.read32(turn, 0) == 12);
    for (Worker& worker : workers) {
        for (u32 i = 0; i < worker.semaphores; ++i) {
            left.timestamps.push_back(bench.read64(worker.dst, kSemaphore + 16 * i + 8));
            bench.write(worker.dst, kSemaphore + 16 * i + 8, std::vector<u8>(8, 0));
        }
        for (const ChipBench::Buffer& buffer : {worker.src, worker.dst}) {
            std::vector<u8> bytes = bench.read(buffer, 0, kBytes);
            left.memory.insert(left.memory.end(), bytes.begin(), bytes.end());
        }
    }
    return left;
}

}  // namespace

TEST_CASE("timing off: the same memory as with timing, for every workload and seed") {
    for (u64 workload = 1; workload <= 30; ++workload) {
        CAPTURE(workload);
        Left on = work(0, workload, timing_for("t4"));
        for (u64 seed : {u64{0}, workload}) {
            Left off = work(seed, workload, timing_for("t4", false));
            CHECK(off.memory == on.memory);
            CHECK(off.timestamps.size() == on.timestamps.size());
            // The runlists were submitted before; from there on the work itself takes less than a microsecond.
            CHECK(off.end < SimTime::from_us(21));
            CHECK(on.end > off.end + SimTime::from_us(5));
            for (u64 time : off.timestamps) CHECK(time <= off.end.ns());
        }
    }
}

TEST_CASE("timing: no byte depends on an uncertain latency: all of class B and C halved or doubled, or any one alone") {
    const TimingParams& board = timing_for("t4");
    auto scaled = [&board](std::string_view only, bool doubled) {
        TimingParams params = board;
        for (const TimingRow& row : timing_rows()) {
            if (row.evidence == 'A' || (!only.empty() && row.name != only)) continue;
            params.*row.member = doubled ? board.*row.member * 2 : std::max<u64>(board.*row.member / 2, 1);
        }
        return params;
    };
    for (bool doubled : {false, true}) {
        const TimingParams all = scaled({}, doubled);
        for (u64 workload = 1; workload <= 10; ++workload) {
            CAPTURE(workload);
            Left as_board = work(0, workload, board), as_scaled = work(0, workload, all);
            CHECK(as_scaled.memory == as_board.memory);
            CHECK(as_scaled.end != as_board.end);
        }
        const std::vector<u8> expected = work(0, 1, board).memory;
        for (const TimingRow& row : timing_rows()) {
            CAPTURE(row.name);
            const TimingParams one = scaled(row.name, doubled);
            CHECK(work(0, 1, one).memory == expected);
        }
    }
}

TEST_CASE("timing off: what repeats moves the clock, and what waits still waits") {
    // Six million words: a picosecond each, so that nothing goes on for ever at one instant.
    ChipBench bench(0, false);
    BenchChannel& channel = bench.add_channel({.runlist = 1, .acquire = 0x00000102 | 1u << 31 | 4u << 11 | 100u << 15});
    bench.submit_runlist(1);
    const std::vector<u32> words(100'000, 0);
    constexpr u32 kEntries = 60;
    bench.push(channel, words);
    const u64 entry = bench.vram.read_u64(channel.ring);
    for (u32 i = 1; i < kEntries; ++i) bench.push_entry(channel, static_cast<u32>(entry), static_cast<u32>(entry >> 32));
    SimTime before = bench.kernel.now();
    bench.ring_doorbell(channel);
    while (!bench.idle(channel)) REQUIRE(bench.kernel.events().run_one());
    CHECK(bench.kernel.now() - before > SimTime::from_us(4));
    CHECK(bench.kernel.now() - before < SimTime::from_us(7));
    // An acquire polls at the board's pace and times out when it says.
    ChipBench::Buffer never = bench.make_buffer(4096);
    bench.submit(channel, semaphore(never.va, 6, 0));
    bench.run(SimTime::from_us(1500));
    CHECK(bench.errors.empty());
    bench.run(SimTime::from_us(500));
    REQUIRE(bench.errors.size() == 1);
    CHECK(bench.errors[0].info == pbdma_intr::ACQUIRE);
}

TEST_CASE("timing off: its parameters are the board's or smaller, and never zero") {
    for (std::string_view chip : chip_names()) {
        const TimingParams& on = timing_for(chip);
        const TimingParams& off = timing_for(chip, false);
        CHECK(on.modelled);
        CHECK(!off.modelled);
        for (const TimingRow& row : timing_rows()) {
            CAPTURE(row.name);
            CHECK(off.*row.member > 0);
            const bool rate = row.name.find("_per_us") != std::string_view::npos;
            if (rate) CHECK(off.*row.member > on.*row.member);
            else CHECK(off.*row.member <= on.*row.member);
        }
    }
}
