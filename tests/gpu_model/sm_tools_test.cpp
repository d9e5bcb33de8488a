// The tools that watch kernels, each against kernels with a planted fault and against their repaired twins.
#include "gpu_model/sm/tools/breakpoints.h"
#include "gpu_model/sm/tools/memory_check.h"
#include "gpu_model/sm/tools/race_check.h"
#include "gpu_model/sm/tools/sass_trace.h"
#include "tests/support/sm_bench.h"

namespace {

using namespace gpu::sm;
using namespace test_support;
using namespace test_support::code;

constexpr u32 kTidX = 0x21, kCtaidX = 0x25;
constexpr u32 kDataLow = static_cast<u32>(SmBench::kData);
constexpr u32 kGpuScope = 2, kStrong = 2;

// Word R[ra] of shared memory, and its store.
Asm lds(u32 rd, u32 ra, u32 offset = 0) {
    return Asm(0x984).set(23, 16, rd).set(31, 24, ra).set(63, 40, offset).set(75, 73, 4).set(79, 78, 1).set(83, 81, pt);
}
Asm sts(u32 ra, u32 rs, u32 offset = 0) {
    return Asm(0x388).set(31, 24, ra).set(39, 32, rs).set(63, 40, offset).set(75, 73, 4).set(79, 78, 1);
}
Asm stl(u32 ra, u32 rs) {
    return Asm(0x387).set(31, 24, ra).set(39, 32, rs).set(75, 73, 4).set(86, 84, 1);
}
Asm ldl(u32 rd, u32 ra) {
    return Asm(0x983).set(23, 16, rd).set(31, 24, ra).set(75, 73, 4).set(86, 84, 1);
}
Asm membar() {
    return Asm(0x992).set(78, 76, kGpuScope);
}
Asm strong(Asm access) {
    return access.set(80, 79, kStrong).set(78, 77, kGpuScope);
}

template <typename Observer>
GridState watch(SmBench& bench, Observer& observer, std::initializer_list<Word> words) {
    bench.program(words);
    bench.grid.emplace(bench.launch, bench.memory, bench.cache, bench.clock);
    bench.grid->add_observer(observer);
    const GridState state = bench.grid->run(1'000'000);
    bench.grid.reset();
    return state;
}

std::string only_text(const Findings& findings) {
    REQUIRE(findings.entries().size() == 1);
    return findings.entries()[0].text;
}
bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

struct Texts final : TextSink {
    std::map<std::string, std::string, std::less<>> files;
    void append(std::string_view file, std::string_view text) override { files[std::string(file)] += text; }
};

}  // namespace

TEST_CASE("races: a neighbour's shared word without a barrier is found, with program counters and lanes") {
    // Two warps: each thread stores its word and loads that of the thread 32 further on.
    SmBench bench;
    bench.launch.block = {64, 1, 1};
    bench.launch.shared_bytes = 512;
    SUBCASE("no barrier") {
        RaceCheck check;
        CHECK(watch(bench, check, {s2r(0, kTidX), sts(0, 0), lds(1, 0, 128), exit()}) == GridState::Done);
        const std::string text = only_text(check.findings());
        CHECK(has(text, "race on shared memory 0x80"));
        CHECK(has(text, "a load at pc 0x0020 by block (0,0,0) warp 0 lane 0"));
        CHECK(has(text, "a store at pc 0x0010 by block (0,0,0) warp 1 lane 0"));
        CHECK(check.findings().total() == 32);
    }
    SUBCASE("with the barrier") {
        RaceCheck check;
        CHECK(watch(bench, check, {s2r(0, kTidX), sts(0, 0), bar_sync(0), lds(1, 0, 128), exit()}) == GridState::Done);
        CHECK(check.findings().entries().empty());
    }
    SUBCASE("the barrier is on the wrong side") {
        RaceCheck check;
        CHECK(watch(bench, check, {s2r(0, kTidX), bar_sync(0), sts(0, 0), lds(1, 0, 128), exit()}) == GridState::Done);
        CHECK(check.findings().entries().size() == 1);
    }
}

TEST_CASE("races: lanes of one warp that have parted, and lanes that store at once") {
    SmBench bench;
    bench.launch.block = {32, 1, 1};
    bench.launch.shared_bytes = 256;
    RaceCheck check;
    SUBCASE("the two sides of a branch") {
        // Lanes below 16 store word 0, the others load it.
        watch(bench, check, {s2r(0, kTidX), mov(2, 0), isetp(0, 0, 1, 16), bssy(0, 4), bra(2).guard(0), lds(1, 2),
                             bra(1), sts(2, 2), bsync(0), exit()});
        CHECK(check.findings().entries().size() == 1);
    }
    SUBCASE("they have met in between") {
        watch(bench, check, {s2r(0, kTidX), mov(2, 0), isetp(0, 0, 1, 1), bssy(0, 1), sts(2, 2).guard(0), bsync(0),
                             lds(1, 2), exit()});
        CHECK(check.findings().entries().empty());
    }
    SUBCASE("different values to one word") {
        watch(bench, check, {s2r(0, kTidX), mov(2, 0), sts(2, 0), exit()});
        CHECK(check.findings().entries().size() == 1);
    }
    SUBCASE("the same value to one word") {
        watch(bench, check, {mov(0, 5), mov(2, 0), sts(2, 0), exit()});
        CHECK(check.findings().entries().empty());
    }
}

