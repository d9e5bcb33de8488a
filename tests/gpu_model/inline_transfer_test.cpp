// Inline-to-memory through the compute class: bytes, layouts, semaphores, errors; and the client's small memset, which
// is an inline transfer that a macro feeds.
#include "gpu_model/engine/i2m/inline_transfer.h"

#include <doctest/doctest.h>

#include <map>

#include "gpu_model/regs/regs.h"
#include "sim/rng.h"
#include "tests/support/macro_builder.h"
#include "tests/support/seeds.h"

using namespace bench;
using namespace nvc5c0;
using mme::Op;
using mme::Out;
namespace src = mme::source;

namespace {

constexpr u32 kPitch = LAUNCH_DMA_DST_MEMORY_LAYOUT_PITCH;
constexpr u32 kFlush = kPitch | LAUNCH_DMA_COMPLETION_TYPE_FLUSH_ONLY << 4;
constexpr u32 kRelease = kPitch | LAUNCH_DMA_COMPLETION_TYPE_RELEASE_SEMAPHORE << 4;

u32 hi(u64 va) { return static_cast<u32>(va >> 32); }
u32 lo(u64 va) { return static_cast<u32>(va); }

std::vector<u32> target(u64 va, u32 line_bytes, u32 lines, u32 pitch = 0) {
    return inc(1, LINE_LENGTH_IN, {line_bytes, lines, hi(va), lo(va), pitch});
}

std::vector<u32> launch(u32 word, const std::vector<u32>& data) {
    return inc(1, LAUNCH_DMA, {word}) + non_inc(1, LOAD_INLINE_DATA, data);
}

// The client's macro: as many words as it is told, all of one value.
Macro fill_macro() {
    Macro code;
    code.next().alu(0, Op::ADD, 0, src::Load0, src::Zero).alu(1, Op::ADD, 1, src::Load1, src::Zero);
    code.next().alu(0, Op::LOOP, src::Zero, 0, src::Zero).imm(0, 2);
    code.imm(1, macro_method(LOAD_INLINE_DATA, 0)).out(0, Out::IMM1, Out::NONE);
    code.next().alu(0, Op::ADD, src::Zero, 1, src::Zero).out(0, Out::NONE, Out::ALU0);
    return code.finish();
}

}  // namespace

TEST_CASE("P20: inline transfers of 1 to 9 bytes to unaligned places write exactly their bytes") {
    for (u64 seed = 0; seed < test_support::seed_count(5); ++seed) {
        CAPTURE(seed);
        for (u32 bytes = 1; bytes <= 9; ++bytes) {
            for (u32 shift = 0; shift < 4; ++shift) {
                CAPTURE(bytes);
                CAPTURE(shift);
                GrBench gr({}, true, seed);
                auto buffer = gr.bench.make_buffer(4096);
                std::vector<u8> before(64, 0xEE);
                gr.bench.write(buffer, 0, before);
                std::vector<u32> data;
                for (u32 i = 0; i < (bytes + 3) / 4; ++i) data.push_back(0x03020100 + 0x04040404 * i);
                gr.bench.submit(gr.channel, target(buffer.va + 16 + shift, bytes, 1) + launch(kFlush, data));
                gr.bench.run();
                CHECK(gr.bench.errors.empty());
                std::vector<u8> after = gr.bench.read(buffer, 0, 64);
                for (u32 i = 0; i < 64; ++i) {
                    bool inside = i >= 16 + shift && i < 16 + shift + bytes;
                    CHECK(after[i] == (inside ? i - 16 - shift : 0xEE));
                }
            }
        }
    }
}

TEST_CASE("P20: a short data stream leaves a pending transfer that the dump shows") {
    for (u64 seed = 0; seed < test_support::seed_count(5); ++seed) {
        CAPTURE(seed);
        GrBench gr({}, true, seed);
        auto buffer = gr.bench.make_buffer(4096);
        gr.bench.submit(gr.channel, target(buffer.va, 9, 2, 12) + launch(kFlush, {1, 2, 3, 4}));
        gr.bench.run();
        CHECK(gr.bench.errors.empty());
        CHECK(gr.bench.compute->describe(gr.channel.chid) == " inline data: line 1 of 2, byte 4 of 9, 2 words missing");
        CHECK(gr.bench.read32(buffer, 12) == 4);
        // Another method in its place is an error of MEMFMT.
        gr.bench.submit(gr.channel, inc(1, kScratch, {5}));
        gr.bench.run();
        REQUIRE(gr.bench.errors.size() == 1);
        const ChipError& error = gr.bench.errors[0];
        CHECK(error.source == ChipError::Source::Gr);
        CHECK(error.address == regs::NV_PGRAPH_PRI_MEMFMT_HWW_ESR.offset);
        CHECK(regs::NV_PGRAPH_PRI_MEMFMT_HWW_ESR_MISSING_INLINE_DATA::get(error.info2) == 1);
        CHECK(error.method == kScratch);
        CHECK(gr.state(kScratch) == 0);
    }
}

