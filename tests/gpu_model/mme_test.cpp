// The macro engine: encoding, every ALU operation, flow, predicates, data, tracking, and each of its errors.
#include "gpu_model/engine/mme/mme.h"

#include <doctest/doctest.h>

#include "gpu_model/regs/regs.h"
#include "sim/rng.h"
#include "tests/support/macro_builder.h"

using namespace bench;
using mme::Op;
using mme::Out;
namespace src = mme::source;

namespace {

u32 scratch(const GrBench& gr, u32 index) { return gr.state(kScratch + 4 * index); }

// Runs a macro on a fresh channel; afterwards the scratch words show what it emitted.
struct MacroRun {
    GrBench gr;
    explicit MacroRun(const Macro& code, const std::vector<u32>& data = {0}) {
        gr.bench.submit(gr.channel, load_macro(3, code) + call_macro(3, data));
        gr.bench.run();
    }
    u32 operator[](u32 index) const { return scratch(gr, index); }
    bool clean() { return gr.bench.errors.empty() && gr.bench.idle(gr.channel); }
    // The error's HWW_ESR bits, without EN; 0 when there was none.
    u32 esr() {
        if (gr.bench.errors.size() != 1) return 0;
        const ChipError& error = gr.bench.errors[0];
        CHECK(error.source == ChipError::Source::Gr);
        CHECK(error.info == regs::NV_PGRAPH_INTR_EXCEPTION::make(1));
        CHECK(error.address == regs::NV_PGRAPH_PRI_MME_HWW_ESR.offset);
        CHECK(gr.bench.gr_regs.read(regs::NV_PGRAPH_PRI_MME_HWW_ESR) == error.info2);
        CHECK(gr.bench.gr_regs.read(regs::NV_PGRAPH_EXCEPTION) == regs::NV_PGRAPH_EXCEPTION_MME::make(1));
        return error.info2 & 0x7FFFFFFF;
    }
};

template <typename F>
constexpr u32 bit() {
    return static_cast<u32>(F::kMask);
}

}  // namespace

TEST_CASE("mme: known encodings, and any 96 bits survive decode and encode") {
    // An instruction that only ends: ZERO (24) in every operand.
    CHECK(mme::encode(Macro().next().end_next().code[0]) == mme::Words{0x3, 0x18C00000, 0x318C0301});
    CHECK(mme::decode({0, 0, 1}).end_next);
    CHECK(mme::decode({0, 0, 1}).alu[0].source[0] == 0);
    // out[0].method = IMM0 (5), emit = IMM1 (6): bits 84:82 and 88:85.
    mme::Instruction out = mme::decode({5u << 18 | 6u << 21, 0, 0});
    CHECK(out.out[0].method == Out::IMM0);
    CHECK(out.out[0].emit == Out::IMM1);
    // Immediate 0 lies across two words: bits 45:30.
    CHECK(mme::decode({0, 0x1234 >> 2, 0}).alu[0].immediate == (0x1234 & ~3));
    sim::RandomStream rng(7, "mme", "words");
    for (int i = 0; i < 2000; ++i) {
        mme::Words words{static_cast<u32>(rng.next()), static_cast<u32>(rng.next()), static_cast<u32>(rng.next())};
        CHECK(mme::encode(mme::decode(words)) == words);
    }
}

