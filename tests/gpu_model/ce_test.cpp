// Copy engines end to end against a scalar reference that is written apart from the model.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "tests/support/chip_bench.h"
#include "tests/support/seeds.h"

using namespace bench;
using namespace gpu;

namespace {

constexpr u32 kPitch = 1u << 7 | 1u << 8;
constexpr u32 kPipelined = 1;
constexpr u32 kMultiLine = 1u << 9;
constexpr u32 kRemap = 1u << 10;
constexpr u32 kOneWord = 1u << 3;
constexpr u32 kFourWord = 2u << 3;
constexpr u32 kFlush = 1u << 2;

struct CeBench {
    ChipBench bench;
    BenchChannel& channel;
    explicit CeBench(ChannelOptions options = {}, u64 seed = 0) : bench(seed), channel(bench.add_channel(options)) {
        bench.submit_runlist(options.runlist);
    }
    Ce& ce() { return *bench.ces[2]; }  // runlist 1
    u32 launch_error() { return ce().read(0x18); }
};

// Methods by name, then LAUNCH_DMA.
using Methods = std::map<u32, u32>;
std::vector<u32> launch(const Methods& methods, u32 launch_dma) {
    std::vector<u32> words;
    for (auto [method, data] : methods) words = words + inc(4, method, {data});
    return words + inc(4, nvc5b5::LAUNCH_DMA, {launch_dma});
}

void set_address(Methods& methods, u32 upper, u64 va) {
    methods[upper] = static_cast<u32>(va >> 32);
    methods[upper + 4] = static_cast<u32>(va);
}

std::vector<u8> random_bytes(sim::RandomStream& random, u64 count) {
    std::vector<u8> bytes(count);
    for (u8& byte : bytes) byte = static_cast<u8>(random.next());
    return bytes;
}

// The reference: one byte at a time, layout by dividing, nothing shared with the model.
struct Surface {
    bool block_linear = false;
    i64 pitch = 0;
    u32 width = 0, height = 0, depth = 0, layer = 0, x = 0, y = 0, height_log2 = 0,
        depth_log2 = 0;  // width and x in elements
};

u64 reference_offset(const Surface& s, u32 element_bytes, u64 line, u64 byte) {
    if (!s.block_linear) return static_cast<u64>(s.pitch * static_cast<i64>(line)) + byte;
    u64 bx = u64{s.x} * element_bytes + byte;
    u64 by = s.y + line;
    u64 row_bytes = u64{s.width} * element_bytes;
    u64 gobs_x = row_bytes / 64 + (row_bytes % 64 != 0);
    u64 lines = u64{8} << s.height_log2;
    u64 slices = u64{1} << s.depth_log2;
    u64 blocks_y = s.height / lines + (s.height % lines != 0);
    u64 block_bytes = 64 * lines * slices;
    u64 block = (s.layer / slices * blocks_y + by / lines) * gobs_x + bx / 64;
    u64 gob = s.layer % slices * (lines / 8) + by % lines / 8;
    u64 gx = bx % 64, gy = by % 8;
    return block * block_bytes + gob * 512 + gx / 32 * 256 + gy / 4 * 128 + gx % 32 / 16 * 64 + gy % 4 * 16 + gx % 16;
}

struct Launch {
    Surface src, dst;
    u32 elements = 0, lines = 1;
    bool remap = false;
    u32 component = 1, num_src = 1, num_dst = 1;
    u32 select[4] = {0, 0, 0, 0};
    u32 const_a = 0, const_b = 0;
    u32 src_element() const { return remap ? component * num_src : 1; }
    u32 dst_element() const { return remap ? component * num_dst : 1; }
};

void reference_copy(const Launch& l, const std::vector<u8>& src, u64 src_base, std::vector<u8>& dst, u64 dst_base) {
    for (u32 line = 0; line < l.lines; ++line) {
        for (u32 e = 0; e < l.elements; ++e) {
            for (u32 c = 0; c < (l.remap ? l.num_dst : 1); ++c) {
                u32 size = l.remap ? l.component : 1;
                for (u32 b = 0; b < size; ++b) {
                    u8 value = 0;
                    u32 select = l.remap ? l.select[c] : 0;
                    if (select == 6) continue;
                    if (select == 4)
                        value = static_cast<u8>(l.const_a >> 8 * b);
                    else if (select == 5)
                        value = static_cast<u8>(l.const_b >> 8 * b);
                    else
                        value = src[src_base + reference_offset(l.src, l.src_element(), line,
                                                                u64{e} * l.src_element() + select * size + b)];
                    dst[dst_base + reference_offset(l.dst, l.dst_element(), line,
                                                    u64{e} * l.dst_element() + c * size + b)] = value;
                }
            }
        }
    }
}

void add_surface(Methods& methods, const Surface& s, u32 block_size, u32 origin, u32 pitch) {
    methods[pitch] = static_cast<u32>(s.pitch);
    if (!s.block_linear) return;
    methods[block_size] = s.height_log2 << 4 | s.depth_log2 << 8 | 1u << 12;
    methods[block_size + 4] = s.width;
    methods[block_size + 8] = s.height;
    methods[block_size + 12] = s.depth;
    methods[block_size + 16] = s.layer;
    methods[origin] = s.x;
    methods[origin + 4] = s.y;
}

std::vector<u32> encode(const Launch& l, u64 src_va, u64 dst_va) {
    Methods methods;
    set_address(methods, nvc5b5::OFFSET_IN_UPPER, src_va);
    set_address(methods, nvc5b5::OFFSET_OUT_UPPER, dst_va);
    methods[nvc5b5::LINE_LENGTH_IN] = l.elements;
    methods[nvc5b5::LINE_COUNT] = l.lines;
    add_surface(methods, l.src, nvc5b5::SET_SRC_BLOCK_SIZE, nvc5b5::SRC_ORIGIN_X, nvc5b5::PITCH_IN);
    add_surface(methods, l.dst, nvc5b5::SET_DST_BLOCK_SIZE, nvc5b5::DST_ORIGIN_X, nvc5b5::PITCH_OUT);
    methods[nvc5b5::SET_REMAP_CONST_A] = l.const_a;
    methods[nvc5b5::SET_REMAP_CONST_B] = l.const_b;
    methods[nvc5b5::SET_REMAP_COMPONENTS] = l.select[0] | l.select[1] << 4 | l.select[2] << 8 | l.select[3] << 12 |
                                            (l.component - 1) << 16 | (l.num_src - 1) << 20 | (l.num_dst - 1) << 24;
    u32 word = kPipelined | kMultiLine | (l.src.block_linear ? 0 : 1u << 7) | (l.dst.block_linear ? 0 : 1u << 8) |
               (l.remap ? kRemap : 0);
    return launch(methods, word);
}

u64 surface_bytes(const Surface& s, u32 element_bytes) {
    u64 lines = u64{8} << s.height_log2;
    u64 slices = u64{1} << s.depth_log2;
    u64 gobs = (u64{s.width} * element_bytes + 63) / 64;
    return gobs * 64 * ((s.height + lines - 1) / lines * lines) * ((s.depth + slices - 1) / slices * slices);
}

Surface random_surface(sim::RandomStream& random, bool block_linear, u32 elements, u32 lines, u32 element_bytes) {
    Surface s;
    s.block_linear = block_linear;
    if (!block_linear) {
        s.pitch = static_cast<i64>(u64{elements} * element_bytes + random.below(70));
        if (random.chance(1, 6)) s.pitch = -s.pitch;  // lines go upwards
        return s;
    }
    s.height_log2 = static_cast<u32>(random.below(6));
    s.depth_log2 = static_cast<u32>(random.below(6));
    s.x = static_cast<u32>(random.below(80));
    s.y = static_cast<u32>(random.below(20));
    s.width = s.x + elements + static_cast<u32>(random.below(100));
    s.height = s.y + lines + static_cast<u32>(random.below(10));
    s.depth = 1 + static_cast<u32>(random.below(5));
    s.layer = static_cast<u32>(random.below(s.depth));
    return s;
}

}  // namespace