TEST_CASE("inline data that nothing waits for is an error") {
    GrBench gr;
    auto buffer = gr.bench.make_buffer(4096);
    gr.bench.submit(gr.channel, target(buffer.va, 8, 1) + launch(kFlush, {1, 2, 3}));
    gr.bench.run();
    REQUIRE(gr.bench.errors.size() == 1);
    CHECK(regs::NV_PGRAPH_PRI_MEMFMT_HWW_ESR_EXTRA_INLINE_DATA::get(gr.bench.errors[0].info2) == 1);
    CHECK(gr.bench.errors[0].data == 3);
    CHECK(gr.bench.read64(buffer, 0) == (u64{2} << 32 | 1));  // what came before it is done
}

TEST_CASE("inline lines go where pitch says, upwards too") {
    for (i32 pitch : {20, -20}) {
        GrBench gr;
        auto buffer = gr.bench.make_buffer(4096);
        gr.bench.submit(gr.channel, target(buffer.va + 100, 6, 3, static_cast<u32>(pitch)) +
                                        launch(kFlush, {0x11111111, 0x2222, 0x33333333, 0x4444, 0x55555555, 0x6666}));
        gr.bench.run();
        CHECK(gr.bench.errors.empty());
        for (i32 line = 0; line < 3; ++line) {
            std::vector<u8> bytes = gr.bench.read(buffer, static_cast<u64>(100 + pitch * line), 8);
            u8 first = static_cast<u8>(0x11 * (2 * line + 1)), second = static_cast<u8>(0x11 * (2 * line + 2));
            CHECK(bytes == std::vector<u8>{first, first, first, first, second, second, 0, 0});
        }
    }
}

// Where a byte of a block-linear surface lies, derived by walking blocks, GOBs and sectors in memory order.
static std::map<std::pair<u64, u64>, u64> block_linear_map(u32 width, u32 height, u32 block_gobs, u32 layer,
                                                          u32 block_slices) {
    std::map<std::pair<u64, u64>, u64> place;
    u64 offset = 0;
    u32 block_lines = block_gobs * 8;
    for (u32 z0 = 0; z0 <= layer; z0 += block_slices) {
        for (u32 y0 = 0; y0 < height; y0 += block_lines) {
            for (u32 x0 = 0; x0 < width; x0 += 64) {
                for (u32 z = z0; z < z0 + block_slices; ++z) {
                    for (u32 gob = 0; gob < block_gobs; ++gob) {
                        // Two halves of 32 bytes; in each, two groups of four lines; in each group, 16-byte columns; in
                        // each column, the four lines.
                        for (u32 half = 0; half < 2; ++half)
                            for (u32 group = 0; group < 2; ++group)
                                for (u32 column = 0; column < 2; ++column)
                                    for (u32 line = 0; line < 4; ++line)
                                        for (u32 byte = 0; byte < 16; ++byte, ++offset) {
                                            if (z != layer) continue;
                                            place[{x0 + half * 32 + column * 16 + byte,
                                                   y0 + gob * 8 + group * 4 + line}] = offset;
                                        }
                    }
                }
            }
        }
    }
    return place;
}

TEST_CASE("inline data into block-linear surfaces equals a walk in memory order") {
    sim::RandomStream rng(3, "i2m", "block linear");
    for (int round = 0; round < 60; ++round) {
        u32 height_log2 = static_cast<u32>(rng.below(4)), depth_log2 = static_cast<u32>(rng.below(3));
        u32 width = 16 + static_cast<u32>(rng.below(180)), height = 4 + static_cast<u32>(rng.below(60));
        u32 depth = 1 + static_cast<u32>(rng.below(5)), layer = static_cast<u32>(rng.below(depth));
        u32 x = static_cast<u32>(rng.below(width)), y = static_cast<u32>(rng.below(height));
        u32 line_bytes = 1 + static_cast<u32>(rng.below(width - x)), lines = 1 + static_cast<u32>(rng.below(height - y));
        GrBench gr;
        auto buffer = gr.bench.make_buffer(1 << 20);
        std::vector<u8> image(1 << 20, 0);
        auto place = block_linear_map(width, height, 1u << height_log2, layer, 1u << depth_log2);
        std::vector<u32> data;
        for (u32 line = 0; line < lines; ++line) {
            for (u32 at = 0; at < line_bytes; at += 4) {
                u32 word = static_cast<u32>(rng.next());
                data.push_back(word);
                for (u32 b = 0; b < 4 && at + b < line_bytes; ++b)
                    image[place.at({x + at + b, y + line})] = static_cast<u8>(word >> 8 * b);
            }
        }
        u32 block = height_log2 << 4 | depth_log2 << 8;
        auto words = target(buffer.va, line_bytes, lines) +
                     inc(1, SET_DST_BLOCK_SIZE, {block, width, height, depth, layer, x, y}) + inc(1, LAUNCH_DMA, {0});
        for (std::size_t at = 0; at < data.size(); at += 1000) {
            std::size_t end = std::min(data.size(), at + 1000);
            words = words + non_inc(1, LOAD_INLINE_DATA,
                                    {data.begin() + static_cast<std::ptrdiff_t>(at),
                                     data.begin() + static_cast<std::ptrdiff_t>(end)});
        }
        gr.bench.submit(gr.channel, words);
        gr.bench.run();
        CHECK(gr.bench.errors.empty());
        CHECK(gr.bench.read(buffer, 0, image.size()) == image);
    }
}