TEST_CASE("mme: every ALU operation") {
    struct Case {
        Op op;
        u32 x, y, result;
        u32 immediate = 0;
    };
    const Case cases[] = {
        {Op::ADD, 0xFFFFFFFF, 2, 1},
        {Op::SUB, 1, 2, 0xFFFFFFFF},
        {Op::MUL, 0xFFFFFFFB, 7, 0xFFFFFFDD},
        {Op::MULU, 0x10001, 0x10001, 0x00020001},
        {Op::CLZ, 0x00406FE0, 0, 9},
        {Op::CLZ, 0, 0, 32},
        {Op::SLL, 0x0C406FE0, 5, 0x880DFC00},
        {Op::SLL, 0x0C406FE0, 37, 0x880DFC00},
        {Op::SRL, 0x8C406FE0, 4, 0x08C406FE},
        {Op::SRA, 0x8C406FE0, 4, 0xF8C406FE},
        {Op::AND, 0xF0F0, 0xFF00, 0xF000},
        {Op::NAND, 0xF0F0, 0xFF00, 0xFFFF0FFF},
        {Op::OR, 0xF0F0, 0xFF00, 0xFFF0},
        {Op::XOR, 0xF0F0, 0xFF00, 0x0FF0},
        {Op::SLT, 0xFFFFFFFF, 0, 0xFFFFFFFF},
        {Op::SLTU, 0xFFFFFFFF, 0, 0},
        {Op::SLE, 5, 5, 0xFFFFFFFF},
        {Op::SLEU, 6, 5, 0},
        {Op::SEQ, 5, 5, 0xFFFFFFFF},
        {Op::SEQ, 5, 4, 0},
        // dst 12, bits 12, src 20: the top 12 bits of y go to bits 23:12.
        {Op::MERGE, 0x0C406FE0, 0x76543210, 0x0C765FE0, 12 << 10 | 12 << 5 | 20},
        {Op::MERGE, 0x0C406FE0, 0x76543210, 0x32406FE0, 24 << 10 | 12 << 5 | 8},
    };
    for (const Case& c : cases) {
        CAPTURE(static_cast<u32>(c.op));
        Macro code;
        code.load(0).load(1).op(c.op, 2, 0, 1, c.immediate).send(kScratch, {2}).finish();
        MacroRun run(code, {c.x, c.y});
        CHECK(run.clean());
        CHECK(run[0] == c.result);
    }
}

TEST_CASE("mme: pairs that carry, immediates and outputs") {
    Macro code;
    code.load(0).load(1).load(2).load(3);
    code.next().alu(0, Op::ADD, 4, 0, 2).alu(1, Op::ADDC, 5, 1, 3);
    code.next().alu(0, Op::SUB, 6, 0, 2).alu(1, Op::SUBB, 7, 1, 3);
    code.next().alu(0, Op::MUL, 8, 0, 2).alu(1, Op::MULH, 9, src::Zero, src::Zero);
    code.next().alu(0, Op::MULU, 10, 0, 2).alu(1, Op::MULH, 11, src::Zero, src::Zero);
    code.next().alu(0, Op::ADD, 12, src::Imm, src::ImmPair).imm(0, 0xFFFF).imm(1, 0x8000);
    code.next().alu(0, Op::ADD, 13, src::Imm32, src::Zero).imm(0, 0xC0FF).imm(1, 0xEE01);
    code.send(kScratch, {4, 5, 6, 7, 8, 9, 10, 11, 12, 13});
    code.next().imm(0, 0x8765).imm(1, 0x1234).out(0, Out::NONE, Out::IMM0).out(1, Out::NONE, Out::IMMHIGH0);
    code.next().imm(0, 0x8765).imm(1, 0x1234).out(0, Out::NONE, Out::IMM32).out(1, Out::NONE, Out::IMMHIGH1);
    code.finish();
    MacroRun run(code, {0x80008650, 0x596, 0x8000A8F6, 0x836});
    CHECK(run.clean());
    u64 x = 0x59680008650, y = 0x8368000A8F6;
    CHECK((u64{run[1]} << 32 | run[0]) == x + y);
    CHECK((u64{run[3]} << 32 | run[2]) == x - y);
    i64 product = i64{static_cast<i32>(0x80008650)} * i64{static_cast<i32>(0x8000A8F6)};
    CHECK((u64{run[5]} << 32 | run[4]) == static_cast<u64>(product));
    CHECK((u64{run[7]} << 32 | run[6]) == u64{0x80008650} * 0x8000A8F6);
    CHECK(run[8] == 0xFFFF7FFF);
    CHECK(run[9] == 0xC0FFEE01);
    CHECK(run[10] == 0x8765);
    CHECK(run[11] == 8);
    CHECK(run[12] == 0x87651234);
    CHECK(run[13] == 1);
}

TEST_CASE("mme: both words of an instruction, registers and outputs at once") {
    Macro code;
    code.next().alu(0, Op::ADD, 0, src::Load1, src::Zero).alu(1, Op::ADD, 1, src::Load0, src::Zero);
    code.imm(0, macro_method(kScratch + 4 * 12)).imm(1, macro_method(kScratch + 4 * 35));
    code.out(0, Out::IMM0, Out::LOAD0).out(1, Out::IMM1, Out::LOAD1);
    code.send(kScratch, {0, 1}).finish();
    MacroRun run(code, {2581, 3048});
    CHECK(run.clean());
    CHECK(run[12] == 2581);
    CHECK(run[35] == 3048);
    CHECK(run[0] == 3048);
    CHECK(run[1] == 2581);
}

