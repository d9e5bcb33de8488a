// tu104sim explore as people type it: the seeds of a range, jobs, shards, fault plans, and what is refused.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/command_line.h"

namespace {

struct Finished {
    int code = 0;
    std::string text;
};

Finished tu104sim(const std::string& arguments) {
    test_support::Finished done = test_support::tu104sim(arguments);
    return {done.exit_code, done.output + done.errors};
}

struct Folder {
    std::filesystem::path path = std::filesystem::temp_directory_path() / fmt::format("tu104sim_explore_{}", getpid());
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string file(std::string_view name) const { return (path / name).string(); }
};

}  // namespace

TEST_CASE("explore: every seed of the range, the same text for any number of jobs, shards that add up") {
    Folder folder;
    std::string trace = folder.file("a.trace");
    REQUIRE(tu104sim("run --record '" + trace + "' -- '" TU104SIM_BINARY_DIR "/guests/rm_client'").code == 0);
    Finished one = tu104sim("explore '" + trace + "' --seeds 0..5");
    CHECK(one.code == 0);
    for (int seed = 0; seed <= 5; ++seed) CHECK(one.text.find(fmt::format("seed {}  records", seed)) != std::string::npos);
    CHECK(one.text.find("6 seeds, 6 digests, 0 failed") != std::string::npos);
    CHECK(tu104sim("explore '" + trace + "' --seeds 0..5 --jobs 8").text == one.text);
    Finished half = tu104sim("explore '" + trace + "' --seeds 0..5 --shard 2/2");
    CHECK(half.text.find("seed 1  ") != std::string::npos);
    CHECK(half.text.find("seed 2  ") == std::string::npos);
    CHECK(half.text.find("3 seeds, 3 digests, 0 failed") != std::string::npos);

    // A plan strikes where the seed says, and the same twice.
    std::ofstream(folder.file("plan")) << "intr.late ratio=1/2 argument=200us\npci.lost ratio=1/50000\n";
    std::string faulty = "explore '" + trace + "' --seeds 1..6 --faults '" + folder.file("plan") + "'";
    Finished planned = tu104sim(faulty);
    CHECK(planned.code == 0);
    CHECK(planned.text.find("pci.lost: fired 1 of") != std::string::npos);
    CHECK(planned.text.find("intr.late: fired") != std::string::npos);
    CHECK(tu104sim(faulty + " --jobs 3").text == planned.text);

    // A worker that has played other seeds before leaves nothing to the next: alone, a seed says the same.
    for (int seed : {1, 4, 6}) {
        const std::string plan = folder.file("plan");
        const std::string alone = tu104sim(fmt::format("explore '{}' --seeds {} --faults '{}'", trace, seed, plan)).text;
        CHECK(planned.text.find(alone.substr(0, alone.find("\n") + 1)) != std::string::npos);
    }
}

TEST_CASE("explore: a mistake is said once, with exit code 2") {
    Folder folder;
    for (std::string arguments : {"--seeds 5..2 x", "--seeds one x", "--shard 3/2 x", "--shard 1 x", "--jobs 0 x", "--jobs 257 x",
                                  "--seeds 0..18446744073709551615 x", "--seeds 0..99999999 --shard 1/2 x", "'/nonexistent.trace'", ""}) {
        CAPTURE(arguments);
        Finished done = tu104sim("explore " + arguments);
        CHECK(done.code == 2);
        CHECK(done.text.find("seed 0") == std::string::npos);
    }
    CHECK(tu104sim("explore --points").text.find("pci.lost") != std::string::npos);
}
