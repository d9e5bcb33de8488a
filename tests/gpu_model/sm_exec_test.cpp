// The executor's control flow, traps, barriers and order of progress, on programs of a few instructions.
#include <doctest/doctest.h>

#include "sim/rng.h"
#include "tests/support/sm_bench.h"

namespace {

using namespace gpu::sm;
using namespace test_support;
using namespace test_support::code;

constexpr u32 kTidX = 0x21, kCtaidX = 0x25;
constexpr u32 kLess = 1, kEqual = 2, kNotEqual = 5, kGreaterEqual = 6;
constexpr u32 kDataLow = static_cast<u32>(SmBench::kData);

// R2:R3 = data + 4 * R0. Four instructions.
const std::initializer_list<Word> kAddress = {iadd_register(2, 0, 0), iadd_register(2, 2, 2), iadd(2, 2, kDataLow),
                                              mov(3, 0)};

// Appends to a program.
struct Program {
    std::vector<Word> words;
    Program& add(std::initializer_list<Word> more) {
        words.insert(words.end(), more);
        return *this;
    }
    void load(SmBench& bench) const {
        for (std::size_t i = 0; i < words.size(); ++i) bench.put(i, words[i]);
    }
};

}  // namespace

TEST_CASE("P21 a kernel reads from bank 0 what the client wrote there, and zero where it wrote nothing") {
    SmBench bench;
    bench.bank[0] = 0x40;
    bench.program({mov(2, kDataLow), mov(3, 0), mov_constant(4, 0, 0), mov_constant(5, 0, 4), stg(2, 4), stg(2, 5, 4),
                   mov_constant(6, 0, 0xfff0), stg(2, 6, 8), exit()});
    bench.launch.block = {32, 1, 1};
    bench.data[8] = 0xff;
    CHECK(bench.run() == GridState::Done);
    CHECK(bench.word(0) == 0x40);
    CHECK(bench.word(1) == 0);
    CHECK(bench.word(2) == 0);  // beyond the bank's end
}

