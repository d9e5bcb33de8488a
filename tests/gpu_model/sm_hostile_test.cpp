// Instruction words and kernels that nobody meant: random bits, and good kernels with bits changed. Nothing may be worse
// than a trap, a deadlock or the end of the budget, with tools watching or not. TU104SIM_HOSTILE sets the rounds.
#include "gpu_model/sm/isa/disasm.h"
#include "gpu_model/sm/timing.h"
#include "gpu_model/sm/tools/memory_check.h"
#include "gpu_model/sm/tools/race_check.h"
#include "gpu_model/sm/tools/sass_trace.h"
#include "sim/rng.h"
#include "tests/support/hostile_scale.h"
#include "tests/support/sm_bench.h"

namespace {

using namespace gpu::sm;
using namespace test_support;
using namespace test_support::code;

constexpr u32 kTidX = 0x21, kCtaidX = 0x25;
constexpr u32 kDataLow = static_cast<u32>(SmBench::kData);
constexpr u32 kWords = 64;  // of a program, the last one EXIT
constexpr u64 kCodeBytes = 8192;

using Program = std::vector<Word>;

Asm lds(u32 rd, u32 ra) {
    return Asm(0x984).set(23, 16, rd).set(31, 24, ra).set(75, 73, 4).set(79, 78, 1).set(83, 81, pt);
}
Asm sts(u32 ra, u32 rs) {
    return Asm(0x388).set(31, 24, ra).set(39, 32, rs).set(75, 73, 4).set(79, 78, 1);
}
Asm shfl(u32 rd, u32 ra, u32 lane) {
    return Asm(0xf89).set(23, 16, rd).set(31, 24, ra).set(57, 53, lane).set(52, 40, 0x1f).set(83, 81, pt);
}

// Kernels that use loops, divergence, barriers, shared and global memory, atomics, shuffles, calls.
const std::vector<Program>& good_kernels() {
    static const std::vector<Program> kernels = {
        // A loop that stores what it has added up.
        {s2r(0, kTidX), iadd_register(2, 0, 0), iadd_register(2, 2, 2), iadd(2, 2, kDataLow), mov(3, 0), mov(5, 20),
         mov(4, 0), iadd_register(4, 4, 0), iadd(5, 5, 0xffff'ffff), isetp(0, 5, 5, 0), bra(-4).guard(0), stg(2, 4), exit()},
        // Lanes that part and meet.
        {s2r(0, kTidX), isetp(0, 0, 1, 16), bssy(1, 5), bra(2).guard(0), mov(4, 1), bra(2), mov(4, 2), bsync(1), bsync(1),
         mov(2, kDataLow), mov(3, 0), red_add(2, 4), exit()},
        // A neighbour's word through shared memory.
        {s2r(0, kTidX), sts(0, 0), bar_sync(0), lds(1, 0), bar_sync(0), shfl(4, 1, 3), ballot(5), mov(2, kDataLow),
         mov(3, 0), stg(2, 4), ldg(6, 2, 16), stg(2, 6, 32), exit()},
        // A lock.
        {mov(2, kDataLow), mov(3, 0), mov(6, 1), atomg_cas(4, 2, rz, 6), isetp(1, 4, 5, 0), bra(-3).guard(1), ldg(5, 2, 4),
         iadd(5, 5, 1), stg(2, 5, 4), stg(2, rz), exit()},
        // Constants and blocks.
        {s2r(0, kCtaidX), mov_constant(4, 0, 0x10), iadd_register(4, 4, 0), mov(2, kDataLow), mov(3, 0), stg(2, 4, 8), exit()},
    };
    return kernels;
}

// A word whose opcode exists, with everything else random.
Word likely_word(sim::RandomStream& rng) {
    Word word{.lo = rng.next(), .hi = rng.next()};
    const auto rows = gpu::sass::opcode_rows();
    const auto& row = rows[rng.below(rows.size())];
    u32 form = static_cast<u32>(rng.below(8));
    while ((row.forms >> form & 1) == 0) form = (form + 1) % 8;
    word.lo = (word.lo & ~u64{0xfff}) | row.operation | form << 9;
    if (rng.below(4) != 0) word.lo |= 0x7000;
    return word;
}

Program mutate(Program program, sim::RandomStream& rng) {
    const u64 changes = 1 + rng.below(4);
    for (u64 i = 0; i < changes; ++i) {
        Word& word = program[rng.below(program.size())];
        switch (rng.below(5)) {
            case 0:
                word.lo ^= u64{1} << rng.below(64);
                break;
            case 1:
                word.hi ^= u64{1} << rng.below(64);
                break;
            case 2:
                word = likely_word(rng);
                break;
            case 3:
                std::swap(word, program[rng.below(program.size())]);
                break;
            default:
                program.insert(program.begin() + static_cast<std::ptrdiff_t>(rng.below(program.size())), likely_word(rng));
                break;
        }
    }
    return program;
}

struct NoText final : TextSink {
    void append(std::string_view, std::string_view) override {}
};

// A bench that is made once and set back for each program.
struct HostileBench : SmBench {
    explicit HostileBench(LaneTarget target) { cache = CodeCache(target); }
    ~HostileBench() { grid.reset(); }  // gives its blocks back to `pool`

    void load(const Program& program) {
        std::fill(data.begin(), data.end(), u8{0});
        std::fill(bank.begin(), bank.end(), u8{0});  // kernels reach it, too
        const std::span<u8> code = memory.at(kCode, kCodeBytes);
        std::fill(code.begin(), code.end(), u8{0});
        for (u32 i = 0; i < kWords; ++i) put(i, i < program.size() ? program[i] : Word(exit()));
    }
    GridState run_hostile(bool watched, u64 budget) {
        REQUIRE(check_launch(launch) == "");
        grid.emplace(launch, memory, cache, clock, &pool);
        RaceCheck races;
        MemoryCheck accesses;
        NoText nowhere;
        SassTrace trace(nowhere);
        if (watched) {
            accesses.allocate({kData, kDataBytes, "data", false});
            grid->enable_timing();
            grid->add_observer(races);
            grid->add_observer(accesses);
            grid->add_observer(trace);
        }
        const GridState state = grid->run(budget);
        instructions = grid->instructions();
        end = state == GridState::Trapped ? grid->trap().describe() : std::string();
        if (watched) grid.reset();
        return state;
    }
    BlockPool pool;
    u64 instructions = 0;
    std::string end;
};

void choose_launch(KernelLaunch& launch, sim::RandomStream& rng) {
    constexpr u32 threads[] = {1, 31, 32, 33, 64, 96};
    launch.block = {threads[rng.below(std::size(threads))], 1, 1};
    launch.grid = {static_cast<u32>(1 + rng.below(3)), 1, 1};
    launch.registers = rng.below(4) == 0 ? 8 : 64;
    launch.shared_bytes = rng.below(4) == 0 ? 0 : 512;
    launch.local_high_bytes = rng.below(2) == 0 ? 0 : 128;
    launch.local_low_bytes = rng.below(2) == 0 ? 0 : 64;
    launch.barriers = rng.below(4) == 0 ? 1 : 16;
    launch.sm_count = static_cast<u32>(1 + rng.below(2));
}

}  // namespace

TEST_CASE("10,000,000 random instruction words decode, print and tell their registers, or are refused by their bits") {
    const u64 rounds = u64{test::hostile_rounds(30'000)} * 10;
    sim::RandomStream rng(test::hostile_seed(75), "sm_hostile_test", "words");
    u64 decoded = 0;
    for (u64 round = 0; round < rounds; ++round) {
        const Word word = round % 2 == 0 ? Word{.lo = rng.next(), .hi = rng.next()} : likely_word(rng);
        const gpu::sass::Decoded result = gpu::sass::decode(word);
        if (!result.ok()) {
            REQUIRE_FALSE(gpu::sass::describe(result.refusal).empty());
            continue;
        }
        ++decoded;
        Slot slot;
        slot.in = result.instruction;
        prepare(slot, LaneTarget::Portable);
        const bool runs = slot.run != nullptr;
        REQUIRE(runs);
        const RegisterUse use = register_use(result.instruction);
        for (const RegisterSpan& span : use.reads()) REQUIRE(span.count <= 8);
        if (round % 16 == 1) REQUIRE(gpu::sass::disassemble(result.instruction).ends_with(';'));
    }
    CHECK(decoded > rounds / 8);
}

TEST_CASE("1,000,000 mutated kernels end in nothing worse than a trap, and alike on every instruction set") {
    const u32 rounds = test::hostile_rounds(4'000);
    constexpr u64 kBudget = 4'000;
    sim::RandomStream rng(test::hostile_seed(75), "sm_hostile_test", "kernels");
    HostileBench portable(LaneTarget::Portable), best(best_lane_target());
    u32 done = 0, trapped = 0;
    for (u32 round = 0; round < rounds; ++round) {
        const Program program = mutate(good_kernels()[rng.below(good_kernels().size())], rng);
        choose_launch(best.launch, rng);
        best.load(program);
        const GridState state = best.run_hostile(round % 8 == 3, kBudget);
        done += state == GridState::Done ? 1 : 0;
        trapped += state == GridState::Trapped ? 1 : 0;
        if (state == GridState::Trapped) REQUIRE_FALSE(best.end.empty());
        // Turns are bounded, so a grid stops near its budget.
        REQUIRE(best.instructions <= kBudget);
        if (round % 8 != 0) continue;
        // What a clock register gives is a time.
        const bool reads_clock = std::any_of(program.begin(), program.end(), [](const Word& word) {
            const u64 opcode = word.bits(11, 0);
            return opcode == 0x805 || opcode == 0x919 || opcode == 0x9c3;
        });
        if (reads_clock) continue;
        portable.launch = best.launch;
        portable.load(program);
        REQUIRE(portable.run_hostile(true, kBudget) == state);
        REQUIRE(portable.instructions == best.instructions);
        REQUIRE(portable.end == best.end);
        REQUIRE(std::equal(portable.data.begin(), portable.data.end(), best.data.begin()));
    }
    // Mutations leave some kernels whole and break others.
    CHECK(done > rounds / 20);
    CHECK(trapped > rounds / 20);
}
