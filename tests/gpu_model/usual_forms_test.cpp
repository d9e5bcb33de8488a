// The usual forms' handlers against the general ones: equal registers, predicates and memory, on every instruction set
// of this host, with random registers and lanes. Also MOV's lanes of a quad, FSWZADD, packed halves with a
// single-precision result, and constants through a uniform register pair.
#include "gpu_model/sm/exec/usual_forms.h"

#include <doctest/doctest.h>

#include <bit>

#include "gpu_model/sm/exec/int_functions.h"
#include "sim/rng.h"
#include "tests/support/sm_bench.h"

using namespace gpu::sm;
using namespace test_support;
using namespace test_support::code;

namespace {

constexpr u32 kRegisters = 32, kSharedBytes = 4096;
constexpr u32 kPairAddress = 8, kSharedAddress = 10;  // registers
constexpr u64 kFlags = 0xf;

// rd = f(ra, rb, rc) of the arithmetic forms.
Asm three(u32 opcode) {
    return Asm(opcode)
        .set(23, 16, 4)
        .set(31, 24, 1)
        .set(39, 32, 2)
        .set(71, 64, 3)
        .set(83, 81, pt)
        .set(86, 84, pt)
        .set(90, 87, kFlags);
}
Asm rotate(bool right, bool high, u32 by) {
    return Asm(0x819)
        .set(23, 16, 4)
        .set(31, 24, 1)
        .set(63, 32, by)
        .set(71, 64, 3)
        .set(74, 73, 3)
        .set(75, 75, 1)
        .set(76, 76, right ? 1 : 0)
        .set(80, 80, high ? 1 : 0)
        .set(83, 81, pt);
}
// Size codes 4, 5, 6: one, two, four words.
Word load(u32 opcode, u32 address, u32 size) {
    return Asm(opcode)
        .set(23, 16, 12)
        .set(31, 24, address)
        .set(63, 40, 16)
        .set(72, 72, opcode == 0x381 ? 1 : 0)
        .set(75, 73, size)
        .set(83, 81, pt);
}
Word store(u32 opcode, u32 address, u32 size) {
    return Asm(opcode)
        .set(31, 24, address)
        .set(39, 32, 16)
        .set(63, 40, 16)
        .set(72, 72, opcode == 0x386 ? 1 : 0)
        .set(75, 73, size);
}

// The same with an immediate as b, or as c.
Asm three_b(u32 opcode, u32 immediate) {
    return three(opcode).set(11, 9, 4).set(63, 32, immediate);
}
Asm three_c(u32 opcode, u32 immediate) {
    return three(opcode).set(11, 9, 2).set(71, 64, 2).set(63, 32, immediate);
}
// With a constant, of bank 0.
Asm three_b_constant(u32 opcode, u32 offset) {
    return three(opcode).set(11, 9, 5).set(63, 32, 0).set(53, 38, offset);
}
Asm three_c_constant(u32 opcode, u32 offset) {
    return three(opcode).set(11, 9, 3).set(71, 64, 2).set(63, 32, 0).set(53, 38, offset);
}
Asm lop3(u32 table) {
    return three(0x212).set(79, 72, table);
}
// SHF by an immediate, without .W: type 2 is S32, 3 U32.
Asm shift(bool right, bool high, u32 type, u32 by) {
    return Asm(0x819)
        .set(23, 16, 4)
        .set(31, 24, right && type == 2 ? rz : 1)
        .set(63, 32, by)
        .set(71, 64, 3)
        .set(74, 73, type)
        .set(76, 76, right ? 1 : 0)
        .set(80, 80, high ? 1 : 0)
        .set(83, 81, pt);
}
// Two predicates from a comparison; op: AND, OR, XOR.
Asm isetp(u32 opcode, u32 cmp, bool is_signed, u32 op) {
    return Asm(opcode)
        .set(31, 24, 1)
        .set(39, 32, 2)
        .set(73, 73, is_signed ? 1 : 0)
        .set(75, 74, op)
        .set(78, 76, cmp)
        .set(83, 81, 1)
        .set(86, 84, 2)
        .set(90, 87, 3);
}
Asm special(u32 id) {
    return Asm(0x919).set(23, 16, 4).set(79, 72, id);
}

std::vector<Word> usual_words() {
    constexpr u32 is_signed = 1;
    std::vector<Word> words = {
        three(0x223),
        three(0x224),
        three(0x210),
        three(0x225).set(71, 64, 6),
        three(0x225).set(71, 64, 6).set(73, 73, is_signed),
        three(0x225).set(71, 64, rz),
        three_b(0x225, 0x8000'0004).set(71, 64, 6),
        three_b(0x225, 0x8000'0004).set(71, 64, 6).set(73, 73, is_signed),
        three_c_constant(0x225, 16),
        three_c_constant(0x225, 24).set(73, 73, is_signed),
        three_b(0x223, 0x3fc0'0000),
        three_c(0x223, 0x7fc0'0001),
        three_c_constant(0x223, 8),
        three_b(0x224, 1),
        three_c(0x224, 0x1234'5678),
        three_b_constant(0x224, 4),
        three_c_constant(0x224, 12),
        three_b(0x210, 0xffff'fff0),
        three_b_constant(0x210, 20),
        three(0x211).set(79, 75, 9),
        three_b_constant(0x211, 28).set(79, 75, 31),
        lop3(0xc0),
        lop3(0xfc),
        lop3(0x3c),
        lop3(0x96),
        lop3(0xe8),
        lop3(0xca),
        lop3(0xb8),
        three_b(0x212, 0xff00).set(79, 72, 0xc0),
        three_b(0x212, 0xff00).set(79, 72, 0xfc),
        three_b_constant(0x212, 32).set(79, 72, 0x3c),
        special(0x21),
        special(0x25),
        special(0x27),
        Asm(0x421).set(23, 16, 4).set(31, 24, 1).set(63, 32, 0xbf80'0000),
        Asm(0x820).set(23, 16, 4).set(31, 24, 1).set(63, 32, 0x3f00'0000).set(86, 84, 4),
        mov_constant(4, 0, 36),
        Asm(0x221).set(23, 16, 4).set(31, 24, 1).set(39, 32, 2),
        Asm(0x220).set(23, 16, 4).set(31, 24, 1).set(39, 32, 2).set(86, 84, 4),
        Asm(0x202).set(23, 16, 4).set(39, 32, 2).set(75, 72, 0xf),
        mov(4, 0x1234'5678),
    };
    for (bool right : {false, true}) {
        for (bool high : {false, true}) {
            for (u32 by : {0u, 1u, 7u, 31u, 32u, 63u}) words.push_back(rotate(right, high, by));
        }
    }
    // One register as both words.
    for (u32 by : {0u, 1u, 25u, 31u, 32u}) {
        words.push_back(rotate(false, true, by).set(31, 24, 3));
        words.push_back(rotate(true, false, by).set(31, 24, 3));
    }
    for (u32 by : {0u, 1u, 31u}) {
        words.push_back(shift(false, false, 2, by));
        words.push_back(shift(true, true, 2, by));
        words.push_back(shift(true, true, 3, by));
    }
    for (u32 cmp = 0; cmp < 8; ++cmp) {
        for (bool with_sign : {false, true}) {
            words.push_back(isetp(0x20c, cmp, with_sign, cmp % 3));
            words.push_back(isetp(0x80c, cmp, with_sign, cmp % 3).set(63, 32, 0x8000'0000 >> cmp));
        }
    }
    for (u32 size : {4u, 5u, 6u}) {
        words.push_back(load(0x381, kPairAddress, size));
        words.push_back(load(0x984, kSharedAddress, size));
        words.push_back(store(0x386, kPairAddress, size));
        words.push_back(store(0x388, kSharedAddress, size));
    }
    return words;
}

// One warp in one block, with a grid around it, whose state can be set before each instruction.
struct WarpBench : SmBench {
    Exec x;
    Cta cta;
    Warp warp;
    Trap trap;

    explicit WarpBench(LaneTarget target) : target_(target) {
        launch.shared_bytes = kSharedBytes;
        for (std::size_t i = 0; i < bank.size(); ++i) bank[i] = static_cast<u8>(i * 37 + 11);
        grid.emplace(launch, memory, cache, clock);
        warp.start(0, kAllLanes, kCode, kRegisters);
        x.grid = &*grid;
        x.cta = &cta;
        x.warp = &warp;
        x.trap_out = &trap;
        x.epoch = 1;
        x.mask_of = 0;
        cta.thread_count = kLanes;
        cta.id = {3, 5, 7};
        cta.shared.assign(kSharedBytes, 0);
    }
    // Registers with every kind of float among them; addresses inside the memories, sometimes a run, sometimes not.
    void randomize(u64 seed) {
        sim::RandomStream rng(seed, "usual_forms_test", "registers");
        for (u32 r = 0; r < kRegisters; ++r) {
            for (u32& lane : warp.regs[r].lane) {
                lane = static_cast<u32>(rng.next());
                if (rng.below(8) == 0) lane |= 0x7f80'0000;
                if (rng.below(8) == 0) lane &= 0x807f'ffff;
            }
        }
        for (u32 p = 0; p < gpu::sass::kPt; ++p) warp.preds[p] = static_cast<u32>(rng.next());
        const u32 access = 16, kind = static_cast<u32>(rng.below(7));
        for (u32 lane = 0; lane < kLanes; ++lane) {
            const u32 place = kind == 0 ? lane * 4 : static_cast<u32>(rng.below(kDataBytes / access - 2)) * access;
            // A run, anything, few places, a run for each half of the warp, one place for each half, runs of two and
            // of four words.
            const u32 half = lane / 16 * 512;
            const u32 at = kind <= 1   ? place
                           : kind == 2 ? place % 64
                           : kind == 3 ? half + lane % 16 * 4
                           : kind == 4 ? half
                           : kind == 5 ? lane * 8
                                       : half + lane % 16 * 16;
            warp.regs[kPairAddress].lane[lane] = static_cast<u32>(kData) + at;
            warp.regs[kPairAddress + 1].lane[lane] = 0;
            warp.regs[kSharedAddress].lane[lane] = at;
        }
        // Addresses that are not used may be anything.
        lanes_ = rng.below(3) == 0 ? static_cast<u32>(rng.next()) | 1 : kAllLanes;
        for (u32 lane = 0; lane < kLanes; ++lane) {
            if ((lanes_ >> lane & 1) != 0) continue;
            warp.regs[kPairAddress].lane[lane] = static_cast<u32>(rng.next());
            warp.regs[kSharedAddress].lane[lane] = static_cast<u32>(rng.next());
        }
        for (u8& byte : data) byte = static_cast<u8>(rng.next());
        for (u8& byte : cta.shared) byte = static_cast<u8>(rng.next());
    }
    u32 lanes() const { return lanes_; }
    void run(Word word, bool usual) {
        Slot slot;
        slot.in = gpu::sass::decode(word).instruction;
        prepare(slot, target_);
        if (!usual) slot.run = handler_of(slot.in.op, target_);
        x.event = Event::None;
        x.active = x.lanes = lanes_;
        x.completed = 0;
        slot.run(x, slot);
    }

private:
    LaneTarget target_;
    u32 lanes_ = kAllLanes;
};

std::vector<LaneTarget> targets() {
    std::vector<LaneTarget> all = {LaneTarget::Portable};
    if (best_lane_target() >= LaneTarget::Avx2) all.push_back(LaneTarget::Avx2);
    if (best_lane_target() >= LaneTarget::Avx512) all.push_back(LaneTarget::Avx512);
    return all;
}

u32 bits_of(float value) {
    return std::bit_cast<u32>(value);
}

}  // namespace

TEST_CASE("usual forms give what the general handlers give") {
    for (LaneTarget target : targets()) {
        WarpBench usual(target), general(target);
        for (const Word& word : usual_words()) {
            const auto decoded = gpu::sass::decode(word);
            INFO(lane_target_name(target), " 0x", std::hex, word.hi, " ", word.lo);
            REQUIRE(decoded.ok());
            const bool is_usual = usual_form(decoded.instruction, target) != nullptr;
            REQUIRE(is_usual);
            for (u64 seed = 0; seed < 40; ++seed) {
                usual.randomize(seed);
                general.randomize(seed);
                usual.run(word, true);
                general.run(word, false);
                REQUIRE(usual.x.event == general.x.event);
                for (u32 r = 0; r < kRegisters; ++r)
                    REQUIRE(std::equal(std::begin(usual.warp.regs[r].lane), std::end(usual.warp.regs[r].lane),
                                       std::begin(general.warp.regs[r].lane)));
                REQUIRE(std::equal(std::begin(usual.warp.preds), std::end(usual.warp.preds),
                                   std::begin(general.warp.preds)));
                REQUIRE(std::equal(usual.data.begin(), usual.data.end(), general.data.begin()));
                REQUIRE(usual.cta.shared == general.cta.shared);
            }
        }
    }
}

TEST_CASE("LOP3 gives what its table says, for every table") {
    for (LaneTarget target : targets()) {
        WarpBench bench(target);
        for (u32 table = 0; table < 256; ++table) {
            bench.randomize(table);
            const Row before = bench.warp.regs[4];
            const u32 lanes = bench.lanes();
            bench.run(three(0x212).set(79, 72, table), true);
            for (u32 lane = 0; lane < kLanes; ++lane) {
                const auto at = [&](u32 r) { return bench.warp.regs[r].lane[lane]; };
                const u32 want = (lanes >> lane & 1) != 0 ? lut3(table, at(1), at(2), at(3)) : before.lane[lane];
                REQUIRE(at(4) == want);
            }
        }
    }
}

TEST_CASE("modifiers keep a word from being usual") {
    const auto is_usual = [](Word word) {
        const auto decoded = gpu::sass::decode(word);
        REQUIRE(decoded.ok());
        return usual_form(decoded.instruction, LaneTarget::Portable) != nullptr;
    };
    CHECK_FALSE(is_usual(Asm(0x223).set(23, 16, 4).set(31, 24, 1).set(39, 32, 2).set(71, 64, 3).set(80, 80, 1)));
    CHECK_FALSE(is_usual(Asm(0x223).set(23, 16, 4).set(31, 24, 1).set(39, 32, 2).set(71, 64, 3).set(79, 78, 3)));
    CHECK_FALSE(is_usual(Asm(0x202).set(23, 16, 4).set(39, 32, 2).set(75, 72, 0x3)));
    CHECK_FALSE(is_usual(load(0x381, kPairAddress, 0)));
    CHECK_FALSE(is_usual(iadd(4, 1, 1).set(83, 81, 0)));
}

TEST_CASE("MOV moves the lanes of each quad that its mask names") {
    for (LaneTarget target : targets()) {
        WarpBench bench(target);
        bench.randomize(1);
        bench.run(mov(4, 7), true);
        bench.run(mov(4, 9).set(75, 72, 0x5), true);
        for (u32 lane = 0; lane < kLanes; ++lane) CHECK(bench.warp.regs[4].lane[lane] == (lane % 2 == 0 ? 9u : 7u));
    }
}

TEST_CASE("FSWZADD adds with the signs of each lane's place in its quad") {
    WarpBench bench(best_lane_target());
    bench.randomize(1);
    for (u32 lane = 0; lane < kLanes; ++lane) {
        bench.warp.regs[1].lane[lane] = bits_of(8.0F);
        bench.warp.regs[3].lane[lane] = bits_of(3.0F);
    }
    // From the first lane on: a + b, a - b, b - a, b.
    bench.run(Asm(0x822).set(23, 16, 4).set(31, 24, 1).set(71, 64, 3).set(39, 32, 0b00'01'10'11), true);
    CHECK(bench.warp.regs[4].lane[0] == bits_of(11.0F));
    CHECK(bench.warp.regs[4].lane[1] == bits_of(5.0F));
    CHECK(bench.warp.regs[4].lane[2] == bits_of(-5.0F));
    CHECK(bench.warp.regs[4].lane[3] == bits_of(3.0F));
    CHECK(bench.warp.regs[4].lane[29] == bits_of(5.0F));
}

TEST_CASE("packed halves with a single-precision result") {
    WarpBench bench(best_lane_target());
    bench.randomize(1);
    constexpr u32 one_and_half = 0x3e00, three_halves = 0x4200, two = 0x4000;
    for (u32 lane = 0; lane < kLanes; ++lane) {
        bench.warp.regs[1].lane[lane] = one_and_half;
        bench.warp.regs[2].lane[lane] = three_halves;
        bench.warp.regs[3].lane[lane] = two;
    }
    bench.run(Asm(0x232).set(23, 16, 4).set(31, 24, 1).set(39, 32, 2).set(78, 78, 1), true);
    CHECK(bench.warp.regs[4].lane[5] == bits_of(4.5F));
    bench.run(Asm(0x231).set(23, 16, 5).set(31, 24, 1).set(39, 32, 2).set(71, 64, 3).set(78, 78, 1), true);
    CHECK(bench.warp.regs[5].lane[5] == bits_of(6.5F));
}

TEST_CASE("a constant through a uniform register pair reads what the pair describes") {
    WarpBench bench(best_lane_target());
    bench.randomize(1);
    const u64 pair = SmBench::kData / 16 | u64{64 / 16} << 45;
    bench.warp.uniform[6] = static_cast<u32>(pair);
    bench.warp.uniform[7] = static_cast<u32>(pair >> 32);
    const auto mov_cx = [](u32 rd, u32 offset) {
        return Asm(0xa02).set(23, 16, rd).set(37, 32, 6).set(53, 38, offset).set(75, 72, 0xf).set(91, 91, 1);
    };
    bench.run(mov_cx(4, 12), true);
    CHECK(bench.warp.regs[4].lane[31] == bench.word(3));
    // Beyond its 64 bytes there are zeroes.
    bench.run(mov_cx(5, 64), true);
    CHECK(bench.warp.regs[5].lane[0] == 0);
    CHECK(bench.x.event == Event::None);
    // A pair that points nowhere faults.
    bench.warp.uniform[6] = 1;
    bench.run(mov_cx(5, 0), true);
    CHECK(bench.x.event == Event::Trap);
    CHECK(bench.trap.reason == TrapReason::MMU_FAULT);
}
