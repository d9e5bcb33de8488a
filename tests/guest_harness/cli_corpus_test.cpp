// tu104sim corpus: verdicts, JSON and exit codes on a corpus of one case.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "gpu_model/sm/cubin.h"
#include "tests/support/command_line.h"
#include "tests/support/packed_data.h"
#include "tests/support/trace_samples.h"

using test_support::Finished;

namespace {

Finished corpus(const std::string& arguments) { return test_support::tu104sim("corpus " + arguments); }

bool has(const Finished& done, std::string_view text) { return done.says(text); }

// A folder with every case, the cubins, and hardware's results; `change` may damage the results.
template <typename Change>
std::string make_corpus(const std::string& name, Change change) {
    const std::filesystem::path folder = test_support::scratch_path(name);
    std::filesystem::create_directories(folder / "cubin");
    auto packed = test_support::read_packed_files("tests/guest_harness/data/sass_corpus.zst");
    change(packed.at("golden.bin"));
    test_support::write_file((folder / "cases.json").string(), packed.at("cases.json"));
    test_support::write_file((folder / "golden.bin").string(), packed.at("golden.bin"));
    for (const auto& [file, bytes] : test_support::read_packed_files("tests/gpu_model/data/sass/corpus_cubins.zst"))
        test_support::write_file((folder / "cubin" / (file + ".cubin")).string(), bytes);
    return folder.string();
}

}  // namespace

TEST_CASE("cli: corpus says equal and exits with 0") {
    const std::string folder = make_corpus("corpus_good", [](std::string&) {});
    const Finished done = corpus(folder + " --only set8");
    CHECK(done.exit_code == 0);
    CHECK(has(done, "set8"));
    CHECK(has(done, "equal"));
    CHECK_FALSE(has(done, "different"));
    const Finished json = corpus(folder + " --only mufu --json");
    CHECK(json.exit_code == 0);
    const auto object = nlohmann::json::parse(json.output);
    CHECK(object.at("totals").at("equal") == 2);
    CHECK(object.at("totals").at("close") == 0);
}

TEST_CASE("cli: corpus tells an approximate result that is off by its last bit from an equal one") {
    // The lowest bit of a recorded result that is a number; the other variant says that it equals this one.
    constexpr std::size_t number_at = 4 * 20;
    const std::string folder = make_corpus("corpus_close", [](std::string& golden) {
        golden[golden.find("raw\n", golden.find("OUT O3 mufu")) + 4 + number_at] ^= 1;
    });
    const Finished json = corpus(folder + " --only mufu --json");
    CHECK(json.exit_code == 0);
    const auto object = nlohmann::json::parse(json.output);
    CHECK(object.at("totals").at("close") == 2);
    CHECK(object.at("cases").at(0).at("ulp_max") == 1);
}

TEST_CASE("cli: corpus exits with 1 on a difference and names buffer and place") {
    // The first raw buffer is that of set8.
    const std::string folder =
        make_corpus("corpus_changed", [](std::string& golden) { golden[golden.find("raw\n") + 4 + 9] ^= 1; });
    const Finished done = corpus(folder + " --only set8");
    CHECK(done.exit_code == 1);
    CHECK(has(done, "different"));
    CHECK(has(done, "buffer d: 1 of 1024 bytes differ, first at 0x8"));
}

TEST_CASE("cli: corpus ends within its budget, and what was left out is no success") {
    const std::string folder = make_corpus("corpus_budget", [](std::string&) {});
    const auto whole = nlohmann::json::parse(corpus(folder + " --only set8 --json").output);
    const sim::u64 first = whole.at("cases").at(0).at("instructions");
    REQUIRE(whole.at("cases").size() > 1);
    REQUIRE(first > 1);
    const Finished none = corpus(folder + " --only set8 --instructions-max " + std::to_string(first - 1));
    CHECK(none.exit_code == 1);
    CHECK(has(none, "still running after"));
    CHECK(has(none, "not begun: --instructions-max is used up"));
    const auto one = nlohmann::json::parse(corpus(folder + " --only set8 --json --instructions-max " + std::to_string(first)).output);
    CHECK(one.at("totals").at("equal") == 1);
    CHECK(one.at("totals").at("unfinished") == whole.at("cases").size() - 1);
}

TEST_CASE("cli: corpus refuses a folder that is none, and results that are damaged, with 2") {
    CHECK(corpus("/nowhere").exit_code == 2);
    const std::string folder =
        make_corpus("corpus_damaged", [](std::string& golden) { golden.resize(golden.size() / 2); });
    const Finished done = corpus(folder);
    CHECK(done.exit_code == 2);
    CHECK(has(done, "golden results are damaged at offset"));
    CHECK(corpus(make_corpus("corpus_only", [](std::string&) {}) + " --only nosuch").exit_code == 2);
}

TEST_CASE("cli: each check of corpus finds its planted fault and exits with 1, and finds nothing without one") {
    const std::string folder = make_corpus("corpus_checks", [](std::string&) {});
    const Finished clean = corpus(folder + " --only set8 --check races,memory,hazards");
    CHECK(clean.exit_code == 0);
    CHECK_FALSE(has(clean, "found:"));
    // This kernel stores different values of four threads to one word and reads words that it has not written.
    const Finished races = corpus(folder + " --only udp_addr --check races");
    CHECK(races.exit_code == 1);
    CHECK(has(races, "found: race on shared memory"));
    CHECK_FALSE(has(races, "has not written it"));
    const Finished memory = corpus(folder + " --only udp_addr --check memory");
    CHECK(memory.exit_code == 1);
    CHECK(has(memory, "this block has not written it"));
    CHECK_FALSE(has(memory, "race on"));
    // Every stall of one cycle: what waits for a fixed latency comes too early.
    const std::string path = folder + "/cubin/set.O3.cubin";
    std::string image = test_support::read_file(path);
    const gpu::CubinResult result = gpu::read_cubin({reinterpret_cast<const sim::u8*>(image.data()), image.size()});
    REQUIRE(result.cubin);
    for (const gpu::CubinKernel& kernel : result.cubin->kernels) {
        const gpu::CubinSection& text = result.cubin->sections[kernel.text];
        // Bits 108:105 of each 16-byte word.
        constexpr std::size_t stall_byte = 13;
        for (std::size_t at = text.offset; at < text.offset + text.size; at += 16)
            image[at + stall_byte] = static_cast<char>((image[at + stall_byte] & ~0x1e) | 0x02);
    }
    test_support::write_file(path, image);
    const Finished hazards = corpus(folder + " --only set8 --check hazards");
    CHECK(hazards.exit_code == 1);
    CHECK(has(hazards, "found: the kernel at"));
    CHECK(has(hazards, "equal"));
}

TEST_CASE("cli: corpus says how to reproduce a breakpoint that nothing reached") {
    const std::string folder = make_corpus("corpus_break", [](std::string&) {});
    const Finished done = corpus(folder + " --only set8 --break 0xfff0");
    CHECK(done.exit_code == 1);
    CHECK(done.says("was never reached"));
    CHECK(done.says("reproduce: tu104sim corpus"));
    CHECK_FALSE(corpus(folder + " --only set8").says("reproduce"));
}