TEST_CASE("a plain copy, in every pair of memories, and its time") {
    for (bool src_sys : {false, true}) {
        for (bool dst_sys : {false, true}) {
            CeBench ce;
            ChipBench::Buffer src = ce.bench.make_buffer(1 << 20, src_sys);
            ChipBench::Buffer dst = ce.bench.make_buffer(1 << 20, dst_sys);
            sim::RandomStream random(1, "tests", "plain");
            std::vector<u8> bytes = random_bytes(random, 1 << 20);
            ce.bench.write(src, 0, bytes);
            Methods methods;
            set_address(methods, nvc5b5::OFFSET_IN_UPPER, src.va + 3);
            set_address(methods, nvc5b5::OFFSET_OUT_UPPER, dst.va + 5);
            methods[nvc5b5::LINE_LENGTH_IN] = (1 << 20) - 100;
            ce.bench.submit(ce.channel, launch(methods, kPipelined | kPitch));
            SimTime start = ce.bench.kernel.now();
            while (ce.ce().read(0) == 0) REQUIRE(ce.bench.kernel.events().run_one());
            while (ce.ce().read(0) != 0) REQUIRE(ce.bench.kernel.events().run_one());
            u64 took_us = (ce.bench.kernel.now() - start).us();
            // 1 MiB: about 10 us inside video memory, about 85 over the bus.
            CHECK(took_us < (src_sys || dst_sys ? 200 : 30));
            CHECK(took_us >= (src_sys || dst_sys ? 60 : 5));
            ce.bench.run();
            CHECK(ce.bench.errors.empty());
            std::vector<u8> expected(1 << 20, 0);
            std::copy(bytes.begin() + 3, bytes.begin() + 3 + (1 << 20) - 100, expected.begin() + 5);
            CHECK(ce.bench.read(dst, 0, 1 << 20) == expected);
        }
    }
}

// TU104SIM_RANDOM_LAUNCHES sets how many launches are tried: a few thousand here, 100000 by hand.
static u32 random_launch_count() {
    const char* text = std::getenv("TU104SIM_RANDOM_LAUNCHES");
    return text == nullptr ? 3000 : static_cast<u32>(std::strtoul(text, nullptr, 10));
}