TEST_CASE("the client's small memset: a macro feeds the transfer") {
    GrBench gr;
    auto buffer = gr.bench.make_buffer(65536);
    std::vector<u8> guard(65536, 0xEE);
    gr.bench.write(buffer, 0, guard);
    auto setup = load_macro(0, fill_macro());
    // 4 KiB of one dword, then 7 bytes of one byte: the launch word and call that clients send.
    constexpr u32 kLaunch = 0x41;
    gr.bench.submit(gr.channel, setup + target(buffer.va + 4096, 4096, 1) + inc(1, LAUNCH_DMA, {kLaunch}) +
                                    inc(1, CALL_MME_MACRO, {0x400, 0xDEADBEEF}) + target(buffer.va + 3, 7, 1) +
                                    inc(1, LAUNCH_DMA, {kLaunch}) + inc(1, CALL_MME_MACRO, {2, 0x11111111}));
    gr.bench.run();
    CHECK(gr.bench.errors.empty());
    CHECK(gr.bench.idle(gr.channel));
    for (u32 i = 0; i < 4096; i += 4) REQUIRE(gr.bench.read32(buffer, 4096 + i) == 0xDEADBEEF);
    CHECK(gr.bench.read32(buffer, 8192) == 0xEEEEEEEE);
    CHECK(gr.bench.read(buffer, 0, 12) ==
          std::vector<u8>{0xEE, 0xEE, 0xEE, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0xEE, 0xEE});
}

TEST_CASE("the release of a transfer comes after its bytes, in every size, and as a reduction") {
    for (bool one_word : {false, true}) {
        GrBench gr;
        auto buffer = gr.bench.make_buffer(4096);
        auto semaphore = gr.bench.make_buffer(4096);
        std::vector<u8> guard(64, 0xEE);
        gr.bench.write(semaphore, 0, guard);
        u32 word = kRelease | (one_word ? LAUNCH_DMA_SEMAPHORE_STRUCT_SIZE_ONE_WORD << 12 : 0);
        auto address = inc(1, SET_I2M_SEMAPHORE_A, {hi(semaphore.va), lo(semaphore.va) + 16, 0x1234});
        gr.bench.submit(gr.channel, address + target(buffer.va, 8, 1) + inc(1, LAUNCH_DMA, {word}) +
                                        non_inc(1, LOAD_INLINE_DATA, {1}));
        gr.bench.run();
        CHECK(gr.bench.read32(semaphore, 16) == 0xEEEEEEEE);
        gr.bench.submit(gr.channel, non_inc(1, LOAD_INLINE_DATA, {2}));
        gr.bench.run();
        CHECK(gr.bench.errors.empty());
        CHECK(gr.bench.read32(buffer, 4) == 2);
        CHECK(gr.bench.read32(semaphore, 16) == 0x1234);
        CHECK(gr.bench.read32(semaphore, 12) == 0xEEEEEEEE);
        CHECK(gr.bench.read32(semaphore, 20) == (one_word ? 0xEEEEEEEE : 0));
        CHECK((gr.bench.read64(semaphore, 24) == 0xEEEEEEEEEEEEEEEE) == one_word);
        CHECK(gr.bench.read32(semaphore, 32) == 0xEEEEEEEE);
        // RED_ADD onto it, by a transfer without bytes.
        u32 reduce = kRelease | LAUNCH_DMA_REDUCTION_ENABLE_TRUE << 1 | LAUNCH_DMA_REDUCTION_OP_RED_ADD << 13;
        gr.bench.submit(gr.channel, target(buffer.va, 0, 1) + inc(1, LAUNCH_DMA, {reduce}));
        gr.bench.run();
        CHECK(gr.bench.read32(semaphore, 16) == 0x2468);
    }
}

