// Which instructions the tests execute: the corpus, whose results are hardware's, the vectors of sass_vectors.h, and the
// operand forms of sass_forms.h. Every row and every operand form of the first two tiers is reached; rows of the third that
// are not are listed. And what the checkers say of compiled code.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "gpu_model/sm/exec/grid.h"
#include "gpu_model/sm/timing.h"
#include "gpu_model/sm/tools/memory_check.h"
#include "gpu_model/sm/tools/race_check.h"
#include "guest_harness/corpus/corpus.h"
#include "tests/support/packed_data.h"
#include "tests/support/sass_forms.h"
#include "tests/support/sass_vectors.h"

namespace {

using namespace harness::corpus;
namespace sass = gpu::sass;

// Third tier: matrices, textures, surfaces, and what only graphics or a debugger uses. No test has to execute them.
bool in_third_tier(sass::Op op) {
    const std::string_view text = sass::row_of(op).text;
    for (std::string_view name : {"PMTRIG", "CCTLL", "FSWZADD", "BMMA", "HMMA", "IMMA", "LDSM", "MOVM", "TEX", "TLD", "TXD", "TXQ",
                                  "SULD", "SUST", "SURED"}) {
        if (text.starts_with(name)) return true;
    }
    return false;
}

struct Executed final : gpu::sm::GridObserver {
    std::set<sass::Op> ops;
    std::set<sim::u32> opcodes;  // bits 11:0: the row with its form
    void add(sass::Op op, sim::u32 form) {
        ops.insert(op);
        opcodes.insert(sass::row_of(op).operation | form << sass::at::Form::kLo);
    }
    void after(const gpu::sm::Step& step) override {
        // A breakpoint's effect is that it stops.
        if (step.decoded && (step.done != 0 || step.slot.in.op == sass::Op::BPT)) add(step.slot.in.op, step.slot.in.form);
    }
    void on_grid_end(const gpu::sm::GridRun& grid) override {
        for (const gpu::sm::Hazard& hazard : grid.timing()->hazards()) hazards.insert(hazard.describe());
    }
    std::set<std::string> hazards;
};

// Runs every case in every variant; each ends as hardware's did.
void run_corpus(Runner::Watch watch) {
    const auto packed = test_support::read_packed_files("tests/guest_harness/data/sass_corpus.zst");
    const Corpus corpus = parse_cases(packed.at("cases.json"));
    const Golden golden(packed.at("golden.bin"));
    std::map<std::string, gpu::Cubin> cubins;
    for (const auto& file : test_support::read_packed_files("tests/gpu_model/data/sass/corpus_cubins.zst")) {
        auto result = gpu::read_cubin({reinterpret_cast<const sim::u8*>(file.second.data()), file.second.size()});
        REQUIRE(result.cubin);
        cubins.emplace(file.first.substr(0, file.first.rfind(".cubin")), std::move(*result.cubin));
    }
    Runner runner(gpu::sm::best_lane_target());
    runner.watch(std::move(watch));
    for (const std::string& variant : corpus.variants) {
        for (const Case& item : corpus.cases) {
            const auto cubin = cubins.find(item.module + "." + variant);
            if (cubin != cubins.end()) CHECK_FALSE(runner.run(item, variant, cubin->second, &golden).bad());
        }
    }
}

}  // namespace

TEST_CASE("every instruction of the first two tiers is executed with a result from hardware or from its definition") {
    Executed executed;
    // With timing, which changes no result; and compiled code waits for all that it reads.
    run_corpus([&](const WatchedLaunch&, gpu::sm::GridRun& grid) {
        grid.enable_timing();
        grid.add_observer(executed);
    });
    for (const std::string& hazard : executed.hazards) CHECK_MESSAGE(false, hazard);
    for (const test_support::SassVector& vector : test_support::sass_vectors()) {
        for (const sass::Word& word : vector.program) {
            const sass::Instruction in = sass::decode(word).instruction;
            if (in.op == vector.op) executed.add(in.op, in.form);
        }
    }
    for (const test_support::FormVector& vector : test_support::form_vectors()) {
        executed.add(vector.op, vector.form);
        executed.add(vector.op, test_support::forms::Registers);
    }

    constexpr sim::u32 forms = 8;
    unsigned rows = 0, rows_reached = 0, opcodes = 0, opcodes_reached = 0;
    std::string missing, third_missing;
    for (const sass::OpcodeRow& row : sass::opcode_rows()) {
        const sass::Op op = sass::op_of(row);
        if (in_third_tier(op)) {
            if (!executed.ops.contains(op)) third_missing += " " + std::string(row.id);
            continue;
        }
        ++rows;
        rows_reached += executed.ops.contains(op) ? 1u : 0u;
        for (sim::u32 form = 0; form < forms; ++form) {
            if ((row.forms >> form & 1) == 0) continue;
            const bool reached = executed.opcodes.contains(row.operation | form << sass::at::Form::kLo);
            ++opcodes;
            opcodes_reached += reached ? 1u : 0u;
            if (!reached) missing += " " + std::string(row.id) + "/" + std::to_string(form);
        }
    }
    MESSAGE("first two tiers: ", rows_reached, " of ", rows, " rows, ", opcodes_reached, " of ", opcodes, " opcodes executed");
    MESSAGE("third tier without a vector here:", third_missing);
    CHECK_MESSAGE(missing == "", missing);
    CHECK(rows == 144);
    CHECK(opcodes == 325);
    CHECK(rows_reached == rows);
    CHECK(opcodes_reached == opcodes);
}

TEST_CASE("the checkers find nothing in the corpus but the races and unwritten words that two of its kernels have") {
    // k_udp_addr stores different values of four threads to one word and reads words that it has not written; k_udp_ext
    // stores the same place from two blocks.
    const std::set<std::string> faulty = {"k_udp_addr", "k_udp_ext"};
    gpu::sm::RaceCheck races;
    gpu::sm::MemoryCheck memory;
    std::map<std::string, sim::u64> found;
    std::string kernel;
    sim::u64 before = 0;
    const auto note = [&] {
        const sim::u64 total = races.findings().total() + memory.findings().total();
        if (total != before) found[kernel] += total - before;
        before = total;
    };
    run_corpus([&](const WatchedLaunch& launch, gpu::sm::GridRun& grid) {
        note();
        kernel = launch.kernel;
        memory.forget_allocations();
        for (const WatchedLaunch::Region& region : launch.regions) memory.allocate({region.va, region.bytes, region.name, true});
        grid.add_observer(races);
        grid.add_observer(memory);
    });
    note();
    for (const auto& entry : found) CHECK_MESSAGE(faulty.contains(entry.first), entry.first);
    for (const std::string& name : faulty) CHECK_MESSAGE(found.contains(name), name);
}
