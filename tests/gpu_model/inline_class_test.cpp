// KEPLER_INLINE_TO_MEMORY_B: inline data by a class of its own, beside the compute class of the same channel.
#include <doctest/doctest.h>

#include "gpu_model/regs/regs.h"
#include "tests/support/graphics_bench.h"
#include "tests/support/seeds.h"

using namespace bench;
using namespace gpu;

namespace {

constexpr u32 kComputeSubchannel = 1, kInlineSubchannel = 2;
// The offsets are those of the compute class.
constexpr u32 kPitch = nvc5c0::LAUNCH_DMA_DST_MEMORY_LAYOUT::make(nvc5c0::LAUNCH_DMA_DST_MEMORY_LAYOUT_PITCH);
constexpr u32 kFlush = kPitch | nvc5c0::LAUNCH_DMA_COMPLETION_TYPE::make(nvc5c0::LAUNCH_DMA_COMPLETION_TYPE_FLUSH_ONLY);
constexpr u32 kRelease = kPitch | nvc5c0::LAUNCH_DMA_COMPLETION_TYPE::make(nvc5c0::LAUNCH_DMA_COMPLETION_TYPE_RELEASE_SEMAPHORE) |
                         nvc5c0::LAUNCH_DMA_SEMAPHORE_STRUCT_SIZE::make(nvc5c0::LAUNCH_DMA_SEMAPHORE_STRUCT_SIZE_ONE_WORD);

std::vector<u32> bind() {
    return inc(kComputeSubchannel, nvc5c0::SET_OBJECT, {cls::TURING_COMPUTE_A}) +
           inc(kInlineSubchannel, nvc5c0::SET_OBJECT, {cls::KEPLER_INLINE_TO_MEMORY_B});
}

std::vector<u32> transfer(u32 subchannel, u64 va, u32 bytes, u32 word, const std::vector<u32>& data) {
    return inc(subchannel, nvc5c0::LINE_LENGTH_IN, {bytes, 1, static_cast<u32>(va >> 32), static_cast<u32>(va)}) +
           inc(subchannel, nvc5c0::LAUNCH_DMA, {word}) + non_inc(subchannel, nvc5c0::LOAD_INLINE_DATA, data);
}

}  // namespace

TEST_CASE("inline class: bytes and semaphore arrive, and the compute class keeps its own state") {
    for (u64 seed = 0; seed < test_support::seed_count(20); ++seed) {
        CAPTURE(seed);
        GrBench gr({}, true, seed);
        ChipBench::Buffer buffer = gr.bench.make_buffer(4096);
        const u64 word = buffer.va + 512;
        gr.bench.write(buffer, 0, std::vector<u8>(64, 0xEE));
        gr.bench.submit(gr.channel, bind() + inc(kComputeSubchannel, nvc5c0::LINE_LENGTH_IN, {77}) +
                                        inc(kInlineSubchannel, nvc5c0::SET_I2M_SEMAPHORE_A,
                                            {static_cast<u32>(word >> 32), static_cast<u32>(word), 9}) +
                                        transfer(kInlineSubchannel, buffer.va + 3, 6, kRelease, {0x04030201, 0x0605}));
        gr.bench.run();
        CHECK(gr.bench.errors.empty());
        CHECK(gr.bench.read(buffer, 0, 10) == std::vector<u8>{0xEE, 0xEE, 0xEE, 1, 2, 3, 4, 5, 6, 0xEE});
        CHECK(gr.bench.read32(buffer, 512) == 9);
        CHECK(gr.state(nvc5c0::LINE_LENGTH_IN) == 77);
        CHECK(gr.bench.kernel.unmodelled().entries().empty());
    }
}