static Launch random_launch(sim::RandomStream& random) {
    Launch l;
    l.elements = static_cast<u32>(random.chance(1, 20) ? random.below(3000) : random.below(200));
    l.lines = static_cast<u32>(random.below(12)) + (random.chance(1, 10) ? 30 : 0);
    l.remap = random.chance(1, 2);
    if (l.remap) {
        l.component = 1 + static_cast<u32>(random.below(4));
        l.num_src = 1 + static_cast<u32>(random.below(4));
        l.num_dst = 1 + static_cast<u32>(random.below(4));
        bool constants_only = random.chance(1, 3);
        for (u32& select : l.select) {
            select = constants_only ? 4 + static_cast<u32>(random.below(2)) : static_cast<u32>(random.below(7));
            if (select < 4 && select >= l.num_src) select = 6;
        }
        l.const_a = static_cast<u32>(random.next());
        l.const_b = static_cast<u32>(random.next());
    }
    bool src_block = random.chance(1, 2);
    bool dst_block = random.chance(1, 2);
    l.src = random_surface(random, src_block, l.elements, l.lines, l.src_element());
    l.dst = random_surface(random, dst_block, l.elements, l.lines, l.dst_element());
    // Surfaces that are cut at the same places, whole GOBs among them: those move without staging.
    if (!random.chance(1, 3)) return l;
    for (Surface* s : {&l.src, &l.dst}) {
        if (!s->block_linear) continue;
        s->x = l.remap ? 0 : l.src.x / 64 * 64 + (random.chance(1, 2) ? 0 : 64);
        s->y = l.src.y / 8 * 8;
        s->width = s->x + l.elements + 64;
        s->height = s->y + l.lines + 8;
    }
    return l;
}

TEST_CASE("thousands of random launches equal the scalar reference") {
    sim::RandomStream random(7, "tests", "copies");
    constexpr u64 kBytes = u64{1} << 21;
    std::vector<u8> src_bytes = random_bytes(random, kBytes);
    u32 by_kind[8] = {}, by_shape[6][6] = {}, upwards = 0;
    u32 wanted = random_launch_count();
    constexpr u32 kPerBench = 1000;  // what one pushbuffer holds
    for (u32 first = 0; first < wanted; first += kPerBench) {
        CeBench ce;
        const bool from_sysmem = first / kPerBench % 2 == 1;
        ChipBench::Buffer src = ce.bench.make_buffer(kBytes, from_sysmem);
        ChipBench::Buffer dst = ce.bench.make_buffer(kBytes, !from_sysmem);
        std::vector<u8> dst_bytes = random_bytes(random, kBytes);
        ce.bench.write(src, 0, src_bytes);
        ce.bench.write(dst, 0, dst_bytes);
        for (u32 run = 0; run < std::min(kPerBench, wanted - first);) {
            Launch l = random_launch(random);
            bool src_block = l.src.block_linear, dst_block = l.dst.block_linear;
            const auto pitch_bytes = [&l](const Surface& s) { return static_cast<u64>(std::abs(s.pitch)) * (l.lines + 1); };
            u64 src_size = src_block ? surface_bytes(l.src, l.src_element()) : pitch_bytes(l.src);
            u64 dst_size = dst_block ? surface_bytes(l.dst, l.dst_element()) : pitch_bytes(l.dst);
            if (src_size > kBytes / 2 || dst_size > kBytes / 2) continue;
            // Lines that go upwards begin in the upper half.
            u64 src_base = random.below(kBytes / 2) + (l.src.pitch < 0 ? kBytes / 2 : 0);
            u64 dst_base = random.below(kBytes / 2) + (l.dst.pitch < 0 ? kBytes / 2 : 0);
            if (src_block) src_base &= ~u64{511};
            if (dst_block) dst_base &= ~u64{511};
            // The line that starts there still has to end inside.
            if (src_base + (src_block ? 0 : pitch_bytes(l.src)) > kBytes && l.src.pitch < 0) continue;
            if (dst_base + (dst_block ? 0 : pitch_bytes(l.dst)) > kBytes && l.dst.pitch < 0) continue;
            ce.bench.submit(ce.channel, encode(l, src.va + src_base, dst.va + dst_base));
            ce.bench.run(SimTime::from_ms(1));
            REQUIRE_MESSAGE(ce.bench.errors.empty(), "launch ", first + run, " LAUNCHERR ", ce.launch_error());
            reference_copy(l, src_bytes, src_base, dst_bytes, dst_base);
            ++by_kind[(src_block ? 1 : 0) | (dst_block ? 2 : 0) | (l.remap ? 4 : 0)];
            for (const Surface* s : {&l.src, &l.dst}) {
                if (s->block_linear) ++by_shape[s->height_log2][s->depth_log2];
                if (s->pitch < 0 && l.lines > 1) ++upwards;
            }
            ++run;
            // Whole-buffer compare now and then: a stray store anywhere is found.
            if (run % 16 == 0) REQUIRE_MESSAGE(ce.bench.read(dst, 0, kBytes) == dst_bytes, "by launch ", first + run);
        }
        CHECK(ce.bench.read(dst, 0, kBytes) == dst_bytes);
        CHECK(ce.bench.read(src, 0, kBytes) == src_bytes);
    }
    for (u32 count : by_kind) CHECK(count > wanted / 30);
    for (const auto& heights : by_shape) {
        for (u32 count : heights) CHECK(count > wanted / 500);
    }
    CHECK(upwards > wanted / 30);
}