TEST_CASE("races: blocks that share a global word") {
    SmBench bench;
    bench.launch.grid = {2, 1, 1};
    RaceCheck check;
    SUBCASE("plain stores of both") {
        watch(bench, check, {s2r(0, kCtaidX), mov(2, kDataLow), mov(3, 0), stg(2, 0), exit()});
        const std::string text = only_text(check.findings());
        CHECK(has(text, "race on global memory 0x200000"));
        CHECK(has(text, "block (0,0,0) warp 0 lane 0"));
        CHECK(has(text, "block (1,0,0) warp 0 lane 0"));
    }
    SUBCASE("atomics") {
        watch(bench, check, {mov(0, 1), mov(2, kDataLow), mov(3, 0), red_add(2, 0), exit()});
        CHECK(check.findings().entries().empty());
    }
    SUBCASE("an atomic and a plain load") {
        watch(bench, check, {mov(0, 1), mov(2, kDataLow), mov(3, 0), ldg(4, 2), red_add(2, 0), exit()});
        CHECK(check.findings().entries().size() == 1);
    }
    // Block 0 stores data and then a flag; block 1 waits for the flag and loads the data.
    const auto message = [&](Word fence) {
        watch(bench, check,
              {s2r(0, kCtaidX), mov(2, kDataLow), mov(3, 0), mov(4, 1), isetp(0, 0, 5, 0), bra(4).guard(0),
               stg(2, 4), fence, strong(stg(2, 4, 64)), exit(),
               strong(ldg(5, 2, 64)), isetp(1, 5, 2, 0), bra(-3).guard(1), ldg(6, 2), exit()});
    };
    SUBCASE("a message with a fence") {
        message(membar());
        CHECK(check.findings().entries().empty());
    }
    SUBCASE("a message without a fence") {
        message(Asm(0x918));
        CHECK(has(only_text(check.findings()), "race on global memory 0x200000"));
    }
}

TEST_CASE("memory: words that nobody wrote, in shared, local and global memory") {
    SmBench bench;
    bench.launch.block = {32, 1, 1};
    bench.launch.shared_bytes = 256;
    bench.launch.local_low_bytes = 64;
    MemoryCheck check;
    SUBCASE("shared") {
        watch(bench, check, {s2r(0, kTidX), sts(0, 0), lds(1, 0, 64), exit()});
        const std::string text = only_text(check.findings());
        CHECK(has(text, "load of 4 bytes of shared memory at 0x80, pc 0x0020"));
        CHECK(has(text, "lane 16: this block has not written it"));
        CHECK(check.findings().total() == 16);
    }
    SUBCASE("shared, written") {
        watch(bench, check, {s2r(0, kTidX), sts(0, 0), lds(1, 0), exit()});
        CHECK(check.findings().entries().empty());
    }
    SUBCASE("local") {
        watch(bench, check, {mov(0, 16), ldl(1, 0), exit()});
        CHECK(has(only_text(check.findings()), "this thread has not written it"));
    }
    SUBCASE("local, written") {
        watch(bench, check, {mov(0, 16), stl(0, 0), ldl(1, 0), exit()});
        CHECK(check.findings().entries().empty());
    }
    SUBCASE("global") {
        check.allocate({SmBench::kData, 64, "a", false});
        watch(bench, check, {mov(2, kDataLow), mov(3, 0), stg(2, 3), ldg(4, 2), ldg(4, 2, 4), exit()});
        CHECK(has(only_text(check.findings()), "pc 0x0040"));
    }
}

TEST_CASE("memory: accesses outside the allocations, though the page is there") {
    SmBench bench;
    MemoryCheck check;
    check.allocate({SmBench::kData, 100, "input", true});
    check.allocate({SmBench::kData + 1024, 100, "output", true});
    const u32 inside = kDataLow + 96, across = kDataLow + 104, output = kDataLow + 1024;
    watch(bench, check, {mov(3, 0), mov(2, inside), ldg(4, 2), mov(2, output), stg(2, 4), mov(2, across), ldg(4, 2),
                         mov(2, kDataLow - 4), exit()});
    const std::string text = only_text(check.findings());
    CHECK(has(text, "outside every allocation: 8 bytes beyond the end of input (0x200000, 100 bytes)"));
    CHECK(has(text, "pc 0x0060"));
}

