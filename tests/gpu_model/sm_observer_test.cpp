// The stepping interface: what observers are told, holding a grid, and that watching changes nothing.
#include "gpu_model/sm/exec/observer.h"

#include "gpu_model/sm/exec/access_view.h"
#include "tests/support/sm_bench.h"

namespace {

using namespace gpu::sm;
using namespace test_support;
using namespace test_support::code;

constexpr u32 kTidX = 0x21, kLess = 1;
constexpr u32 kDataLow = static_cast<u32>(SmBench::kData);

struct Recorder final : GridObserver {
    std::vector<u64> pcs;
    std::vector<u32> lanes, done;
    std::vector<MemoryAccess> accesses;
    u32 grids = 0, grid_ends = 0, blocks = 0, block_ends = 0, arrivals = 0, releases = 0, woken = 0;
    u64 hold_at = 0;

    void on_grid(const GridRun&) override { ++grids; }
    void on_grid_end(const GridRun&) override { ++grid_ends; }
    void on_block(const Cta&) override { ++blocks; }
    void on_block_end(const Cta&) override { ++block_ends; }
    Verdict before(const Step& step) override {
        if (step.pc == hold_at) return Verdict::Pause;
        if (const auto access = access_of(step)) accesses.push_back(*access);
        return Verdict::Go;
    }
    void after(const Step& step) override {
        pcs.push_back((step.pc - SmBench::kCode) / 16);
        lanes.push_back(step.lanes);
        done.push_back(step.done);
    }
    void on_arrive(const Cta&, u32, u32) override { ++arrivals; }
    void on_release(const Cta&, u32, u32 warps) override {
        ++releases;
        woken |= warps;
    }
};

// Lanes below 8 store their number at data + 4 * lane.
const std::initializer_list<Word> kStoreBelow8 = {
    s2r(0, kTidX),      iadd_register(2, 0, 0), iadd_register(2, 2, 2),  iadd(2, 2, kDataLow),
    mov(3, 0),          isetp(0, 0, kLess, 8),  stg(2, 0).guard(0),      exit(),
};

GridState run_watched(SmBench& bench, GridObserver& observer) {
    bench.grid.emplace(bench.launch, bench.memory, bench.cache, bench.clock);
    bench.grid->add_observer(observer);
    return bench.grid->run(1'000'000);
}

}  // namespace

TEST_CASE("an observer sees every instruction with its lanes, and every access with its addresses") {
    Recorder seen;
    SmBench bench;
    bench.program(kStoreBelow8);
    bench.launch.block = {32, 1, 1};
    REQUIRE(run_watched(bench, seen) == GridState::Done);
    CHECK(seen.pcs == std::vector<u64>{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(seen.lanes[6] == 0xff);
    CHECK(seen.done[6] == 0xff);
    REQUIRE(seen.accesses.size() == 1);
    const MemoryAccess& store = seen.accesses[0];
    CHECK(store.kind == MemoryAccess::Kind::Store);
    CHECK(store.bytes == 4);
    CHECK(store.lanes == 0xff);
    CHECK(store.place[7].space == Space::Global);
    CHECK(store.place[7].address == SmBench::kData + 28);
    CHECK(bench.word(7) == 7);
    bench.grid.reset();
    CHECK(seen.grids == 1);
    CHECK(seen.grid_ends == 1);
    CHECK(seen.blocks == 1);
    CHECK(seen.block_ends == 1);
}

TEST_CASE("a held grid has not done the instruction, and goes on with it") {
    Recorder seen;
    SmBench bench;
    bench.program(kStoreBelow8);
    bench.launch.block = {32, 1, 1};
    seen.hold_at = SmBench::kCode + 6 * 16;
    REQUIRE(run_watched(bench, seen) == GridState::Paused);
    CHECK(bench.word(7) == 0);
    CHECK(bench.grid->instructions() == 6);
    CHECK(seen.pcs.size() == 6);
    CHECK(bench.grid->run(1000) == GridState::Done);
    CHECK(bench.word(7) == 7);
    CHECK(bench.grid->instructions() == 8);
}

TEST_CASE("arrivals and releases of barriers are told, with the warps that go on") {
    Recorder seen;
    SmBench bench;
    bench.program({bar_sync(0), exit()});
    bench.launch.block = {128, 1, 1};
    REQUIRE(run_watched(bench, seen) == GridState::Done);
    CHECK(seen.arrivals == 4);
    CHECK(seen.releases == 1);
    CHECK(seen.woken == 0xf);
}

TEST_CASE("an instruction that traps is told with the lanes that have done it") {
    Recorder seen;
    SmBench bench;
    bench.program({s2r(0, kTidX), iadd(0, 0, SmBench::kDataBytes / 4 - 7), iadd_register(2, 0, 0),
                   iadd_register(2, 2, 2), iadd(2, 2, kDataLow), mov(3, 0), stg(2, 0), exit()});
    bench.launch.block = {32, 1, 1};
    REQUIRE(run_watched(bench, seen) == GridState::Trapped);
    CHECK(seen.lanes.back() == kAllLanes);
    CHECK(seen.done.back() == 0x7f);
}