TEST_CASE("P19: fills with every component size, 1 to 4 components, NO_WRITE lanes, three lines with padding") {
    for (u64 seed = 0; seed < test_support::seed_count(10); ++seed) {
        CAPTURE(seed);
        sim::RandomStream random(19 + seed, "tests", "fills");
        CeBench ce({}, seed);
        ChipBench::Buffer dst = ce.bench.make_buffer(1 << 16);
        for (u32 component = 1; component <= 4; ++component) {
            for (u32 num_dst = 1; num_dst <= 4; ++num_dst) {
                for (u32 no_write = 0; no_write <= 4; ++no_write) {
                    CAPTURE(component);
                    CAPTURE(num_dst);
                    CAPTURE(no_write);
                    Launch l;
                    l.remap = true;
                    l.component = component;
                    l.num_dst = num_dst;
                    for (u32 i = 0; i < 4; ++i) l.select[i] = i == no_write ? 6 : 4 + (i & 1);
                    l.const_a = 0xA1A2A3A4;
                    l.const_b = 0xB1B2B3B4;
                    l.elements = 1 + static_cast<u32>(random.below(60));
                    l.lines = 3;
                    l.dst.pitch = 1024;
                    std::vector<u8> bytes = random_bytes(random, 1 << 14);
                    ce.bench.write(dst, 0, bytes);
                    std::vector<u8> no_source;
                    // The source address is not mapped: nothing may read it.
                    ce.bench.submit(ce.channel, encode(l, 0x10, dst.va + 100));
                    ce.bench.run(SimTime::from_ms(1));
                    REQUIRE(ce.bench.errors.empty());
                    reference_copy(l, no_source, 0, bytes, 100);
                    CHECK(ce.bench.read(dst, 0, 1 << 14) == bytes);
                }
            }
        }
    }
}

TEST_CASE("large fills keep their phase over page and range ends") {
    for (u32 component = 1; component <= 4; ++component) {
        for (u32 num_dst = 1; num_dst <= 3; ++num_dst) {
            CeBench ce;
            ChipBench::Buffer dst = ce.bench.make_buffer(3 << 20);
            Launch l;
            l.remap = true;
            l.component = component;
            l.num_dst = num_dst;
            for (u32 i = 0; i < 4; ++i) l.select[i] = 4 + (i & 1);
            l.const_a = 0x01020304;
            l.const_b = 0x05060708;
            l.elements = (2u << 20) / (component * num_dst) + 7;
            std::vector<u8> bytes(3 << 20, 0);
            ce.bench.submit(ce.channel, encode(l, 0, dst.va + 333));
            ce.bench.run();
            REQUIRE(ce.bench.errors.empty());
            reference_copy(l, {}, 0, bytes, 333);
            CHECK(ce.bench.read(dst, 0, 3 << 20) == bytes);
        }
    }
}

TEST_CASE("overlapping copies go forward, byte by byte") {
    sim::RandomStream random(3, "tests", "overlap");
    CeBench ce;
    ChipBench::Buffer buffer = ce.bench.make_buffer(1 << 18);
    for (int round = 0; round < 60; ++round) {
        u64 length = 1 + random.below(round % 2 == 0 ? 3000 : 100000);
        u64 src = 40000 + random.below(1000);
        u64 dst = random.chance(1, 2) ? src + 1 + random.below(5000) : src - random.below(5000);
        std::vector<u8> bytes = random_bytes(random, 1 << 18);
        ce.bench.write(buffer, 0, bytes);
        Methods methods;
        set_address(methods, nvc5b5::OFFSET_IN_UPPER, buffer.va + src);
        set_address(methods, nvc5b5::OFFSET_OUT_UPPER, buffer.va + dst);
        methods[nvc5b5::LINE_LENGTH_IN] = static_cast<u32>(length);
        ce.bench.submit(ce.channel, launch(methods, kPipelined | kPitch));
        ce.bench.run(SimTime::from_ms(1));
        for (u64 i = 0; i < length; ++i) bytes[dst + i] = bytes[src + i];
        CHECK(ce.bench.read(buffer, 0, 1 << 18) == bytes);
    }
}

TEST_CASE("negative pitch walks upwards through a picture") {
    CeBench ce;
    ChipBench::Buffer src = ce.bench.make_buffer(4096);
    ChipBench::Buffer dst = ce.bench.make_buffer(4096);
    for (u32 i = 0; i < 4; ++i) ce.bench.write32(src, i * 256, i + 1);
    Launch l;
    l.elements = 4;
    l.lines = 4;
    l.src.pitch = -256;
    l.dst.pitch = 16;
    ce.bench.submit(ce.channel, encode(l, src.va + 3 * 256, dst.va));
    ce.bench.run();
    for (u32 i = 0; i < 4; ++i) CHECK(ce.bench.read32(dst, i * 16) == 4 - i);
}

TEST_CASE("P18: ONE_WORD writes exactly 4 bytes, FOUR_WORD exactly 16, after the data") {
    for (u64 seed = 0; seed < test_support::seed_count(10); ++seed) {
        CAPTURE(seed);
        for (bool four : {false, true}) {
            CeBench ce({}, seed);
            ChipBench::Buffer src = ce.bench.make_buffer(1 << 20);
            ChipBench::Buffer dst = ce.bench.make_buffer(1 << 20);
            ChipBench::Buffer sem = ce.bench.make_buffer(4096);
            ce.bench.write(src, 0, std::vector<u8>(1 << 20, 0x5A));
            ce.bench.write(sem, 0, std::vector<u8>(256, 0xEE));
            Methods methods;
            set_address(methods, nvc5b5::OFFSET_IN_UPPER, src.va);
            set_address(methods, nvc5b5::OFFSET_OUT_UPPER, dst.va);
            set_address(methods, nvc5b5::SET_SEMAPHORE_A, sem.va + 64);
            methods[nvc5b5::SET_SEMAPHORE_PAYLOAD] = 0xC0FFEE;
            methods[nvc5b5::LINE_LENGTH_IN] = 1 << 20;
            ce.bench.submit(ce.channel, launch(methods, kPipelined | kPitch | kFlush | (four ? kFourWord : kOneWord)));
            while (ce.bench.read32(sem, 64) == 0xEEEEEEEE) REQUIRE(ce.bench.kernel.events().run_one());
            // The first instant at which the payload is visible, all data is.
            CHECK(ce.bench.read(dst, 0, 1 << 20) == std::vector<u8>(1 << 20, 0x5A));
            u64 now_ns = ce.bench.kernel.now().ns();
            ce.bench.run();
            std::vector<u8> bytes = ce.bench.read(sem, 0, 256);
            u64 length = four ? 16 : 4;
            for (u64 i = 0; i < 256; ++i) {
                if (i < 64 || i >= 64 + length) CHECK(bytes[i] == 0xEE);
            }
            CHECK(ce.bench.read32(sem, 64) == 0xC0FFEE);
            if (four) {
                CHECK(ce.bench.read32(sem, 68) == 0);
                CHECK(ce.bench.read64(sem, 72) == (now_ns & ~u64{31}));
            }
        }
    }
}

