// The tools that watch kernels, on a whole machine that replays a recorded compute client, and their options.
#include "guest_harness/cli/sm_tools.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "guest_harness/allocation_watch.h"
#include "guest_harness/trace/player.h"
#include "sim/check.h"

namespace {

using namespace harness;
using namespace harness::cli;

constexpr const char* kTrace = TU104SIM_SOURCE_DIR "/seeds/replay/kernel_client.trace";

SmTools::Result replay_with(SmTools& tools, trace::PlayOutcome* outcome = nullptr) {
    trace::PlayOptions play;
    play.on_start = [&](Machine& machine) { tools.attach(machine); };
    trace::PlayOutcome result = trace::play([] { return std::make_unique<trace::Reader>(kTrace); }, play);
    if (outcome != nullptr) *outcome = std::move(result);
    return tools.finish();
}

struct Folder {
    std::filesystem::path path = std::filesystem::temp_directory_path() / "tu104sim_sm_tools_test";
    Folder() { std::filesystem::remove_all(path); }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string text(const char* name) const {
        std::ifstream file(path / name);
        return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    }
};

}  // namespace

TEST_CASE("a client's own kernels pass every check") {
    SmTools tools({.sass_trace = {}, .check = "races,memory,hazards", .breaks = {}});
    CHECK(tools.wanted());
    const SmTools::Result result = replay_with(tools);
    for (const std::string& found : result.found) CHECK_MESSAGE(false, found);
    CHECK(result.notes.empty());
}

TEST_CASE("a replay writes the trace of each kernel") {
    const Folder folder;
    SmTools tools({.sass_trace = folder.path.string(), .check = {}, .breaks = {}});
    replay_with(tools);
    CHECK(folder.text("kernelslist.g") == "kernel-1.traceg\nkernel-2.traceg\n");
    CHECK(folder.text("kernel-2.traceg").find("#BEGIN_TB") != std::string::npos);
    CHECK(folder.text("kernel-2.txt").find("EXIT") != std::string::npos);
    // A second trace does not mix with the first.
    CHECK_THROWS_AS(SmTools({.sass_trace = folder.path.string(), .check = {}, .breaks = {}}), sim::HostError);
}

TEST_CASE("a breakpoint stops a replay at its instruction; one that is never reached is told") {
    SmTools tools({.sass_trace = {}, .check = {}, .breaks = "#2:0x10,#9:0"});
    trace::PlayOutcome outcome;
    const SmTools::Result result = replay_with(tools, &outcome);
    CHECK(tools.stopped());
    REQUIRE(result.notes.size() == 1);
    CHECK(result.notes[0].find("#9:0x0 was never reached") != std::string::npos);
    CHECK(result.failure().empty());  // it stopped before
}

TEST_CASE("a run that reaches none of its breakpoints has failed, and says which") {
    for (bool go_on : {false, true}) {
        // The second is reached when the first one lets it.
        SmTools tools({.sass_trace = {}, .check = {}, .breaks = go_on ? "#9:0,#2:0x10" : "#9:0", .go_on = go_on});
        const SmTools::Result result = replay_with(tools);
        CHECK_FALSE(tools.stopped());
        CHECK(result.missed == std::vector<std::string>{"breakpoint #9:0x0 was never reached"});
        CHECK(result.failure() == result.missed[0]);
    }
}

TEST_CASE("options that say nothing that there is are refused by name") {
    for (const SmToolOptions& options :
         {SmToolOptions{.sass_trace = {}, .check = "race", .breaks = {}}, SmToolOptions{.sass_trace = {}, .check = "races,", .breaks = {}},
          SmToolOptions{.sass_trace = {}, .check = {}, .breaks = "kernel:"},
          SmToolOptions{.sass_trace = {}, .check = {}, .breaks = "0x11"}})
        CHECK_THROWS_AS(SmTools{options}, sim::HostError);
    CHECK_FALSE(SmTools(SmToolOptions{}).wanted());
}

namespace {

struct SeenMappings {
    std::vector<AllocationWatch::Mapping> mapped;
    std::vector<std::pair<u64, u64>> unmapped;
};
SeenMappings mappings_of(const std::string& trace) {
    SeenMappings seen;
    AllocationWatch watch(
        *rm::find_version("570.144").version, [&](const AllocationWatch::Mapping& mapping) { seen.mapped.push_back(mapping); },
        [&](u64 va, u64 bytes) { seen.unmapped.emplace_back(va, bytes); });
    trace::PlayOptions play;
    play.on_start = [&](Machine& machine) { machine.kernel().journal().add_sink(watch); };
    play.on_end = [&](Machine& machine) { machine.kernel().journal().remove_sink(watch); };
    trace::play([&] { return std::make_unique<trace::Reader>(trace); }, play);
    return seen;
}

}  // namespace

TEST_CASE("a guest's mappings are seen with the bytes that it asked for") {
    const SeenMappings seen = mappings_of(kTrace);
    // The client's host and video buffers (kernel_client.c).
    constexpr u64 buffer_bytes = 512 * 1024;
    const auto buffers = std::count_if(seen.mapped.begin(), seen.mapped.end(), [](const AllocationWatch::Mapping& mapping) {
        return mapping.bytes == buffer_bytes && mapping.va != 0 && mapping.memory_handle != 0;
    });
    CHECK(buffers == 2);
}

TEST_CASE("what UVM maps is seen, and forgotten when it is freed") {
    const SeenMappings seen = mappings_of(TU104SIM_SOURCE_DIR "/seeds/replay/uvm_client.trace");
    // The client's ring, host and video memory, and its semaphore pool, at the addresses that uvm_client.c gives them.
    struct Want {
        u64 va, bytes;
        bool has_object;
    };
    constexpr u64 kib = 1024;
    for (const Want& want : {Want{0x2'0060'0000, 64 * kib, true}, Want{0x2'0080'0000, 256 * kib, true},
                             Want{0x2'01c0'0000, 64 * kib, false}, Want{0x7f4d'7600'0000, 2048 * kib, true}}) {
        CAPTURE(want.va);
        const auto mapped = std::find_if(seen.mapped.begin(), seen.mapped.end(),
                                         [&](const AllocationWatch::Mapping& mapping) { return mapping.va == want.va; });
        REQUIRE(mapped != seen.mapped.end());
        CHECK(mapped->bytes == want.bytes);
        CHECK((mapped->memory_handle != 0) == want.has_object);
        CHECK(std::count(seen.unmapped.begin(), seen.unmapped.end(), std::pair(want.va, want.bytes)) == 1);
    }
}