TEST_CASE("inline class: transfers of both classes wait beside each other, and both show") {
    GrBench gr;
    ChipBench::Buffer one = gr.bench.make_buffer(4096), two = gr.bench.make_buffer(4096);
    gr.bench.submit(gr.channel, bind() + transfer(kComputeSubchannel, one.va, 8, kFlush, {1}) +
                                    transfer(kInlineSubchannel, two.va, 12, kFlush, {2}));
    gr.bench.run();
    CHECK(gr.bench.errors.empty());
    std::string text = gr.bench.compute->describe(gr.channel.chid);
    CHECK(text.find("byte 4 of 8") != std::string::npos);
    CHECK(text.find("byte 4 of 12") != std::string::npos);
    gr.bench.submit(gr.channel, non_inc(kInlineSubchannel, nvc5c0::LOAD_INLINE_DATA, {3, 4}) +
                                    non_inc(kComputeSubchannel, nvc5c0::LOAD_INLINE_DATA, {5}));
    gr.bench.run();
    CHECK(gr.bench.errors.empty());
    CHECK(gr.bench.read64(one, 0) == (u64{5} << 32 | 1));
    CHECK(gr.bench.read64(two, 0) == (u64{3} << 32 | 2));
    CHECK(gr.bench.read32(two, 8) == 4);
    CHECK(gr.bench.compute->describe(gr.channel.chid).empty());
}

TEST_CASE("inline class: what only the compute class has is illegal; scratch words are state") {
    for (u32 method : {nvc5c0::SEND_PCAS_A, nvc5c0::LOAD_MME_INSTRUCTION_RAM, nvc5c0::SET_MME_SHADOW_RAM_CONTROL, kScratch, 0x168u}) {
        CAPTURE(method);
        GrBench gr;
        gr.bench.submit(gr.channel, bind() + inc(kInlineSubchannel, method, {1}));
        gr.bench.run();
        REQUIRE(gr.bench.errors.size() == 1);
        CHECK(gr.bench.errors[0].class_id == cls::KEPLER_INLINE_TO_MEMORY_B);
        CHECK(gr.bench.errors[0].info2 == class_error::ILLEGAL_METHOD);
        CHECK(gr.bench.errors[0].method == method);
    }
    GrBench gr;
    std::vector<u32> words = bind();
    constexpr u32 kFirstScratch = 0x200, kScratchEnd = 0x280;
    for (u32 method = kFirstScratch; method < kScratchEnd; method += 4) words = words + inc(kInlineSubchannel, method, {method});
    gr.bench.submit(gr.channel, words + inc(kInlineSubchannel, nvc5c0::WAIT_FOR_IDLE, {0}));
    gr.bench.run();
    CHECK(gr.bench.errors.empty());
    CHECK(gr.state(nvc5c0::INVALIDATE_SHADER_CACHES) == 0);
    // A subchannel may be bound anew.
    gr.bench.submit(gr.channel, inc(kInlineSubchannel, nvc5c0::SET_OBJECT, {cls::TURING_COMPUTE_A}) +
                                    inc(kInlineSubchannel, kScratch, {6}));
    gr.bench.run();
    CHECK(gr.bench.errors.empty());
    CHECK(gr.state(kScratch) == 6);
}

TEST_CASE("inline class: random methods and data never do more than stop their channel") {
    for (u64 seed = 0; seed < test_support::seed_count(60); ++seed) {
        CAPTURE(seed);
        sim::RandomStream random(seed, "tests", "inline class");
        GrBench gr({}, true, seed);
        BenchChannel& other = gr.add({});
        gr.bench.submit_runlist(0);
        ChipBench::Buffer buffer = gr.bench.make_buffer(1 << 16);
        std::vector<u32> words = bind();
        for (u32 i = 0; i < 60; ++i) {
            u32 method = static_cast<u32>(0x100 + random.below(0x60) * 4);
            u32 data = random.chance(1, 2) ? static_cast<u32>(random.below(64)) : static_cast<u32>(random.next());
            if (method == nvc5c0::OFFSET_OUT_UPPER) data = static_cast<u32>(buffer.va >> 32);
            if (method == nvc5c0::OFFSET_OUT) data = static_cast<u32>(buffer.va + random.below(1 << 15));
            words = words + inc(kInlineSubchannel, method, {data});
        }
        gr.bench.submit(gr.channel, words);
        gr.bench.run(SimTime::from_ms(5));
        CHECK(gr.bench.errors.size() <= 1);
        for (const ChipError& error : gr.bench.errors) CHECK(error.chid == gr.channel.chid);
        gr.bench.submit(other, inc(kComputeSubchannel, kScratch, {3}));
        gr.bench.run(SimTime::from_ms(5));
        CHECK(gr.bench.compute->state(other.chid, kScratch) == 3);
    }
}