TEST_CASE("semaphore-only launches, reductions, and order within a channel") {
    CeBench ce;
    ChipBench::Buffer sem = ce.bench.make_buffer(4096);
    ce.bench.write32(sem, 0, 10);
    Methods methods;
    set_address(methods, nvc5b5::SET_SEMAPHORE_A, sem.va);
    methods[nvc5b5::SET_SEMAPHORE_PAYLOAD] = 5;
    u32 reduce = 1u << 19 | 1u << 18 | kOneWord;
    ce.bench.submit(ce.channel, launch(methods, reduce | 5u << 14));  // IADD
    ce.bench.run();
    CHECK(ce.bench.read32(sem, 0) == 15);
    ce.bench.submit(ce.channel, launch(methods, reduce | 0u << 14));  // IMIN
    ce.bench.run();
    CHECK(ce.bench.read32(sem, 0) == 5);
    ce.bench.write32(sem, 0, 0x3F800000);
    methods[nvc5b5::SET_SEMAPHORE_PAYLOAD] = 0x40000000;
    ce.bench.submit(ce.channel, launch(methods, reduce | 0xAu << 14));  // FADD: 1 + 2
    ce.bench.run();
    CHECK(ce.bench.read32(sem, 0) == 0x40400000);
    std::vector<u32> words;
    for (u32 i = 1; i <= 20; ++i) {
        methods[nvc5b5::SET_SEMAPHORE_PAYLOAD] = i;
        words = words + launch(methods, kOneWord);
    }
    ce.bench.submit(ce.channel, words);
    ce.bench.run();
    CHECK(ce.bench.read32(sem, 0) == 20);
    CHECK(ce.bench.errors.empty());
}

TEST_CASE("a host release with WFI waits for the copy before it") {
    CeBench ce;
    ChipBench::Buffer src = ce.bench.make_buffer(8 << 20);
    ChipBench::Buffer dst = ce.bench.make_buffer(8 << 20);
    ChipBench::Buffer sem = ce.bench.make_buffer(4096);
    ce.bench.write(src, (8 << 20) - 4, std::vector<u8>(4, 0x77));
    Methods methods;
    set_address(methods, nvc5b5::OFFSET_IN_UPPER, src.va);
    set_address(methods, nvc5b5::OFFSET_OUT_UPPER, dst.va);
    methods[nvc5b5::LINE_LENGTH_IN] = 8 << 20;
    constexpr u32 kRelease = 1, kWfi = 1u << 20;
    ce.bench.submit(ce.channel, launch(methods, kPipelined | kPitch) + semaphore(sem.va, 1, kRelease) +
                                    semaphore(sem.va + 16, 1, kRelease | kWfi));
    while (ce.bench.read32(sem, 0) == 0) REQUIRE(ce.bench.kernel.events().run_one());
    CHECK(ce.bench.read32(dst, (8 << 20) - 4) == 0);
    while (ce.bench.read32(sem, 16) == 0) REQUIRE(ce.bench.kernel.events().run_one());
    CHECK(ce.bench.read32(dst, (8 << 20) - 4) == 0x77777777);
}

TEST_CASE("render enable skips a launch with its semaphore") {
    struct Row {
        u32 mode;
        u64 first, second;
        bool runs;
    };
    const Row rows[] = {{0, 0, 0, false}, {1, 0, 0, true},  {2, 0, 0, false}, {2, u64{1} << 40, 0, true},
                        {3, 5, 5, true},  {3, 5, 6, false}, {4, 5, 5, false}, {4, 5, 6, true}};
    for (const Row& row : rows) {
        CAPTURE(row.mode);
        CeBench ce;
        ChipBench::Buffer sem = ce.bench.make_buffer(4096);
        ce.bench.write32(sem, 16, static_cast<u32>(row.first));
        ce.bench.write32(sem, 20, static_cast<u32>(row.first >> 32));
        ce.bench.write32(sem, 32, static_cast<u32>(row.second));
        Methods methods;
        set_address(methods, nvc5b5::SET_SEMAPHORE_A, sem.va);
        methods[nvc5b5::SET_SEMAPHORE_PAYLOAD] = 1;
        set_address(methods, nvc5b5::SET_RENDER_ENABLE_A, sem.va + 16);
        methods[nvc5b5::SET_RENDER_ENABLE_C] = row.mode;
        ce.bench.submit(ce.channel, launch(methods, kOneWord));
        ce.bench.run();
        CHECK(ce.bench.errors.empty());
        CHECK(ce.bench.read32(sem, 0) == (row.runs ? 1u : 0u));
    }
    CeBench ce;
    ce.bench.submit(ce.channel, inc(4, nvc5b5::SET_RENDER_ENABLE_A, {0, 8, 3}));
    ce.bench.run();
    REQUIRE(ce.bench.errors.size() == 1);
    CHECK(ce.bench.errors[0].info2 == pbdma_intr::HCE_RE_ALIGNB);
    ce.bench.host.write(0x44148, ~0u);
    ce.bench.submit(ce.channel, inc(4, nvc5b5::SET_RENDER_ENABLE_C, {5}));
    ce.bench.run();
    REQUIRE(ce.bench.errors.size() == 2);
    CHECK(ce.bench.errors[1].info2 == pbdma_intr::HCE_RE_ILLEGAL_OP);
}

