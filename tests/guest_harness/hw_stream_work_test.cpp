// Pushbuffer words as work of a queue: order between queues, what is refused by name, and words that mean harm.
#include "guest_harness/hw/stream_work.h"

#include <doctest/doctest.h>

#include "gpu_model/engine/method_table.h"
#include "sim/rng.h"
#include "tests/guest_harness/memory_queues.h"

namespace harness::hw {
namespace {

constexpr u64 kBase = 0x120000000;
constexpr u64 kBytes = u64{1} << 20;
constexpr u32 kCopySubchannel = 4;

// Headers of clc46f.h: incrementing methods.
u32 header(u32 subchannel, u32 method, u32 count) { return u32{1} << 29 | count << 16 | subchannel << 13 | method / 4; }

struct Words {
    std::vector<u32> words;
    Words& put(u32 subchannel, u32 method, std::vector<u32> data) {
        words.push_back(header(subchannel, method, static_cast<u32>(data.size())));
        words.insert(words.end(), data.begin(), data.end());
        return *this;
    }
    Words& semaphore(u64 va, u32 payload, u32 execute) {
        return put(0, gpu::nvc46f::SEM_ADDR_LO, {static_cast<u32>(va), static_cast<u32>(va >> 32), payload, 0, execute});
    }
    Words& copy(u64 from, u64 to, u32 bytes) {
        namespace ce = gpu::nvc5b5;
        put(kCopySubchannel, gpu::nvc46f::SET_OBJECT, {gpu::cls::TURING_DMA_COPY_A});
        put(kCopySubchannel, ce::OFFSET_IN_UPPER,
            {static_cast<u32>(from >> 32), static_cast<u32>(from), static_cast<u32>(to >> 32), static_cast<u32>(to)});
        put(kCopySubchannel, ce::LINE_LENGTH_IN, {bytes, 1});
        return put(kCopySubchannel, ce::LAUNCH_DMA,
                   {ce::LAUNCH_DMA_DATA_TRANSFER_TYPE::make(ce::LAUNCH_DMA_DATA_TRANSFER_TYPE_NON_PIPELINED) |
                    ce::LAUNCH_DMA_SRC_MEMORY_LAYOUT::make(ce::LAUNCH_DMA_SRC_MEMORY_LAYOUT_PITCH) |
                    ce::LAUNCH_DMA_DST_MEMORY_LAYOUT::make(ce::LAUNCH_DMA_DST_MEMORY_LAYOUT_PITCH)});
    }
};

struct Bench {
    MemoryQueues queues{{{kBase, kBase + kBytes}}};
    Companions companions;
    StreamWork::Surroundings surroundings{queues, companions, [](u64 va, u64 bytes) {
        return va >= kBase && va < kBase + kBytes && bytes <= kBase + kBytes - va;
    }};
    StreamWork work() { return StreamWork(surroundings, gpu::cls::TURING_CHANNEL_GPFIFO_A); }
    u32 word(u64 va) {
        std::array<u8, 4> bytes{};
        queues.read(va, bytes);
        u32 value = 0;
        std::memcpy(&value, bytes.data(), sizeof(value));
        return value;
    }
};

constexpr u32 kAcquire = 0, kRelease = 1, kStrictGeq = 2, kCircGeq = 3, kReduction = 6;

}  // namespace

TEST_CASE("what stands behind an acquire waits for the other queue's release") {
    Bench bench;
    StreamWork first = bench.work(), second = bench.work();
    const std::vector<u8> pattern(64, 0x5a);
    bench.queues.store(kBase, pattern);
    first.submit(Words().semaphore(kBase + 0x1000, 7, kAcquire).copy(kBase, kBase + 0x2000, 64).words);
    CHECK(first.pump().empty());
    CHECK_FALSE(first.idle());
    CHECK(bench.word(kBase + 0x2000) == 0);
    second.submit(Words().semaphore(kBase + 0x1000, 7, kRelease).words);
    CHECK(second.idle());
    CHECK(first.idle());
    CHECK(bench.word(kBase + 0x2000) == 0x5a5a5a5a);
    CHECK(first.counts().copies == 1);
    CHECK(first.counts().semaphores == 1);
}

TEST_CASE("a queue that waits for ever can be given back") {
    Bench bench;
    StreamWork work = bench.work();
    work.submit(Words().semaphore(kBase + 0x100, 9, kCircGeq).semaphore(kBase + 0x200, 3, kAcquire).words);
    CHECK_FALSE(work.idle());
    work.release_waits();
    CHECK(work.idle());
}

TEST_CASE("what no stream does is named, and nothing behind it is done") {
    const auto refused = [](const Words& words) {
        Bench bench;
        StreamWork work = bench.work();
        work.submit(words.words);
        const std::string problem = work.pump();
        work.submit(Words().semaphore(kBase + 0x300, 1, kRelease).words);
        CHECK(bench.word(kBase + 0x300) == 0);
        return problem;
    };
    CHECK(refused(Words().semaphore(kBase, 1, kStrictGeq)).find("no stream waits so") != std::string::npos);
    CHECK(refused(Words().semaphore(kBase + kBytes, 1, kRelease)).find("semaphore release at 0x120100000") != std::string::npos);
    CHECK(refused(Words().semaphore(kBase, 1, kReduction | u32{1} << 24)).find("of 64 bits") != std::string::npos);
    CHECK(refused(Words().copy(kBase, kBase + kBytes - 8, 64)).find("what nothing of the trace maps") != std::string::npos);
    CHECK(refused(Words().copy(0x10, kBase, 64)).find("reads at 0x10") != std::string::npos);
    CHECK(refused(Words().put(1, gpu::nvc46f::SET_OBJECT, {gpu::cls::TURING_COMPUTE_A})
                      .put(1, gpu::nvc5c0::CALL_MME_MACRO, {1})).find("macro") != std::string::npos);
}

TEST_CASE("random words reach no memory but the trace's") {
    sim::RandomStream random(99, "test.stream_work", "words");
    u64 refused = 0;
    for (u32 round = 0; round < 1000; ++round) {
        Bench bench;
        StreamWork work = bench.work();
        Words words;
        words.put(1, gpu::nvc46f::SET_OBJECT, {gpu::cls::TURING_COMPUTE_A});
        words.put(kCopySubchannel, gpu::nvc46f::SET_OBJECT, {gpu::cls::TURING_DMA_COPY_A});
        for (u32 i = 0; i < 24; ++i) {
            const bool copy = random.below(2) != 0;
            const u32 method = copy ? static_cast<u32>(random.below(0x760 / 4)) * 4 : static_cast<u32>(random.below(0x1c00 / 4)) * 4;
            // Mostly addresses and sizes that could be meant.
            const u32 data = random.below(3) == 0   ? static_cast<u32>(random.next())
                             : random.below(2) == 0 ? static_cast<u32>(kBase >> 32)
                                                    : static_cast<u32>(kBase) + static_cast<u32>(random.below(0x4000));
            words.put(copy ? kCopySubchannel : static_cast<u32>(random.below(2)), method, {data});
        }
        work.submit(words.words);
        if (!work.pump().empty()) ++refused;
        work.release_waits();
    }
    CHECK(refused > 30);
}

}  // namespace harness::hw