TEST_CASE("memory: with allocations known in part, only the rest of a known one's last page is outside") {
    SmBench bench;
    MemoryCheck check;
    check.know_in_part();
    check.allocate({SmBench::kData, 100, "input", true});
    SUBCASE("the rest of the page") {
        watch(bench, check, {mov(3, 0), mov(2, kDataLow + 104), ldg(4, 2), exit()});
        CHECK(has(only_text(check.findings()), "8 bytes beyond the end of input"));
    }
    SUBCASE("somewhere else") {
        watch(bench, check, {mov(3, 0), mov(2, static_cast<u32>(SmBench::kBank)), ldg(4, 2), exit()});
        CHECK(check.findings().entries().empty());
    }
    SUBCASE("an allocation in its place, and one that was given back") {
        check.allocate({SmBench::kData + 96, 64, "output", true});
        check.forget(SmBench::kData + 96);
        watch(bench, check, {mov(3, 0), mov(2, kDataLow + 104), ldg(4, 2), exit()});
        CHECK(check.findings().entries().empty());
    }
    SUBCASE("an allocation that was given back in part") {
        check.allocate({SmBench::kData, 4096, "all", true});
        check.forget_range(SmBench::kData + 1024, 1024);
        watch(bench, check, {mov(3, 0), mov(2, kDataLow + 1020), ldg(4, 2), ldg(4, 2, 4), ldg(4, 2, 1024), ldg(4, 2, 1028), exit()});
        REQUIRE(check.findings().entries().size() == 2);
        CHECK(has(check.findings().entries()[0].text, "pc 0x0030"));
        CHECK(has(check.findings().entries()[0].text, "4 bytes beyond the end of all (0x200000, 1024 bytes)"));
        CHECK(has(check.findings().entries()[1].text, "pc 0x0040"));
    }
}

TEST_CASE("a trace has Accel-Sim's lines, and people's with the results") {
    SmBench bench;
    bench.launch.block = {64, 1, 1};
    Texts texts;
    SassTrace trace(texts);
    trace.name_next("planted");
    watch(bench, trace, {s2r(0, kTidX), mov(2, kDataLow), mov(3, 0), isetp(0, 0, 1, 4), stg(2, 0).guard(0), exit()});
    const std::string& machine = texts.files["kernel-1.traceg"];
    CHECK(machine.starts_with("-kernel name = planted\n-kernel id = 1\n-grid dim = (1,1,1)\n-block dim = (64,1,1)\n"));
    CHECK(has(machine, "#BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\ninsts = 6\n0000 ffffffff 1 R0 S2R 0 0 \n"));
    CHECK(has(machine, "0040 0000000f 0 STG.E.SYS 2 R2 R0 4 1 0x200000 0 \n"));
    CHECK(has(machine, "warp = 1\ninsts = 6\n"));
    CHECK(has(machine, "#END_TB\n"));
    const std::string& people = texts.files["kernel-1.txt"];
    CHECK(has(people, "0,0,0 0 0010 ffffffff MOV R2, 0x200000 ; R2=0x200000\n"));
    CHECK(has(people, "P0=0x0000000f"));
    CHECK(texts.files["kernelslist.g"] == "kernel-1.traceg\n");
}

TEST_CASE("breakpoints stop before the instruction, and say what the warp holds") {
    CHECK(parse_breakpoint("0x40")->pc == 0x40);
    CHECK(parse_breakpoint("saxpy:0x40")->kernel == "saxpy");
    CHECK(parse_breakpoint("#3:64")->pc == 64);
    CHECK_FALSE(parse_breakpoint("saxpy:"));
    CHECK_FALSE(parse_breakpoint(":0x40"));
    CHECK_FALSE(parse_breakpoint("0x41"));
    CHECK_FALSE(parse_breakpoint("-16"));
    CHECK_FALSE(parse_breakpoint(""));

    SmBench bench;
    bench.launch.block = {64, 1, 1};
    std::vector<std::string> seen;
    GridObserver::Verdict verdict = GridObserver::Verdict::Go;
    Breakpoints points({*parse_breakpoint("#1:0x20"), *parse_breakpoint("#2:0x20")},
                       [&](const Step& step, const Breakpoint&) {
                           seen.push_back(describe_warp(step));
                           return verdict;
                       });
    const std::initializer_list<Word> words = {s2r(0, kTidX), mov(1, 7), mov(1, 8), exit()};
    SUBCASE("going on") {
        CHECK(watch(bench, points, words) == GridState::Done);
        REQUIRE(seen.size() == 2);
        CHECK(has(seen[0], "entry + 0x20"));
        CHECK(has(seen[0], "R1   0x00000007"));
        CHECK(has(seen[1], "warp 1"));
        CHECK(points.points()[0].hits == 2);
        CHECK(points.points()[1].hits == 0);
    }
    SUBCASE("stopping") {
        verdict = GridObserver::Verdict::Pause;
        CHECK(watch(bench, points, words) == GridState::Paused);
        CHECK(seen.size() == 1);
    }
}
