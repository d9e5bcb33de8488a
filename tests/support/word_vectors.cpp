// Where operands lie: the form table of the public sm_75 encodings (see isa/decode.cpp).
#include "tests/support/word_vectors.h"

#include <algorithm>
#include <bit>

#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/exec/register_use.h"
#include "gpu_model/sm/flat_memory.h"
#include "gpu_model/sm/isa/disasm.h"
#include "sim/digest.h"
#include "sim/rng.h"
#include "tests/support/sm_assembler.h"

namespace test_support::words {

using gpu::sass::Op;
using gpu::sass::OpcodeRow;
using gpu::sass::Pipe;

namespace {

// Values near which operations change their mind.
constexpr u32 kEdges[] = {0,    1,      2,      31,     32,       33,          0x7f,        0x80,
                          0xff, 0x7fff, 0x8000, 0xffff, 0x1'0000, 0x7fff'ffff, 0x8000'0000, 0xffff'ffff};
constexpr u32 kSingles[] = {0,           0x8000'0000, 0x0000'0001, 0x807f'ffff, 0x0080'0000, 0x3f80'0000,
                            0xbf80'0000, 0x3f00'0000, 0x4000'0000, 0x7f7f'ffff, 0x7f80'0000, 0xff80'0000,
                            0x7fc0'0000, 0x7f80'0001, 0xffc1'2345, 0x4f00'0000, 0xcf00'0000, 0x5f00'0000,
                            0x4b80'0001, 0x3eff'ffff, 0x3fc0'0000, 0x477f'f000, 0x3880'0000, 0x3300'0000};
constexpr u32 kDoubleHighs[] = {0,           0x8000'0000, 0x3ff0'0000, 0xbff0'0000, 0x0010'0000, 0x000f'ffff,
                                0x7fef'ffff, 0x7ff0'0000, 0xfff0'0000, 0x7ff8'0000, 0x7ff0'0001, 0x41e0'0000,
                                0xc1e0'0000, 0x43e0'0000, 0x3fe0'0000, 0x47ef'ffff, 0x3810'0000, 0x40ef'ffe0};
constexpr u32 kHalves[] = {0,      0x8000, 0x0001, 0x83ff, 0x0400, 0x3c00, 0xbc00, 0x3800, 0x4000,
                           0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xfe12, 0x6400, 0x4900, 0x1400};

template <std::size_t N>
u32 pick(sim::RandomStream& rng, const u32 (&values)[N]) {
    return values[rng.below(N)];
}

u32 any(sim::RandomStream& rng) {
    return static_cast<u32>(rng.next());
}
// A number of every size, not only of the largest.
u32 any_size(sim::RandomStream& rng) {
    return any(rng) >> rng.below(32);
}

u32 single(sim::RandomStream& rng) {
    switch (rng.below(4)) {
        case 0:
            return pick(rng, kSingles);
        case 1:
            return any(rng);
        default:  // of a size that does not overflow when multiplied
            return (any(rng) & 0x807f'ffff) | static_cast<u32>(0x70 + rng.below(0x20)) << 23;
    }
}
u32 half(sim::RandomStream& rng) {
    switch (rng.below(3)) {
        case 0:
            return pick(rng, kHalves);
        case 1:
            return any(rng) & 0xffff;
        default:
            return (any(rng) & 0x83ff) | static_cast<u32>(10 + rng.below(10)) << 10;
    }
}

u32 value(Pool pool, u32 index, sim::RandomStream& rng) {
    switch (pool) {
        case Pool::Integer:
            return rng.below(3) == 0 ? pick(rng, kEdges) : rng.below(2) == 0 ? any(rng) : any_size(rng);
        case Pool::Single:
            return single(rng);
        case Pool::Double:
            if (index % 2 == 0) return rng.below(2) == 0 ? 0 : any(rng);
            return rng.below(3) == 0   ? pick(rng, kDoubleHighs)
                   : rng.below(2) == 0 ? any(rng)
                                       : (any(rng) & 0x800f'ffff) | static_cast<u32>(0x3f0 + rng.below(0x20)) << 20;
        case Pool::SpecialDouble:
            if (index % 2 == 0) return rng.below(3) == 0 ? any(rng) : 0;
            return rng.below(4) == 0 ? pick(rng, kDoubleHighs)
                                     : (any(rng) & 0x800f'ffff) | (rng.below(4) == 0 ? 0 : 0x7ff0'0000);
        case Pool::Half:
            return half(rng) | half(rng) << 16;
    }
    return 0;
}

Pool pool_of(const OpcodeRow& row, Op op, sim::RandomStream& rng) {
    using gpu::sass::Immediate;
    switch (op) {
        case Op::F2F_64:
        case Op::F2I_64:
        case Op::FRND_64:
        case Op::F2F:
        case Op::F2I:
        case Op::FRND: {
            constexpr Pool floats[] = {Pool::Single, Pool::Half, Pool::Double};
            return floats[rng.below(3)];
        }
        case Op::MUFU:
            return rng.below(4) == 0 ? Pool::Double : Pool::Single;
        case Op::HMMA_1688:
            return Pool::Half;
        default:
            break;
    }
    switch (row.immediate) {
        case Immediate::F32:
            return Pool::Single;
        case Immediate::F64:
            return rng.below(2) == 0 ? Pool::Double : Pool::SpecialDouble;
        case Immediate::H2:
            return Pool::Half;
        default:
            return Pool::Integer;
    }
}

// Rows whose whole effect is in registers and predicates.
bool is_pure(const OpcodeRow& row, Op op) {
    switch (op) {
        case Op::SHFL_RR:
        case Op::SHFL_RI:
        case Op::SHFL_IR:
        case Op::SHFL_II:
        case Op::MATCH:
        case Op::R2UR:
            return true;
        case Op::CS2R:
        case Op::ULDC:
        case Op::ULDC_UR:
        case Op::HMMA_884:   // other chips have no such instruction,
        case Op::HMMA_1688:  // or round its sums differently
        case Op::BMMA:
        case Op::LDSM:
            return false;
        default:
            break;
    }
    switch (row.pipe) {
        case Pipe::Int:
        case Pipe::Fma:
        case Pipe::Fp64:
        case Pipe::Half:
        case Pipe::Xu:
        case Pipe::Udp:
        case Pipe::Tensor:
            return true;
        default:
            return false;
    }
}

// Sources 0..2 as vector and as uniform registers; the uniform result.
constexpr u32 kA = 8, kB = 12, kC = 16, kUa = 4, kUb = 8, kUc = 10, kUResult = 12;
constexpr u32 kUniformPredicates = 7;

u64 word_bits(Word word, unsigned hi, unsigned lo) {
    return word.bits(hi, lo);
}

bool has(const OpcodeRow& row, std::initializer_list<gpu::sass::Operand> operands) {
    return std::find_first_of(row.operands.begin(), row.operands.end(), operands.begin(), operands.end()) !=
           row.operands.end();
}

Asm random_word(const OpcodeRow& row, u32 form, Pool pool, sim::RandomStream& rng) {
    using O = gpu::sass::Operand;
    const bool uniform = row.uniform();
    const bool in_c = form == 2 || form == 3 || form == 7;
    const bool shuffles = has(row, {O::SegmentR, O::SegmentI});
    Asm word(row.operation | form << 9);
    // Modifiers, signs and predicates: what the table does not know is refused below.
    word.set(90, 72, rng.next());
    if (has(row, {O::Rd, O::OptRd})) word.set(23, 16, uniform ? kUResult : kResult);
    if (has(row, {O::URd, O::OptURd})) word.set(23, 16, kUResult);
    if (has(row, {O::LutV})) word.set(23, 16, rng.next());
    if (has(row, {O::A, O::nA, O::fA, O::hA, O::bA, O::MmaA, O::Ra})) word.set(31, 24, uniform ? kUa : kA);
    const bool has_c = has(row, {O::C, O::nC, O::fC, O::hC, O::HighC});
    if (in_c && !shuffles && !has(row, {O::fE, O::hE})) word.set(71, 64, uniform ? kUb : kB);
    if (!in_c && has_c) word.set(71, 64, uniform ? kUc : kC);
    if (has(row, {O::OptPr, O::ExPr})) word.set(71, 68, rng.next());
    if (has(row, {O::LutU})) word.set(71, 64, rng.next());
    if (has(row, {O::Pr}) && rng.below(4) != 0) word.set(67, 67, 0);
    if (has(row, {O::PredMask, O::OptPredMask, O::Swizzle})) {
        word.set(39, 32, rng.next());
    } else if (shuffles) {
        word.set(63, 58, rng.next());
        has(row, {O::LaneR}) ? word.set(39, 32, kB) : word.set(57, 53, rng.next());
        has(row, {O::SegmentR}) ? word.set(71, 64, kC) : word.set(52, 40, rng.next());
    } else if (has(row, {O::B, O::nB, O::iB, O::fB, O::hB, O::bB, O::sB, O::MmaB, O::fE, O::hE}) || (in_c && has_c)) {
        const u32 constant = kConstants + 8 * static_cast<u32>(rng.below(kConstantCount / 2));
        const u32 immediate = value(pool, 1, rng);
        switch (form) {
            case 1:
                word.set(63, 60, rng.next()).set(39, 32, uniform ? kUb : kB);
                break;
            case 2:
            case 4:
                word.set(63, 32, rng.below(4) == 0 ? any_size(rng) : immediate);
                break;
            case 3:
            case 5:
                word.set(63, 60, rng.next()).set(53, 38, constant);
                break;
            default:
                word.set(63, 60, rng.next()).set(37, 32, kUb);
                break;
        }
    }
    // Forms that mean little elsewhere are rarer than their bits.
    using M = gpu::sass::Mod;
    const auto has_mod = [&](M mod) {
        return std::find(row.modifiers.begin(), row.modifiers.end(), mod) != row.modifiers.end();
    };
    if (has_mod(M::Fmz) && rng.below(4) != 0) word.set(76, 76, 0);
    if (row.immediate == gpu::sass::Immediate::H2) {
        constexpr u32 single = 1;  // of a source's selection
        if (has_mod(M::HalfF32) && rng.below(4) != 0) word.set(78, 78, 0);
        if (word_bits(word, 75, 74) == single) word.set(75, 74, 2);
        if (form != 2 && form != 4 && word_bits(word, 61, 60) == single) word.set(61, 60, 3);
        if (has(row, {O::hC}) && word_bits(word, 82, 81) == single) word.set(82, 81, 0);
    }
    if (has(row, {O::OptPr}) && word_bits(word, 72, 72) == 0) word.set(71, 64, 0x70);
    if (row.text == "FRND") word.set(85, 84, word_bits(word, 76, 75));
    if (has(row, {O::bB, O::sB}) && rng.below(2) != 0 && form != 2 && form != 4) word.set(61, 60, 0);
    if (has(row, {O::MmaA})) word.set(73, 73, 0).set(74, 74, 1);
    if (row.datapath == gpu::sass::Datapath::Uniform || ((form == 6 || form == 7) && !shuffles)) word.set(91, 91, 1);
    if (rng.below(8) == 0) word.guard(static_cast<u32>(rng.below(kUniformPredicates)), rng.below(2) != 0);
    return word;
}

// What NVIDIA's compiler leaves in bits that do not show in the text: no predicate, no register, zero.
Asm canonical(Asm word, const OpcodeRow& row) {
    using O = gpu::sass::Operand;
    const std::string text = gpu::sass::disassemble(word);
    const auto keep = [&](unsigned hi, unsigned lo, u64 value) {
        Asm other = word;
        if (gpu::sass::disassemble(other.set(hi, lo, value)) == text) word = other;
    };
    for (unsigned bit = 16; bit < 91; ++bit) keep(bit, bit, 0);
    if (has(row, {O::XPp, O::Pp})) keep(90, 87, 0xf);
    if (has(row, {O::XPq})) keep(80, 77, 0xf);
    if (has(row, {O::HighC})) keep(71, 64, row.uniform() ? gpu::sass::kUrz : gpu::sass::kRz);
    // Three-source multiplications have a predicate there that no text shows.
    if (gpu::sass::op_of(row) == Op::IMAD || gpu::sass::op_of(row) == Op::UIMAD) keep(83, 81, gpu::sass::kPt);
    if (row.text == "FRND") keep(85, 84, word_bits(word, 76, 75));  // the source's size is the result's
    return word;
}

// Whether the word decodes without a value that has no meaning, reads only what has been set and changes only what is
// stored.
bool fits(Word word) {
    const gpu::sass::Decoded decoded = gpu::sass::decode(word);
    if (!decoded.ok()) return false;
    const std::string text = gpu::sass::disassemble(decoded.instruction);
    if (text.find("INVALID") != std::string::npos || text.find("???") != std::string::npos) return false;
    const gpu::sm::RegisterUse use = gpu::sm::register_use(decoded.instruction);
    if (use.misaligned) return false;
    const u32 uniform_end = kUa + kConstantCount - 4;
    for (const gpu::sm::RegisterSpan& span : use.reads()) {
        const u32 end = u32{span.first} + span.count;
        if (span.uniform ? (span.first < kUa || end > uniform_end)
                         : (span.first < kFirstInput || end > kFirstInput + kInputs))
            return false;
    }
    for (const gpu::sm::RegisterSpan& span : use.writes()) {
        const u32 end = u32{span.first} + span.count;
        if (span.uniform ? (span.first < kUResult || end > kUResult + 4) : (span.first < kResult || end > kResult + 4))
            return false;
    }
    return true;
}

Asm nop() {
    return Asm(0x918);
}
Asm mov_uniform(u32 rd, u32 ur) {
    return Asm(0xc02).set(23, 16, rd).set(37, 32, ur).set(75, 72, 0xf).set(91, 91, 1);
}
Asm uldc64(u32 urd, u32 offset) {
    return Asm(0xab9).set(23, 16, urd).set(53, 38, offset).set(75, 73, 5);
}

}  // namespace

PoolValues pool_values(Pool pool) {
    sim::RandomStream rng(static_cast<u64>(pool), "words", "values");
    PoolValues values;
    for (u32& one : values.constants) one = value(pool, static_cast<u32>(&one - values.constants.data()), rng);
    for (u32 thread = 0; thread < kThreads; ++thread)
        for (u32 i = 0; i < kInputs; ++i) values.inputs.push_back(value(pool, i, rng));
    return values;
}

std::vector<WordVector> generate(u64 seed, u32 per_form) {
    sim::RandomStream rng(seed, "words", "words");
    std::vector<WordVector> vectors;
    constexpr u32 tries_each = 200;
    for (const OpcodeRow& row : gpu::sass::opcode_rows()) {
        const Op op = gpu::sass::op_of(row);
        if (!is_pure(row, op)) continue;
        for (u32 form = 1; form < 8; ++form) {
            if ((row.forms >> form & 1) == 0) continue;
            u32 found = 0;
            for (u32 tries = 0; tries < per_form * tries_each && found < per_form; ++tries) {
                const Pool pool = pool_of(row, op, rng);
                const Word word = canonical(random_word(row, form, pool, rng), row);
                if (!fits(word)) continue;
                vectors.push_back({word, pool});
                ++found;
            }
        }
    }
    // Where a division becomes unsafe depends on both exponents.
    for (u32 exponent = 0; exponent < 256; ++exponent)
        for (u32 first = 0; first < 4; ++first) {
            const Asm word = Asm(0x902)
                                 .set(31, 24, kA + first)
                                 .set(63, 32, (any(rng) & 0x807f'ffff) | exponent << 23)
                                 .set(83, 81, 1);
            vectors.push_back({word, Pool::Single});
        }
    for (std::size_t i = vectors.size(); i > 1; --i) std::swap(vectors[i - 1], vectors[rng.below(i)]);
    return vectors;
}

std::vector<Word> setup() {
    std::vector<Word> words;
    words.push_back(Asm(0x804).set(31, 24, kPredicatesIn).set(39, 32, 0x7f));  // R2P
    for (u32 i = 0; i + 4 < kConstantCount; i += 2) words.push_back(uldc64(kUa + i, kConstants + 4 * i));
    for (u32 i = 0; i < 4; ++i) words.push_back(nop());
    constexpr u32 less = 1;
    for (u32 i = 0; i < kUniformPredicates; ++i)  // UPi = UR < 2^30
        words.push_back(Asm(0x88c)
                            .set(31, 24, kUa + i)
                            .set(63, 32, 0x4000'0000)
                            .set(78, 76, less)
                            .set(83, 81, i)
                            .set(86, 84, 7)
                            .set(89, 87, 7)
                            .set(70, 68, 7)
                            .set(91, 91, 1));
    return words;
}

std::vector<Word> collect() {
    std::vector<Word> words;
    words.push_back(Asm(0x803).set(23, 16, kResult + 4).set(31, 24, gpu::sass::kRz).set(39, 32, 0x7f));  // P2R
    words.push_back(
        Asm(0x883).set(23, 16, kUResult + 4).set(31, 24, gpu::sass::kUrz).set(39, 32, 0x7f).set(91, 91, 1));  // UP2UR
    for (u32 i = 0; i < 4; ++i) words.push_back(nop());
    for (u32 i = 0; i < 5; ++i) words.push_back(mov_uniform(kResult + 5 + i, kUResult + i));
    return words;
}

std::optional<std::vector<u32>> run_on_model(const WordVector& vector, std::string& why) {
    constexpr u64 code_va = 0x1'0000, in_va = 0x20'0000, out_va = 0x30'0000, bank_va = 0x40'0000;
    constexpr u32 tid_x = 0x21, bank_bytes = 1024;
    const PoolValues values = pool_values(vector.pool);
    gpu::sm::FlatMemory memory;
    const std::span<u8> code = memory.add(code_va, 8192), in = memory.add(in_va, kThreads * kInputs * 4),
                        out = memory.add(out_va, kThreads * kResults * 4), bank = memory.add(bank_va, bank_bytes);
    const auto store = [](std::span<u8> to, u64 at, u32 value) {
        for (u32 i = 0; i < 4; ++i) to[at + i] = static_cast<u8>(value >> (8 * i));
    };
    for (std::size_t i = 0; i < values.inputs.size(); ++i) store(in, 4 * i, values.inputs[i]);
    for (u32 i = 0; i < kConstantCount; ++i) store(bank, kConstants + 4 * i, values.constants[i]);

    std::vector<Word> program;
    const auto multiply_add = [](u32 rd, u32 ra, u32 immediate, u32 rc) {
        return Asm(0x825)
            .set(23, 16, rd)
            .set(31, 24, ra)
            .set(63, 32, immediate)
            .set(71, 64, rc)
            .set(83, 81, code::pt)
            .set(89, 87, code::pt);
    };
    using namespace code;
    for (const Word& word :
         {Word(s2r(0, tid_x)), Word(mov(4, in_va)), Word(mov(5, 0)), Word(multiply_add(2, 0, kInputs * 4, 4)),
          Word(mov(4, out_va)), Word(multiply_add(6, 0, kResults * 4, 4))})
        program.push_back(word);
    for (u32 i = 0; i < kInputs; ++i) program.push_back(ldg(kFirstInput + i, 2, 4 * i));
    for (const Word& word : setup()) program.push_back(word);
    program.push_back(vector.word);
    for (const Word& word : collect()) program.push_back(word);
    for (u32 i = 0; i < kResults; ++i) program.push_back(stg(6, kResult + i, 4 * i));
    program.push_back(exit());
    for (std::size_t i = 0; i < program.size(); ++i)
        for (u32 byte = 0; byte < 8; ++byte) {
            code[i * 16 + byte] = static_cast<u8>(program[i].lo >> (8 * byte));
            code[i * 16 + 8 + byte] = static_cast<u8>(program[i].hi >> (8 * byte));
        }

    gpu::sm::KernelLaunch launch;
    launch.entry = code_va;
    launch.registers = 64;
    launch.block = {kThreads, 1, 1};
    launch.banks[0] = {bank_va, bank_bytes};
    struct StillClock final : gpu::sm::SmClock {
        u64 global_timer_ns() const override { return 0; }
    } clock;
    gpu::sm::CodeCache cache;
    gpu::sm::GridRun grid(launch, memory, cache, clock);
    if (grid.run(1'000'000) != gpu::sm::GridState::Done) {
        why = grid.trap().describe();
        return std::nullopt;
    }
    std::vector<u32> results(kThreads * kResults);
    for (std::size_t i = 0; i < results.size(); ++i)
        for (u32 byte = 0; byte < 4; ++byte) results[i] |= u32{out[4 * i + byte]} << (8 * byte);
    return results;
}

u64 hash_of(const std::vector<u32>& results) {
    std::vector<u8> bytes;
    for (const u32 word : results)
        for (u32 byte = 0; byte < 4; ++byte) bytes.push_back(static_cast<u8>(word >> (8 * byte)));
    return sim::hash_bytes(bytes);
}

}  // namespace test_support::words