TEST_CASE("launches that the class refuses, by class error code") {
    struct Case {
        u32 code;
        std::vector<u32> words;
    };
    auto block = [](u32 size, u32 width, u32 height, u32 depth, u32 layer, u32 x, u32 y) {
        return inc(1, SET_DST_BLOCK_SIZE, {size, width, height, depth, layer, x, y});
    };
    constexpr u64 kVa = u64{4} << 30;
    const Case cases[] = {
        {class_error::INVALID_ENUM, target(kVa, 4, 1) + inc(1, LAUNCH_DMA, {kPitch | 3 << 4})},
        {class_error::INVALID_ENUM, target(kVa, 4, 1) + inc(1, LAUNCH_DMA, {kFlush | 2 << 8})},
        {class_error::DST_LINE_EXCEEDS_PITCH, target(kVa, 8, 2, 7) + inc(1, LAUNCH_DMA, {kFlush})},
        {class_error::DST_LINE_EXCEEDS_NEG_PITCH, target(kVa, 8, 2, ~u32{0}) + inc(1, LAUNCH_DMA, {kFlush})},
        {class_error::INVALID_ENUM, target(kVa, 4, 1) + block(6 << 4, 64, 8, 1, 0, 0, 0) + inc(1, LAUNCH_DMA, {0})},
        {class_error::INVALID_ENUM, target(kVa, 4, 1) + block(1, 64, 8, 1, 0, 0, 0) + inc(1, LAUNCH_DMA, {0})},
        {class_error::INVALID_ALIGNMENT, target(kVa + 256, 4, 1) + block(0, 64, 8, 1, 0, 0, 0) + inc(1, LAUNCH_DMA, {0})},
        {class_error::LAYER_EXCEEDS_DEPTH, target(kVa, 4, 1) + block(0, 64, 8, 1, 1, 0, 0) + inc(1, LAUNCH_DMA, {0})},
        {class_error::I2M_RECT_OUT_OF_BOUNDS, target(kVa, 4, 1) + block(0, 64, 8, 1, 0, 61, 0) + inc(1, LAUNCH_DMA, {0})},
        {class_error::I2M_RECT_OUT_OF_BOUNDS, target(kVa, 4, 2) + block(0, 64, 8, 1, 0, 0, 7) + inc(1, LAUNCH_DMA, {0})},
    };
    for (const Case& c : cases) {
        CAPTURE(c.code);
        GrBench gr;
        gr.bench.submit(gr.channel, c.words);
        gr.bench.run();
        REQUIRE(gr.bench.errors.size() == 1);
        CHECK(gr.bench.errors[0].info == regs::NV_PGRAPH_INTR_CLASS_ERROR::make(1));
        CHECK(gr.bench.errors[0].info2 == c.code);
        CHECK(gr.bench.errors[0].class_id == cls::TURING_COMPUTE_A);
        CHECK(gr.bench.errors[0].method == LAUNCH_DMA);
        CHECK(gr.bench.gr_regs.read(regs::NV_PGRAPH_CLASS_ERROR) == c.code);
    }
}

TEST_CASE("a fault in the middle names the byte; what came before it is in memory") {
    GrBench gr;
    auto buffer = gr.bench.make_buffer(4096);
    gr.bench.submit(gr.channel, target(buffer.va + 4090, 12, 1) + launch(kFlush, {0x03020100, 0x07060504, 0x0B0A0908}));
    gr.bench.run();
    REQUIRE(gr.bench.errors.size() == 1);
    CHECK(gr.bench.errors[0].source == ChipError::Source::MmuFault);
    CHECK(gr.bench.errors[0].address == buffer.va + 4096);
    CHECK(gr.bench.read(buffer, 4088, 8) == std::vector<u8>{0, 0, 0, 1, 2, 3, 4, 5});
}

TEST_CASE("a word for the transfer per GP entry, and a state saved in between, end in the same memory") {
    auto memory_after = [](bool reload) {
        GrBench gr;
        auto buffer = gr.bench.make_buffer(4096);
        gr.bench.submit(gr.channel, target(buffer.va + 1, 30, 1) + inc(1, LAUNCH_DMA, {kFlush}));
        for (u32 i = 0; i < 8; ++i) {
            gr.bench.submit(gr.channel, non_inc(1, LOAD_INLINE_DATA, {0x01010101 * i}));
            if (!reload) continue;
            gr.bench.run(SimTime::from_us(3));
        }
        gr.bench.run();
        CHECK(gr.bench.errors.empty());
        return gr.bench.read(buffer, 0, 64);
    };
    CHECK(memory_after(false) == memory_after(true));
}