TEST_CASE("LAUNCHERR codes") {
    auto block = [](u32 height_log2, u32 gob_height) { return height_log2 << 4 | gob_height << 12; };
    const u32 kSrcBlock = kPipelined | 1u << 8;
    struct Row {
        const char* what;
        Methods methods;
        u32 launch;
        LaunchErr code;
    };
    using namespace nvc5b5;
    const Row rows[] = {
        {"data type 3", {}, 3 | kPitch, LaunchErr::InvalidValue},
        {"interrupt type 3", {}, 3u << 5 | kPitch, LaunchErr::InvalidValue},
        {"reserved bit", {}, 1u << 24 | kPitch, LaunchErr::InvalidUnusedField},
        {"reserved code", {}, 1u << 28 | kPitch, LaunchErr::InvalidUnusedField},
        {"conditional semaphore", {}, 3u << 3 | kPitch, LaunchErr::InvalidValue},
        {"semaphore of one word, misaligned", {{SET_SEMAPHORE_B, 2}}, kOneWord, LaunchErr::InvalidAlignment},
        {"semaphore of four words, misaligned", {{SET_SEMAPHORE_B, 4}}, kFourWord, LaunchErr::InvalidAlignment},
        {"reduction 8", {}, kOneWord | 1u << 19 | 8u << 14, LaunchErr::InvalidValue},
        {"source line",
         {{LINE_COUNT, 2}, {PITCH_IN, 63}, {PITCH_OUT, 64}},
         kPipelined | kPitch | kMultiLine,
         LaunchErr::SrcLineExceedsPitch},
        {"source line, negative",
         {{LINE_COUNT, 2}, {PITCH_IN, ~0u}, {PITCH_OUT, 64}},
         kPipelined | kPitch | kMultiLine,
         LaunchErr::SrcLineExceedsNegPitch},
        {"destination line",
         {{LINE_COUNT, 2}, {PITCH_IN, 64}, {PITCH_OUT, 63}},
         kPipelined | kPitch | kMultiLine,
         LaunchErr::DstLineExceedsPitch},
        {"destination line, negative",
         {{LINE_COUNT, 2}, {PITCH_IN, 64}, {PITCH_OUT, ~0u - 2}},
         kPipelined | kPitch | kMultiLine,
         LaunchErr::DstLineExceedsNegPitch},
        {"component of no source",
         {{SET_REMAP_COMPONENTS, 1}},
         kPipelined | kPitch | kRemap,
         LaunchErr::BadSrcPixelCompRef},
        {"component 7", {{SET_REMAP_COMPONENTS, 7}}, kPipelined | kPitch | kRemap, LaunchErr::InvalidValue},
        {"block of 64 GOBs", {{SET_SRC_BLOCK_SIZE, block(6, 1)}}, kSrcBlock, LaunchErr::InvalidValue},
        {"GOB height", {{SET_SRC_BLOCK_SIZE, block(0, 0)}}, kSrcBlock, LaunchErr::InvalidValue},
        {"layer",
         {{SET_SRC_BLOCK_SIZE, block(0, 1)},
          {SET_SRC_WIDTH, 64},
          {SET_SRC_HEIGHT, 8},
          {SET_SRC_DEPTH, 1},
          {SET_SRC_LAYER, 1}},
         kSrcBlock,
         LaunchErr::LayerExceedsDepth},
        {"rectangle",
         {{SET_SRC_BLOCK_SIZE, block(0, 1)}, {SET_SRC_WIDTH, 63}, {SET_SRC_HEIGHT, 8}, {SET_SRC_DEPTH, 1}},
         kSrcBlock,
         LaunchErr::Mem2MemRectOutOfBounds},
        {"rectangle by the 16-bit origin",
         {{SET_SRC_BLOCK_SIZE, block(0, 1)},
          {SET_SRC_WIDTH, 64},
          {SET_SRC_HEIGHT, 8},
          {SET_SRC_DEPTH, 1},
          {SET_SRC_ORIGIN, 8u << 16}},
         kSrcBlock,
         LaunchErr::Mem2MemRectOutOfBounds},
        {"base inside a GOB",
         {{SET_SRC_BLOCK_SIZE, block(0, 1)}, {OFFSET_IN_LOWER, 16}},
         kSrcBlock,
         LaunchErr::InvalidAlignment},
    };
    for (const Row& row : rows) {
        CAPTURE(row.what);
        CeBench ce;
        Methods methods = row.methods;
        methods[LINE_LENGTH_IN] = 64;
        ce.bench.submit(ce.channel, launch(methods, row.launch));
        ce.bench.run();
        REQUIRE(ce.bench.errors.size() == 1);
        CHECK(ce.bench.errors[0].source == ChipError::Source::Ce);
        CHECK(ce.bench.errors[0].info == static_cast<u32>(row.code));
        CHECK(ce.launch_error() == static_cast<u32>(row.code));
        CHECK((ce.ce().read(0x10) >> 2 & 1) == 1);
        CHECK((ce.bench.intr.read_leaf(6) >> 7 & 1) == 1);  // stall vector 199 of LCE2
    }
}