TEST_CASE("mme: all predicates on ALUs and outputs") {
    for (u32 mode = 0; mode < 16; ++mode) {
        for (u32 value : {0u, 0x80000000u}) {
            Macro code;
            code.load(0);
            code.next().predicate(static_cast<u8>(mode), 0);
            code.alu(0, Op::ADD, 1, src::Imm, src::Zero).alu(1, Op::ADD, 2, src::Imm, src::Zero);
            code.imm(0, macro_method(kScratch + 4 * 10)).imm(1, macro_method(kScratch + 4 * 11));
            code.out(0, Out::IMM0, Out::IMM1).out(1, Out::IMM1, Out::IMM0);
            code.send(kScratch, {1, 2}).finish();
            MacroRun run(code, {value});
            CHECK(run.clean());
            std::string_view text = mme::predicate_text(static_cast<u8>(mode));
            u32 shown[4] = {run[0], run[1], run[10], run[11]};
            for (u32 part = 0; part < 4; ++part) {
                CAPTURE(text);
                CAPTURE(part);
                bool runs = text[part] == 'U' || (text[part] == 'T') == (value != 0);
                CHECK((shown[part] != 0) == runs);
            }
        }
    }
}

TEST_CASE("mme: a load happens whatever the predicate says") {
    Macro code;
    code.load(0);
    code.next().predicate(1, src::Zero).alu(0, Op::ADD, 1, src::Load0, src::Zero);
    code.load(2).send(kScratch, {0, 1, 2}).finish();
    MacroRun run(code, {7, 8, 9});
    CHECK(run.clean());
    CHECK(run[0] == 7);
    CHECK(run[1] == 0);
    CHECK(run[2] == 9);
}

TEST_CASE("mme: loops, branches, jumps and the exit") {
    for (u32 count : {0u, 1u, 5u, 9u}) {
        Macro code;
        code.load(0);
        code.op(Op::LOOP, src::Zero, 0, src::Zero, 3);          // two instructions
        code.op(Op::ADD, 1, 1, src::Imm, 1).op(Op::ADD, 2, 2, 0);
        code.op(Op::ADD, 3, 3, src::Imm, 1).send(kScratch, {1, 2, 3}).finish();
        MacroRun run(code, {count});
        CHECK(run.clean());
        CHECK(run[0] == std::max(count, 1u));  // a body runs at least once
        CHECK(run[1] == count * std::max(count, 1u));
        CHECK(run[2] == 1);
    }
    struct Compare {
        Op op;
        bool (*holds)(u32, u32);
    };
    const Compare compares[] = {
        {Op::BLT, [](u32 x, u32 y) { return static_cast<i32>(x) < static_cast<i32>(y); }},
        {Op::BLTU, [](u32 x, u32 y) { return x < y; }},
        {Op::BLE, [](u32 x, u32 y) { return static_cast<i32>(x) <= static_cast<i32>(y); }},
        {Op::BLEU, [](u32 x, u32 y) { return x <= y; }},
        {Op::BEQ, [](u32 x, u32 y) { return x == y; }},
    };
    const u32 pairs[][2] = {{23, 56}, {56, 23}, {0xFFFFFFFB, 14}, {14, 0xFFFFFFFB}, {9, 9}};
    for (const Compare& compare : compares) {
        for (const auto& pair : pairs) {
            for (bool if_true : {false, true}) {
                Macro code;
                code.load(0).load(1);
                code.op(compare.op, src::Zero, 0, 1, (if_true ? 0x8000u : 0u) | 2);  // over the next instruction
                code.op(Op::ADD, 2, 2, src::Imm, 1).op(Op::ADD, 3, 3, src::Imm, 1);
                code.send(kScratch, {2, 3}).finish();
                MacroRun run(code, {pair[0], pair[1]});
                CHECK(run.clean());
                CHECK(run[0] == (compare.holds(pair[0], pair[1]) == if_true ? 0 : 1));
                CHECK(run[1] == 1);
            }
        }
    }
    // while (r1 < 7) ++r1, entered at its condition by a jump, closed by a branch backwards.
    Macro loop;
    loop.op(Op::JAL, src::Zero, src::Zero, src::Zero, 0x8000 | 2);
    loop.op(Op::ADD, 1, 1, src::Imm, 1);
    loop.next().alu(0, Op::BLT, src::Zero, 1, src::ImmPair).imm(0, 0x8000 | (static_cast<u32>(-1) & 0x1FFF)).imm(1, 7);
    loop.send(kScratch, {1}).finish();
    MacroRun looped(loop);
    CHECK(looped.clean());
    CHECK(looped[0] == 7);
    // Offset -4096 leaves the macro.
    Macro leaves;
    leaves.load(0).send(kScratch, {0});
    leaves.op(Op::BEQ, src::Zero, src::Zero, src::Zero, 0x8000 | 0x1000).send(kScratch + 4, {0}).finish();
    MacroRun left(leaves, {5});
    CHECK(left.clean());
    CHECK(left[0] == 5);
    CHECK(left[1] == 0);
}