TEST_CASE("an indexed LDC takes the bank's number from the register's upper half") {
    constexpr u32 is = 2, isl = 3, il = 1;
    const auto ldc = [](u32 mode, u32 offset) {
        return Asm(0xb82).set(23, 16, 4).set(31, 24, 1).set(53, 38, offset).set(58, 54, 1).set(75, 73, 4).set(79, 78, mode);
    };
    SmBench bench;
    bench.launch.block = {32, 1, 1};
    bench.launch.banks[1] = {SmBench::kBank, 16};
    bench.launch.banks[3] = {SmBench::kBank + 16, 64};
    bench.bank[8] = 0x11;
    bench.bank[16 + 8] = 0x33;
    const auto run = [&](u32 mode, u32 index, u32 offset) {
        bench.program({mov(2, kDataLow), mov(3, 0), mov(1, index), ldc(mode, offset), stg(2, 4), exit()});
        return bench.run();
    };
    const auto refused = [&](TrapReason reason) { return bench.grid->trap().reason == reason; };
    REQUIRE(run(is, 2 << 16 | 4, 4) == GridState::Done);
    CHECK(bench.word(0) == 0x33);
    REQUIRE(run(is, 8, 0) == GridState::Done);
    CHECK(bench.word(0) == 0x11);
    // Across 64 KiB: .IL goes on in the next bank, the others leave theirs. Banks that the launch has not are zero.
    REQUIRE(run(il, (2 << 16) - 8, 16) == GridState::Done);
    CHECK(bench.word(0) == 0x33);
    REQUIRE(run(il, 0xffff'fffc, 12) == GridState::Done);
    CHECK(bench.word(0) == 0x11);
    for (const u32 mode : {is, isl}) {
        REQUIRE(run(mode, (2 << 16) - 8, 16) == GridState::Done);
        CHECK(bench.word(0) == 0);
        REQUIRE(run(mode, 0xffff'0000, 0) == GridState::Done);
        CHECK(bench.word(0) == 0);
        REQUIRE(run(mode, 2, 0) == GridState::Trapped);
        CHECK(refused(TrapReason::INVALID_CONST_ADDR_LDC));
    }
}

TEST_CASE("a load whose own predicate is false gives zero and accesses nothing") {
    constexpr u32 false_in_most = 0, nowhere = 0x7fff'0000;
    SmBench bench;
    bench.launch.block = {32, 1, 1};
    bench.data[4] = 0x77;
    Program program;
    // P0 in lane 1 alone, which alone has a good address.
    program.add({s2r(0, kTidX), isetp(0, 0, kEqual, 1), mov(2, nowhere), mov(2, kDataLow).guard(0), mov(3, 0), mov(8, 5),
                 ldg(8, 2, 4).set(66, 64, 7 - false_in_most).set(83, 81, 1), mov(2, kDataLow), iadd_register(2, 2, 0),
                 iadd_register(2, 2, 0), iadd_register(2, 2, 0), iadd_register(2, 2, 0), stg(2, 8, 128), exit()});
    program.load(bench);
    REQUIRE(bench.run() == GridState::Done);
    CHECK(bench.word(32) == 0);
    CHECK(bench.word(33) == 0x77);
    CHECK(bench.word(34) == 0);
}

TEST_CASE("sums that negate both of their first sources and barriers without a reduction are refused") {
    SmBench bench;
    bench.launch.block = {32, 1, 1};
    const auto refused = [&](Word word) {
        bench.program({word, exit()});
        return bench.run() == GridState::Trapped && bench.grid->trap().reason == TrapReason::ILLEGAL_INSTR_PARAM;
    };
    const Asm sum = iadd_register(4, 5, 6).set(72, 72, 1);
    CHECK_FALSE(refused(sum));
    CHECK(refused(Asm(sum).set(63, 63, 1)));
    const Asm reduction = bar_sync(0).set(79, 77, 2);
    CHECK_FALSE(refused(reduction));
    CHECK(refused(Asm(reduction).set(75, 74, 3)));
    CHECK(refused(Asm(reduction).set(79, 77, 3).set(80, 80, 0)));
}

TEST_CASE("P24 a word that is no instruction stops the warp there with its raw bits") {
    SmBench bench;
    const Word bad{.lo = 0x0123'4567'89ab'71ff, .hi = 0x0fed'cba9'8765'4321};
    Program program;
    program.add({s2r(0, kTidX), isetp(0, 0, kLess, 40), exit().guard(0, true)}).add({bad, exit()});
    program.load(bench);
    bench.launch.block = {64, 1, 1};
    REQUIRE(bench.run() == GridState::Trapped);
    const Trap& trap = bench.grid->trap();
    CHECK(trap.reason == TrapReason::ILLEGAL_INSTR_ENCODING);
    CHECK(trap.pc == SmBench::kCode + 3 * 16);
    CHECK(trap.word == bad);
    CHECK(trap.warp == 0);
    CHECK(trap.lanes == kAllLanes);
    CHECK(trap.describe().find("0x0fedcba9876543210123456789ab71ff") != std::string::npos);
    CHECK(trap.describe().find("no sm_75 instruction has this opcode") != std::string::npos);
}

TEST_CASE("traps name the reason and the lanes") {
    SmBench bench;
    bench.launch.block = {32, 1, 1};
    SUBCASE("BPT.TRAP") {
        bench.program({s2r(0, kTidX), isetp(0, 0, kEqual, 5), bpt_trap().guard(0), exit()});
        REQUIRE(bench.run() == GridState::Trapped);
        CHECK(bench.grid->trap().reason == TrapReason::BREAKPOINT);
        CHECK(bench.grid->trap().lanes == lane_bit(5));
    }
    SUBCASE("an address that nothing answers") {
        bench.program({mov(2, 0x10), mov(3, 0), ldg(4, 2), exit()});
        REQUIRE(bench.run() == GridState::Trapped);
        CHECK(bench.grid->trap().reason == TrapReason::MMU_FAULT);
        CHECK(bench.grid->trap().address == 0x10);
    }
    SUBCASE("only the lane that runs over the end faults, and lanes before it have stored") {
        Program program;
        program.add({s2r(0, kTidX), iadd(0, 0, SmBench::kDataBytes / 4 - 7)}).add(kAddress).add({stg(2, 0), exit()});
        program.load(bench);
        REQUIRE(bench.run() == GridState::Trapped);
        CHECK(bench.grid->trap().reason == TrapReason::MMU_FAULT);
        CHECK(bench.grid->trap().lanes == lane_bit(7));
        CHECK(bench.grid->trap().address == SmBench::kData + SmBench::kDataBytes);
        CHECK(bench.word(SmBench::kDataBytes / 4 - 1) == SmBench::kDataBytes / 4 - 1);
    }
    SUBCASE("a misaligned address") {
        bench.program({mov(2, kDataLow + 2), mov(3, 0), ldg(4, 2), exit()});
        REQUIRE(bench.run() == GridState::Trapped);
        CHECK(bench.grid->trap().reason == TrapReason::MISALIGNED_ADDR);
    }
    SUBCASE("a register beyond those of the launch") {
        bench.program({mov(31, 1), mov(32, 1), exit()});
        REQUIRE(bench.run() == GridState::Trapped);
        CHECK(bench.grid->trap().reason == TrapReason::OOR_REG);
        CHECK(bench.grid->trap().pc == SmBench::kCode + 16);
    }
    SUBCASE("a pair that begins at an odd register") {
        bench.program({ldg(4, 3), exit()});
        REQUIRE(bench.run() == GridState::Trapped);
        CHECK(bench.grid->trap().reason == TrapReason::MISALIGNED_REG);
    }
    SUBCASE("running into memory without code") {
        bench.program({bra(1 << 20)});
        REQUIRE(bench.run() == GridState::Trapped);
        CHECK(bench.grid->trap().reason == TrapReason::FETCH_FAULT);
    }
    SUBCASE("a barrier beyond those of the launch") {
        bench.launch.barriers = 1;
        bench.program({bar_sync(1), exit()});
        REQUIRE(bench.run() == GridState::Trapped);
        CHECK(bench.grid->trap().reason == TrapReason::BAD_BARRIER);
    }
}

TEST_CASE("lanes that parted meet again at BSYNC") {
    SmBench bench;
    bench.launch.block = {32, 1, 1};
    Program program;
    // if (tid < 7) r4 = 1 else r4 = 2; the ballot after the join sees all lanes, those inside only theirs.
    program
        .add({s2r(0, kTidX), isetp(0, 0, kLess, 7), bssy(0, 6), bra(3).guard(0), mov(4, 2), ballot(5), bra(2),
              mov(4, 1), ballot(5), bsync(0), ballot(6)})
        .add(kAddress)
        .add({stg(2, 4), stg(2, 5, 128), stg(2, 6, 256), exit()});
    program.load(bench);
    REQUIRE(bench.run() == GridState::Done);
    CHECK(bench.word(6) == 1);
    CHECK(bench.word(7) == 2);
    CHECK(bench.word(32 + 6) == 0x7f);
    CHECK(bench.word(32 + 7) == 0xffff'ff80);
    for (u32 lane = 0; lane < kLanes; ++lane) CHECK(bench.word(64 + lane) == kAllLanes);
}

TEST_CASE("a lane that spins on another lane of its warp does not starve it") {
    SmBench bench;
    bench.launch.block = {32, 1, 1};
    // Lane 0 waits for data[1], which lane 1 writes at a higher address.
    bench.program({s2r(0, kTidX), mov(2, kDataLow), mov(3, 0), mov(4, 1), isetp(0, 0, kEqual, 0), bra(4).guard(0, true),
                   ldg(5, 2, 4), isetp(1, 5, kNotEqual, 1), bra(-3).guard(1), bra(2), isetp(0, 0, kEqual, 1),
                   stg(2, 4, 4).guard(0), stg(2, 4), exit()});
    CHECK(bench.run() == GridState::Done);
    CHECK(bench.word(0) == 1);
}

TEST_CASE("a spin lock between blocks and warps ends, and every thread's turn counts") {
    SmBench bench;
    bench.launch.grid = {100, 1, 1};
    bench.launch.block = {64, 1, 1};
    // Lane 0 of each warp: while (cas(lock, 0, 1) != 0); data[1] += 1 without atomics; lock = 0.
    bench.program({s2r(0, kTidX),
                   Asm(0x812)
                       .set(23, 16, 0)
                       .set(31, 24, 0)
                       .set(63, 32, 31)
                       .set(71, 64, rz)
                       .set(79, 72, 0xc0)
                       .set(83, 81, pt)
                       .set(89, 87, pt)
                       .set(90, 90, 1),
                   isetp(0, 0, kNotEqual, 0), exit().guard(0), mov(2, kDataLow), mov(3, 0), mov(4, 1),
                   atomg_cas(5, 2, rz, 4), isetp(0, 5, kNotEqual, 0), bra(-3).guard(0), ldg(6, 2, 4), iadd(6, 6, 1),
                   stg(2, 6, 4), stg(2, rz), exit()});
    REQUIRE(bench.run(10'000'000) == GridState::Done);
    CHECK(bench.word(1) == 200);
}

TEST_CASE("a block that waits for a later block gets on") {
    SmBench bench;
    bench.launch.grid = {3, 1, 1};
    bench.launch.block = {32, 1, 1};
    // Block 0 waits for data[0] == 2, which blocks 1 and 2 count up.
    bench.program({s2r(0, kCtaidX), mov(2, kDataLow), mov(3, 0), mov(4, 1), s2r(1, kTidX), isetp(1, 1, kNotEqual, 0),
                   exit().guard(1), isetp(0, 0, kEqual, 0), bra(2).guard(0), red_add(2, 4), exit(), ldg(5, 2),
                   isetp(0, 5, kNotEqual, 2), bra(-3).guard(0), stg(2, 4, 4), exit()});
    REQUIRE(bench.run(10'000'000) == GridState::Done);
    CHECK(bench.word(1) == 1);
}

TEST_CASE("a barrier joins warps; exited warps do not hold it up; a barrier nobody completes is a deadlock") {
    SmBench bench;
    bench.launch.block = {96, 1, 1};
    SUBCASE("joins") {
        // Every thread counts data[0] up, then all see 96 - 32 because the last warp left before.
        Program program;
        program
            .add({s2r(0, kTidX), mov(6, kDataLow), mov(7, 0), mov(4, 1), isetp(0, 0, kGreaterEqual, 64),
                  exit().guard(0), red_add(6, 4), bar_sync(0), ldg(5, 6), iadd(0, 0, 32)})
            .add(kAddress)
            .add({stg(2, 5), exit()});
        program.load(bench);
        REQUIRE(bench.run() == GridState::Done);
        for (u32 thread = 0; thread < 64; ++thread) CHECK(bench.word(32 + thread) == 64);
    }
    SUBCASE("deadlock") {
        // Warp 0 waits at barrier 0, the others at barrier 1.
        bench.program(
            {s2r(0, kTidX), isetp(0, 0, kLess, 32), bar_sync(0).guard(0), bar_sync(1).guard(0, true), exit()});
        CHECK(bench.run() == GridState::Deadlocked);
    }
}

TEST_CASE("an endless loop stops at the budget and goes on from there") {
    SmBench bench;
    bench.launch.block = {32, 1, 1};
    bench.program({iadd(0, 0, 1), bra(-2)});
    CHECK(bench.run(1000) == GridState::Running);
    CHECK(bench.grid->instructions() == 1000);
    CHECK(bench.grid->run(500) == GridState::Running);
    CHECK(bench.grid->instructions() == 1500);
}

TEST_CASE("code that a kernel changes is decoded again, and so is code that changed between launches") {
    SmBench bench;
    bench.launch.block = {1, 1, 1};
    // The first pass stores the immediate of the MOV at word 4 and runs it again.
    bench.program({mov(2, SmBench::kCode + 4 * 16 + 4), mov(3, 0), mov(6, kDataLow), mov(7, 0), mov(4, 11), stg(6, 4),
                   isetp(0, 4, kEqual, 22), exit().guard(0), mov(5, 22), stg(2, 5), bra(-7), exit()});
    REQUIRE(bench.run() == GridState::Done);
    CHECK(bench.word(0) == 22);
    bench.program({mov(2, kDataLow), mov(3, 0), mov(4, 33), stg(2, 4), exit()});
    REQUIRE(bench.run() == GridState::Done);
    CHECK(bench.word(0) == 33);
}

TEST_CASE("an instruction that trapped has done nothing, and lanes that were done are not repeated after resume") {
    SmBench bench;
    bench.launch.block = {32, 1, 1};
    SUBCASE("a load whose address is in its destination") {
        // Lanes 0 to 15 read data, the others beyond it; every lane's address must survive.
        bench.program({s2r(0, kTidX), mov(2, kDataLow), mov(3, 0), isetp(0, 0, kGreaterEqual, 16),
                       mov(2, kDataLow + SmBench::kDataBytes).guard(0), ldg(2, 2, 0, 5), exit()});
        REQUIRE(bench.run() == GridState::Trapped);
        bench.memory.add(SmBench::kData + SmBench::kDataBytes, 4096);
        bench.grid->resume();
        CHECK(bench.grid->run(1000) == GridState::Done);
    }
    SUBCASE("an atomic") {
        bench.program({s2r(0, kTidX), mov(2, kDataLow), mov(3, 0), mov(4, 1), isetp(0, 0, kGreaterEqual, 16),
                       mov(2, kDataLow + SmBench::kDataBytes).guard(0), red_add(2, 4), exit()});
        REQUIRE(bench.run() == GridState::Trapped);
        CHECK(bench.grid->trap().lanes == lane_bit(16));
        CHECK(bench.word(0) == 16);
        bench.memory.add(SmBench::kData + SmBench::kDataBytes, 4096);
        bench.grid->resume();
        REQUIRE(bench.grid->run(1000) == GridState::Done);
        CHECK(bench.word(0) == 16);
        CHECK(bench.memory.at(SmBench::kData + SmBench::kDataBytes, 1)[0] == 16);
    }
}

TEST_CASE("launches that no hardware takes are refused by name") {
    KernelLaunch launch;
    CHECK(check_launch(launch) == "");
    launch.block = {1025, 1, 1};
    CHECK(check_launch(launch) != "");
    launch.block = {32, 33, 1};
    CHECK(check_launch(launch) == "1056 threads in a block");
    launch.block = {0, 1, 1};
    CHECK(check_launch(launch) != "");
    launch = {};
    launch.registers = 256;
    CHECK(check_launch(launch) == "256 registers");
    launch = {};
    launch.shared_bytes = 65537;
    CHECK(check_launch(launch) != "");
    launch = {};
    launch.entry = 8;
    CHECK(check_launch(launch) == "entry 0x8");
}

TEST_CASE("random words never do worse than trap, and do the same on every instruction set") {
    sim::RandomStream rng(75, "sm_exec_test", "words");
    for (u32 round = 0; round < 300; ++round) {
        std::vector<Word> words;
        while (words.size() < 48) {
            Word word{.lo = rng.next(), .hi = rng.next()};
            // Opcodes that exist, guards that are often true, so that words run.
            const auto rows = gpu::sass::opcode_rows();
            const auto& row = rows[rng.below(rows.size())];
            u32 form = static_cast<u32>(rng.below(8));
            while ((row.forms >> form & 1) == 0) form = (form + 1) % 8;
            word.lo = (word.lo & ~u64{0xffff}) | row.operation | form << 9 | 0x7000;
            if (gpu::sass::decode(word).ok()) words.push_back(word);
        }
        std::vector<std::string> ends;
        for (LaneTarget target : {LaneTarget::Portable, best_lane_target()}) {
            SmBench bench;
            bench.cache = CodeCache(target);
            bench.launch.registers = 255;
            bench.launch.block = {48, 1, 1};
            bench.launch.shared_bytes = 256;
            bench.launch.local_high_bytes = 256;
            for (std::size_t i = 0; i < words.size(); ++i) bench.put(i + 1, words[i]);
            bench.put(0, s2r(0, kTidX));
            bench.put(words.size() + 1, exit());
            const GridState state = bench.run(5000);
            std::string end =
                std::to_string(static_cast<int>(state)) + " " + std::to_string(bench.grid->instructions());
            if (state == GridState::Trapped) end += bench.grid->trap().describe();
            for (u8 byte : bench.data) end += static_cast<char>(byte);
            ends.push_back(end);
        }
        CHECK(ends[0] == ends[1]);
    }
}
