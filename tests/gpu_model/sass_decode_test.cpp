// The decoded form that an executor sees, the control bits, refusals, and that no word at all breaks decoder or
// disassembler.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "gpu_model/sm/isa/disasm.h"

using namespace gpu::sass;

namespace {

// A fixed stream of words; the constants are those of the splitmix64 generator.
struct WordStream {
    u64 state = 75;
    u64 next() {
        u64 z = state += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    Word word() {
        const u64 lo = next();
        return {lo, next()};
    }
};

Instruction decoded(u64 lo, u64 hi) {
    const Decoded result = decode({lo, hi});
    REQUIRE(result.ok());
    return result.instruction;
}

}  // namespace

TEST_CASE("sources follow the form") {
    SUBCASE("register, register, register") {  // IADD3 R25, -R25, RZ, RZ
        const Instruction in = decoded(0x000000ff19197210, 0x000fc40007ffe1ff);
        CHECK(in.op == Op::IADD3);
        CHECK(in.rd == 25);
        CHECK(in.a.kind == SourceKind::Register);
        CHECK(in.a.index == 25);
        CHECK(in.a.negate);
        CHECK(in.b.index == kRz);
        CHECK_FALSE(in.b.negate);
        CHECK(in.mod<Mod::X>() == 0);
    }
    SUBCASE("the third source is a constant: slots are swapped") {  // IMAD.WIDE R2, R0, R11, c[0x0][0x168]
        const Instruction in = decoded(0x00005a0000027625, 0x000fc800078e020b);
        CHECK(in.op == Op::IMAD_WIDE);
        CHECK(in.b.kind == SourceKind::Register);
        CHECK(in.b.index == 11);
        CHECK(in.c.kind == SourceKind::Constant);
        CHECK(in.bank == 0);
        CHECK(in.bank_offset == 0x168);
    }
    SUBCASE("an immediate") {  // IADD3 R4, R3.reuse, -0x1, RZ
        const Instruction in = decoded(0xffffffff03047810, 0x040fe40007ffe0ff);
        CHECK(in.b.kind == SourceKind::Immediate);
        CHECK(in.immediate == 0xffffffff);
        CHECK((in.control().reuse >> in.a.reuse_bit & 1) == 1);
    }
    SUBCASE("a uniform register") {  // IMAD R3, R3, UR4, R0
        const Instruction in = decoded(0x0000000403037c24, 0x000fe4000f8e0200);
        CHECK(in.b.kind == SourceKind::Uniform);
        CHECK(in.b.index == 4);
        CHECK(in.c.kind == SourceKind::Register);
    }
}

TEST_CASE("control information") {
    const Control control = decoded(0x0000000403037c24, 0x081fe4000f8e0200).control();  // reuse 2, wait 0, stall 2
    CHECK(control.stall == 2);
    CHECK_FALSE(control.yield);
    CHECK(control.write_barrier == 7);
    CHECK(control.read_barrier == 7);
    CHECK(control.wait_mask == 1);
    CHECK(control.reuse == 2);
    CHECK(decoded(0x0000000402027381, 0x000ea800001ee900).control().write_barrier == 2);
    CHECK(decoded(0x0000000906007386, 0x0001e2000010e900).control().read_barrier == 0);
}

TEST_CASE("branch targets count from the next instruction") {
    const BranchTarget self = branch_target(decoded(0xfffffff000007947, 0x000fc0000383ffff), 0x130);  // BRA to itself
    CHECK(self.present);
    CHECK_FALSE(self.absolute);
    CHECK(self.address == 0x130);
    CHECK(branch_target(decoded(0x0000000000007943, 0x003fde0003c00000), 0x130).absolute);   // CALL.ABS
    CHECK_FALSE(branch_target(decoded(0x0000000000007918, 0x000fc00000000000), 0).present);  // NOP
}

TEST_CASE("a refusal names the bits") {
    CHECK(describe(decode({0x0fff, 0}).refusal) == "bits 11:0 = 0xfff: no sm_75 instruction has this opcode");
    CHECK(describe(decode({0x0326, 0}).refusal) == "bits 11:0 = 0x326: IPA is not modelled");
    CHECK(describe(decode({0x000000ff00087202, 0x000fca0008000f00}).refusal) ==
          "bit 91 = 1: wrong for this opcode (uniform operand flag)");
    CHECK(describe(decode({0x0000000202277211, 0x000fc600078e0aff}).refusal) ==  // LEA.SX32 without .HI
          "bit 73 = 1: not allowed with the other modifiers of this word");
    CHECK(disassemble(Word{0x0fff, 0}).starts_with("(refused) bits 11:0"));
}

TEST_CASE("texts of forms that neither corpus nor probe holds") {
    struct Case {
        u64 lo, hi;
        const char* text;
    };
    // Control bits are zero here, which prints no differently.
    const Case cases[] = {
        {0x0000002100197305, 0x21f000, "F2I.FTZ.U32.TRUNC.NTZ R25, R33 ;"},
        {0x4000002100197305, 0x21f000, "F2I.FTZ.U32.TRUNC.NTZ R25, |R33| ;"},
        {0x0000000318007804, 0x2000, "R2P PR, R24.B2, 0x3 ;"},
        {0x000000ff18007804, 0x0000, "R2P PR, R24 ;"},
        {0x60005b00ff0a7630, 0x00000900, "HADD2 R10, -RZ.H0_H0, |c[0x0] [0x16c].H0_H0| ;"},
        {0x00000000003f7886, 0x00000100, "VOTEU.ANY UP0, P0 ;"},
        {0x41efffff00057908, 0x00001800, "MUFU.RCP64H R5, 4.29496524800000000000e+09 ;"},
        {0x000000cc26277822, 0x00002027, "FSWZADD.NDV R39, R38, R39, ZPPPZPPP ;"},
        {0x00c00000ff127b82, 0x00000200, "LDC.S8 R18, c[0x3][RZ] ;"},
        {0x480004000e057f99, 0x081f0500, "SULD.D.BA.1D_ARRAY.U16.STRONG.CTA R5, [R14], UR4, 0x0 ;"},
        {0x3000042002207f60, 0x099e4f22, "TEX.SCR.LL.DC R34, R32, R2, R32, UR4, 0x0, 2D ;"},
        {0x5000581418007b9b, 0x00110300, "SUST.P.1D_ARRAY.STRONG.CTA.RG.TRAP [R24], R20, 0x0, 0x58 ;"},
    };
    for (const Case& item : cases) {
        CHECK(disassemble(Word{item.lo, item.hi}) == item.text);
    }
}

TEST_CASE("the table is whole") {
    std::set<std::string_view> ids;
    std::set<Operand> operands;
    std::set<Mod> modifiers;
    for (const OpcodeRow& row : opcode_rows()) {
        CAPTURE(row.id);
        CHECK(ids.insert(row.id).second);
        CHECK(row.forms != 0);
        CHECK((row.forms & 1) == 0);  // no instruction has form 0
        CHECK(row.operation < 512);
        CHECK(row.semantics.starts_with("op_"));
        for (Operand operand : row.operands) operands.insert(operand);
        for (Mod mod : row.modifiers) modifiers.insert(mod);
        CHECK(&row_of(op_of(row)) == &row);
    }
    for (u8 i = 0; i < static_cast<u8>(Operand::NoOperand); ++i) {
        CAPTURE(+i);
        CHECK(operands.contains(static_cast<Operand>(i)));
    }
    for (u8 i = 0; i < static_cast<u8>(Mod::None); ++i) {
        CAPTURE(row_of(static_cast<Mod>(i)).name);
        CHECK(modifiers.contains(static_cast<Mod>(i)));
    }
}

TEST_CASE("any word decodes or is refused, and prints") {
    WordStream stream;
    unsigned accepted = 0;
    for (unsigned i = 0; i < 200'000; ++i) {
        Word word = stream.word();
        if (i % 2 != 0) {  // half of them with an opcode of the table
            const OpcodeRow& row = opcode_rows()[i / 2 % kOpCount];
            u64 form = stream.next() % 8;
            while ((row.forms >> form & 1) == 0) form = (form + 1) % 8;
            word.lo = (word.lo & ~u64{0xfff}) | form << at::Form::kLo | row.operation;
        }
        const Decoded result = decode(word);
        const std::string text = disassemble(word);
        CHECK(text.starts_with("(refused) ") != result.ok());
        CHECK(text.size() < 200);
        accepted += result.ok() ? 1U : 0U;
    }
    CHECK(accepted > 50'000);
}