TEST_CASE("mme: data RAM, tracked state, and data that arrives in pieces") {
    Macro code;
    code.load(0).load(1);
    code.op(Op::DWRITE, src::Zero, src::Imm, 0, 3071).op(Op::DWRITE, src::Zero, src::Imm, 1, 5);
    code.op(Op::DREAD, 2, src::Imm, src::Zero, 3071).op(Op::DREAD, 3, src::Imm, src::Zero, 5);
    code.op(Op::STATE, 4, src::Imm, src::Zero, kScratch / 4 + 20);
    code.load(5).send(kScratch, {2, 3, 4, 5}).finish();
    GrBench gr;
    auto words = load_macro(9, code, 700) + inc(1, kScratch + 80, {77}) + inc(1, nvc5c0::CALL_MME_MACRO + 72, {11});
    gr.bench.submit(gr.channel, words);
    gr.bench.run();
    CHECK(gr.bench.host.describe().find("macro 9 waits for data at 701") == std::string::npos);  // the channel is idle
    CHECK(gr.bench.compute->describe(gr.channel.chid) == " macro 9 waits for data at 701");
    gr.bench.submit(gr.channel, non_inc(1, nvc5c0::CALL_MME_DATA + 72, {12}));
    gr.bench.run();
    gr.bench.submit(gr.channel, non_inc(1, nvc5c0::CALL_MME_DATA + 72, {13}));
    gr.bench.run();
    CHECK(gr.bench.errors.empty());
    CHECK(scratch(gr, 0) == 11);
    CHECK(scratch(gr, 1) == 12);
    CHECK(scratch(gr, 2) == 77);
    CHECK(scratch(gr, 3) == 13);
    CHECK(gr.bench.compute->describe(gr.channel.chid).empty());
}

TEST_CASE("mme: shadow RAM control tracks, passes through and replays") {
    using namespace nvc5c0;
    Macro code;
    code.op(Op::STATE, 0, src::Imm, src::Zero, kScratch / 4).send(kScratch + 4, {0}).finish();
    GrBench gr;
    gr.bench.submit(gr.channel, load_macro(0, code) + inc(1, kScratch, {1}) + call_macro(0, {0}));
    gr.bench.run();
    CHECK(scratch(gr, 1) == 1);
    auto mode = [](u32 value) { return inc(1, SET_MME_SHADOW_RAM_CONTROL, {value}); };
    gr.bench.submit(gr.channel, mode(SET_MME_SHADOW_RAM_CONTROL_MODE_METHOD_PASSTHROUGH) + inc(1, kScratch, {2}) +
                                    call_macro(0, {0}));
    gr.bench.run();
    CHECK(scratch(gr, 0) == 2);  // the class saw it
    CHECK(scratch(gr, 1) == 1);  // the macro did not
    gr.bench.submit(gr.channel, mode(SET_MME_SHADOW_RAM_CONTROL_MODE_METHOD_REPLAY) + inc(1, kScratch, {99}));
    gr.bench.run();
    CHECK(scratch(gr, 0) == 1);  // the tracked word, not the one sent
    gr.bench.submit(gr.channel, mode(SET_MME_SHADOW_RAM_CONTROL_MODE_METHOD_TRACK) + inc(1, kScratch, {3}) +
                                    call_macro(0, {0}));
    gr.bench.run();
    CHECK(scratch(gr, 1) == 3);
    CHECK(gr.bench.errors.empty());
}