TEST_CASE("a stale or zero pitch with one line is legal") {
    CeBench ce;
    ChipBench::Buffer buffer = ce.bench.make_buffer(8192);
    ce.bench.write32(buffer, 0, 42);
    Launch l;
    l.elements = 64;
    ce.bench.submit(ce.channel, encode(l, buffer.va, buffer.va + 4096));
    ce.bench.run();
    CHECK(ce.bench.errors.empty());
    CHECK(ce.bench.read32(buffer, 4096) == 42);
}

TEST_CASE("physical copies need privilege") {
    Methods methods{{nvc5b5::LINE_LENGTH_IN, 4}};
    u32 word = kPipelined | kPitch | 1u << 12 | 1u << 13;
    CeBench plain;
    plain.bench.submit(plain.channel, launch(methods, word));
    plain.bench.run();
    REQUIRE(plain.bench.errors.size() == 1);
    CHECK(plain.bench.errors[0].info2 == pbdma_intr::HCE_PRIV);
    CeBench ce({.privileged = true});
    ChipBench::Buffer src = ce.bench.make_buffer(4096, true);
    ChipBench::Buffer dst = ce.bench.make_buffer(4096);
    ce.bench.write32(src, 0, 0x12345678);
    set_address(methods, nvc5b5::OFFSET_IN_UPPER, src.pa.value);
    set_address(methods, nvc5b5::OFFSET_OUT_UPPER, dst.pa.value + 8);
    methods[nvc5b5::SET_SRC_PHYS_MODE] = 1;
    methods[nvc5b5::SET_DST_PHYS_MODE] = 0;
    ce.bench.submit(ce.channel, launch(methods, word));
    ce.bench.run();
    CHECK(ce.bench.errors.empty());
    CHECK(ce.bench.read32(dst, 8) == 0x12345678);
    SUBCASE("beyond all memory nothing is stored and ones are read") {
        set_address(methods, nvc5b5::OFFSET_IN_UPPER, u64{1} << 46);
        ce.bench.submit(ce.channel, launch(methods, word));
        ce.bench.run();
        CHECK(ce.bench.read32(dst, 8) == 0xFFFFFFFF);
    }
    SUBCASE("target 3 is undefined") {
        methods[nvc5b5::SET_DST_PHYS_MODE] = 3;
        ce.bench.submit(ce.channel, launch(methods, word));
        ce.bench.run();
        CHECK(ce.launch_error() == static_cast<u32>(LaunchErr::InvalidValue));
    }
}

TEST_CASE("faults name the byte; everything before it moved; the semaphore does not") {
    for (bool source : {false, true}) {
        for (u64 length : {u64{9000}, u64{200000}}) {
            CAPTURE(source);
            CAPTURE(length);
            CeBench ce;
            u64 small = (length * 2 / 3) / 4096 * 4096;
            ChipBench::Buffer src = ce.bench.make_buffer(source ? small : length);
            ChipBench::Buffer dst = ce.bench.make_buffer(source ? length : small);
            ChipBench::Buffer sem = ce.bench.make_buffer(4096);
            ce.bench.write(src, 0, std::vector<u8>(src.bytes, 0x42));
            Methods methods;
            set_address(methods, nvc5b5::OFFSET_IN_UPPER, src.va + 100);
            set_address(methods, nvc5b5::OFFSET_OUT_UPPER, dst.va + 100);
            set_address(methods, nvc5b5::SET_SEMAPHORE_A, sem.va);
            methods[nvc5b5::SET_SEMAPHORE_PAYLOAD] = 1;
            methods[nvc5b5::LINE_LENGTH_IN] = static_cast<u32>(length - 100);
            ce.bench.submit(ce.channel, launch(methods, kPipelined | kPitch | kOneWord));
            ce.bench.run();
            REQUIRE(ce.bench.errors.size() == 1);
            CHECK(ce.bench.errors[0].source == ChipError::Source::MmuFault);
            CHECK(ce.bench.errors[0].address == (source ? src.va : dst.va) + small);
            CHECK(ce.bench.errors[0].engine_fault_id == 0x11);
            CHECK((ce.bench.host.read(0x800004 + ce.channel.chid * 8) >> 23 & 1) == 1);  // ENG_FAULTED
            std::vector<u8> moved = ce.bench.read(dst, 0, dst.bytes);
            for (u64 i = 0; i < dst.bytes; ++i) {
                bool expected = i >= 100 && i < small;
                if (moved[i] != (expected ? 0x42 : 0)) FAIL("byte ", i);
            }
            CHECK(ce.bench.read32(sem, 0) == 0);
        }
    }
}