TEST_CASE("mme: errors name themselves in MME_HWW_ESR and stop the channel") {
    using namespace regs;
    Macro two_words;
    two_words.load(0).load(1).finish();
    GrBench missing;
    missing.bench.submit(missing.channel, load_macro(3, two_words) + call_macro(3, {1}) + inc(1, kScratch, {5}));
    missing.bench.run();
    REQUIRE(missing.bench.errors.size() == 1);
    CHECK((missing.bench.errors[0].info2 & 0xFFFF) == bit<NV_PGRAPH_PRI_MME_HWW_ESR_MISSING_MACRO_DATA>());
    CHECK(missing.bench.errors[0].method == kScratch);
    CHECK(missing.state(kScratch) == 0);
    u32 info = missing.bench.gr_regs.read(NV_PGRAPH_PRI_MME_HWW_ESR_INFO);
    CHECK(NV_PGRAPH_PRI_MME_HWW_ESR_INFO_PC::get(info) == 1);
    CHECK(NV_PGRAPH_PRI_MME_HWW_ESR_INFO_MACRO_ADDRESS::get(info) == 3);
    // Software clears it as the manual says.
    missing.bench.gr_regs.write(NV_PGRAPH_PRI_MME_HWW_ESR, 0xC0000000);
    missing.bench.gr_regs.write(NV_PGRAPH_INTR, ~u32{0});
    CHECK(missing.bench.gr_regs.read(NV_PGRAPH_PRI_MME_HWW_ESR) == 0x80000000);
    CHECK(missing.bench.gr_regs.read(NV_PGRAPH_EXCEPTION) == 0);
    CHECK(NV_PGRAPH_TRAPPED_ADDR_STATUS::get(missing.bench.gr_regs.read(NV_PGRAPH_TRAPPED_ADDR)) == 1);

    CHECK(MacroRun(two_words, {1, 2, 3}).esr() == bit<NV_PGRAPH_PRI_MME_HWW_ESR_EXTRA_MACRO_DATA>());

    auto esr_of = [](const Macro& code) { return MacroRun(code).esr(); };
    Macro reserved;
    reserved.op(Op::ADD, 0, 30, src::Zero).finish();
    CHECK(esr_of(reserved) == bit<NV_PGRAPH_PRI_MME_HWW_ESR_ILLEGAL_OPCODE>());
    Macro reserved_out;
    reserved_out.next().out(0, Out::RESERVED, Out::NONE).finish();
    CHECK(esr_of(reserved_out) == bit<NV_PGRAPH_PRI_MME_HWW_ESR_ILLEGAL_OPCODE>());
    Macro two_states;
    two_states.next().alu(0, Op::STATE, 0, src::Zero, src::Zero).alu(1, Op::STATE, 1, src::Zero, src::Zero).finish();
    CHECK(esr_of(two_states) == bit<NV_PGRAPH_PRI_MME_HWW_ESR_ILLEGAL_OPCODE>());
    Macro delay_slot;
    delay_slot.next().end_next().op(Op::JAL, src::Zero, src::Zero, src::Zero, 0x8002).finish();
    CHECK(esr_of(delay_slot) == bit<NV_PGRAPH_PRI_MME_HWW_ESR_BRANCH_IN_DELAY_SLOT>());
    Macro endless;
    endless.op(Op::BEQ, src::Zero, src::Zero, src::Zero, 0x8000).finish();
    CHECK(esr_of(endless) == bit<NV_PGRAPH_PRI_MME_HWW_ESR_MAX_INSTR_LIMIT>());
    Macro falls_out;
    falls_out.next();
    CHECK(esr_of(falls_out) == bit<NV_PGRAPH_PRI_MME_HWW_ESR_INSTR_RAM_ACCESS_OUT_OF_BOUNDS>());
    Macro data_ram;
    data_ram.op(Op::DREAD, 0, src::Imm, src::Zero, 3072).finish();
    CHECK(esr_of(data_ram) == bit<NV_PGRAPH_PRI_MME_HWW_ESR_DATA_RAM_ACCESS_OUT_OF_BOUNDS>());
    for (u32 method : {nvc5c0::CALL_MME_MACRO, nvc5c0::LOAD_MME_INSTRUCTION_RAM, u32{0}, u32{0x6C}}) {
        Macro illegal;
        illegal.send(method, {0}).finish();
        CHECK(esr_of(illegal) == bit<NV_PGRAPH_PRI_MME_HWW_ESR_ILLEGAL_MME_METHOD>());
    }
    GrBench upload;
    upload.bench.submit(upload.channel, inc(1, nvc5c0::LOAD_MME_INSTRUCTION_RAM_POINTER, {4096 * 3, 0}));
    upload.bench.run();
    REQUIRE(upload.bench.errors.size() == 1);
    CHECK((upload.bench.errors[0].info2 & 0xFFFF) == bit<NV_PGRAPH_PRI_MME_HWW_ESR_INSTR_RAM_ACCESS_OUT_OF_BOUNDS>());
}

TEST_CASE("mme: what nobody models is refused by name") {
    struct Case {
        Macro code;
        std::string_view name;
    };
    Case cases[4];
    cases[0].code.op(Op::EXTENDED, src::Zero, src::Imm, src::Zero, 0x2000).finish();
    cases[0].name = "mme EXTENDED operation";
    cases[1].code.op(Op::JAL, 1, src::Zero, src::Zero, 2).finish();
    cases[1].name = "mme JAL with a link";
    cases[2].code.op(Op::BEQ, src::Zero, src::Zero, src::Zero, 0x8000 | 0x2000 | 2).finish();
    cases[2].name = "mme branch with reserved bits";
    cases[3].code.load(0).op(Op::LOOP, src::Zero, 0, src::Zero, 3).op(Op::LOOP, src::Zero, 0, src::Zero, 2).next().finish();
    cases[3].name = "mme LOOP inside LOOP";
    for (const Case& c : cases) {
        MacroRun run(c.code, {4});
        CHECK(run.esr() == bit<regs::NV_PGRAPH_PRI_MME_HWW_ESR_ILLEGAL_OPCODE>());
        CHECK_MESSAGE(run.gr.bench.kernel.unmodelled().entries().contains(c.name), c.name);
    }
    // The barrier that known macros use is taken.
    Macro barrier;
    barrier.next().alu(0, Op::EXTENDED, src::Zero, src::Imm, src::ImmPair).imm(0, 0x1000).imm(1, 1).finish();
    CHECK(MacroRun(barrier).clean());
}

TEST_CASE("mme: instructions read as text") {
    auto name = [](u32 method) {
        const MethodTable& table = *find_method_table(cls::TURING_COMPUTE_A);
        return table.has(method) ? table.method_name(method) : std::string();
    };
    auto text = [&](const Macro& code) { return mme::disassemble(code.code[0], name); };
    CHECK(text(Macro().next()) == "nop");
    CHECK(text(Macro().load(3)) == "r3 = ADD load0 0");
    CHECK(text(Macro().op(Op::LOOP, src::Zero, 0, src::Zero, 3)) == "LOOP r0 0 to +2");
    CHECK(text(Macro().op(Op::BEQ, src::Zero, 0, src::Zero, 0x9000)) == "BEQ r0 0 if true exit");
    CHECK(text(Macro().op(Op::BLT, src::Zero, 0, 1, 0x1FFE)) == "BLT r0 r1 if false -2");
    CHECK(text(Macro().op(Op::MERGE, 1, 2, 3, 12 << 10 | 4 << 5 | 9)) == "r1 = MERGE r2 r3 dst 12 bits 4 src 9");
    CHECK(text(Macro().next().imm(0, macro_method(nvc5c0::LOAD_INLINE_DATA, 0)).out(0, Out::IMM0, Out::LOAD0).end_next()) ==
          "method LOAD_INLINE_DATA +0; emit LOAD0; end after next");
    CHECK(text(Macro().op(Op::STATE, 1, src::Imm, src::Zero, kScratch / 4 + 2)) ==
          "r1 = STATE 3330 0 (SET_MME_SHADOW_SCRATCH(2))");
    CHECK(text(Macro().next().predicate(4, 7).alu(0, Op::ADD, 0, 1, 2)) == "[FFUU r7] r0 = ADD r1 r2");
}

TEST_CASE("mme: random instructions never do more than stop their channel") {
    sim::RandomStream rng(11, "mme", "hostile");
    for (int round = 0; round < 200; ++round) {
        GrBench gr;
        std::vector<u32> code{0};
        for (int i = 0; i < 24; ++i) code.push_back(static_cast<u32>(rng.next()));
        std::vector<u32> data;
        u64 count = 1 + rng.below(6);
        for (u64 i = 0; i < count; ++i) data.push_back(static_cast<u32>(rng.next()));
        gr.bench.submit(gr.channel, one_inc(1, nvc5c0::LOAD_MME_INSTRUCTION_RAM_POINTER, code) + call_macro(0, data));
        gr.bench.run();
        CHECK(gr.bench.errors.size() <= 1);
    }
}