TEST_CASE("interrupts: NON_BLOCKING pulses, BLOCKING stops the engine until cleared") {
    CeBench ce;
    ChipBench::Buffer sem = ce.bench.make_buffer(4096);
    Methods methods;
    set_address(methods, nvc5b5::SET_SEMAPHORE_A, sem.va);
    methods[nvc5b5::SET_SEMAPHORE_PAYLOAD] = 1;
    ce.bench.submit(ce.channel, launch(methods, kOneWord | 2u << 5));
    ce.bench.run();
    CHECK((ce.bench.intr.read_leaf(0) >> 7 & 1) == 1);
    methods[nvc5b5::SET_SEMAPHORE_PAYLOAD] = 2;
    std::vector<u32> words = launch(methods, kOneWord | 1u << 5);
    methods[nvc5b5::SET_SEMAPHORE_PAYLOAD] = 3;
    ce.bench.submit(ce.channel, words + launch(methods, kOneWord));
    ce.bench.run();
    CHECK(ce.bench.read32(sem, 0) == 2);
    CHECK((ce.bench.intr.read_leaf(6) >> 7 & 1) == 1);
    CHECK(ce.bench.ce_unit.read(0x104400 + 0x80 * 2 + 0x10) == 3);
    ce.bench.ce_unit.write(0x104400 + 0x80 * 2 + 0x10, 1);
    ce.bench.run();
    CHECK(ce.bench.read32(sem, 0) == 3);
    ce.bench.intr.clear_leaf(6, 1u << 7);
    CHECK((ce.bench.intr.read_leaf(6) >> 7 & 1) == 0);
}

TEST_CASE("GRCE serves subchannel 4 of the graphics runlist") {
    CeBench ce({.runlist = 0});
    ChipBench::Buffer buffer = ce.bench.make_buffer(8192);
    ce.bench.write32(buffer, 0, 0xABCD);
    Methods methods;
    set_address(methods, nvc5b5::OFFSET_IN_UPPER, buffer.va);
    set_address(methods, nvc5b5::OFFSET_OUT_UPPER, buffer.va + 4096);
    methods[nvc5b5::LINE_LENGTH_IN] = 4;
    ce.bench.submit(ce.channel, launch(methods, kPipelined | kPitch));
    ce.bench.run();
    CHECK(ce.bench.errors.empty());
    CHECK(ce.bench.read32(buffer, 4096) == 0xABCD);
}

TEST_CASE("a huge launch moves in slices and a time limit holds") {
    CeBench ce;
    ChipBench::Buffer dst = ce.bench.make_buffer(4096);
    ChipBench::Buffer sem = ce.bench.make_buffer(4096);
    Launch l;
    l.remap = true;
    l.select[0] = 4;
    l.elements = 0;
    Methods methods;
    set_address(methods, nvc5b5::OFFSET_OUT_UPPER, dst.va);
    set_address(methods, nvc5b5::SET_SEMAPHORE_A, sem.va);
    methods[nvc5b5::SET_REMAP_COMPONENTS] = 4;
    methods[nvc5b5::SET_REMAP_CONST_A] = 9;
    methods[nvc5b5::LINE_LENGTH_IN] = 1;
    methods[nvc5b5::PITCH_OUT] = 1;
    methods[nvc5b5::LINE_COUNT] = 0xFFFFFFFF;
    methods[nvc5b5::SET_SEMAPHORE_PAYLOAD] = 1;
    ce.bench.submit(ce.channel, launch(methods, kPipelined | kPitch | kMultiLine | kRemap | kOneWord));
    ce.bench.run();
    // The second page is not mapped: the fault comes after 4096 lines of one byte.
    REQUIRE(ce.bench.errors.size() == 1);
    CHECK(ce.bench.errors[0].address == dst.va + 4096);
    ce.bench.host.write(0x800004 + ce.channel.chid * 8, 1u << 23);
    methods[nvc5b5::LINE_LENGTH_IN] = 4096;
    methods[nvc5b5::LINE_COUNT] = 0xFFFFFFFF;
    methods[nvc5b5::PITCH_OUT] = 0x10000;
    // A pitch of 64 KiB over 2^32 lines leaves the mapped page at once; the same page again and again needs one line.
    methods[nvc5b5::LINE_COUNT] = 1;
    methods[nvc5b5::SET_SEMAPHORE_PAYLOAD] = 2;
    ce.bench.submit(ce.channel, launch(methods, kPipelined | kPitch | kMultiLine | kRemap | kOneWord));
    ce.bench.run();
    CHECK(ce.bench.read32(sem, 0) == 2);
}

TEST_CASE("an unbound channel's copy is dropped and the engine serves others") {
    CeBench ce;
    BenchChannel& other = ce.bench.add_channel({});
    ce.bench.submit_runlist(1);
    ChipBench::Buffer src = ce.bench.make_buffer(32 << 20);
    ChipBench::Buffer dst = ce.bench.make_buffer(32 << 20);
    ChipBench::Buffer sem = ce.bench.make_buffer(4096);
    Methods methods;
    set_address(methods, nvc5b5::OFFSET_IN_UPPER, src.va);
    set_address(methods, nvc5b5::OFFSET_OUT_UPPER, dst.va);
    set_address(methods, nvc5b5::SET_SEMAPHORE_A, sem.va);
    methods[nvc5b5::SET_SEMAPHORE_PAYLOAD] = 1;
    methods[nvc5b5::LINE_LENGTH_IN] = 32 << 20;
    ce.bench.submit(ce.channel, launch(methods, kPipelined | kPitch | kOneWord));
    ce.bench.run(SimTime::from_us(20));
    CHECK(ce.ce().read(0) == 1);
    ce.bench.host.write(0x800004 + ce.channel.chid * 8, 1u << 11);
    ce.bench.host.write(0x800000 + ce.channel.chid * 8, 0);
    CHECK(ce.ce().read(0) == 0);
    methods[nvc5b5::LINE_LENGTH_IN] = 4;
    methods[nvc5b5::SET_SEMAPHORE_PAYLOAD] = 7;
    ce.bench.submit(other, launch(methods, kPipelined | kPitch | kOneWord));
    ce.bench.run();
    CHECK(ce.bench.read32(sem, 0) == 7);
}
