// The trace subcommands through the program itself: output and exit codes.
#include <doctest/doctest.h>

#include <sys/wait.h>

#include <cstdio>

#include "guest_harness/trace/text.h"
#include "tests/support/trace_samples.h"

using namespace harness::trace;

namespace {

struct Finished {
    int exit_code = -1;
    std::string output;  // standard output and standard error
};

Finished tu104sim(const std::string& arguments) {
    std::string command = std::string("'") + TU104SIM_BINARY_DIR + "/tu104sim' " + arguments + " 2>&1";
    Finished out;
    std::FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    char buffer[4096];
    for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.output.append(buffer, got);
    int status = pclose(pipe);
    if (WIFEXITED(status)) out.exit_code = WEXITSTATUS(status);
    return out;
}

bool has(const Finished& done, std::string_view text) { return done.output.find(text) != std::string::npos; }

// A file that holds the sample, as the given bytes.
std::string sample_file(const std::string& name, const std::string& bytes) {
    std::string path = test_support::scratch_path(name);
    test_support::write_file(path, bytes);
    return path;
}

}  // namespace

TEST_CASE("cli: help names every subcommand and each has an example") {
    Finished help = tu104sim("--help");
    CHECK(help.exit_code == 0);
    for (const char* name : {"run", "replay", "import", "show", "diff", "verify", "coverage", "info"}) {
        CHECK(has(help, name));
        Finished one = tu104sim(std::string(name) + " --help");
        CHECK(one.exit_code == 0);
        CHECK_MESSAGE(has(one, std::string("tu104sim ") + name + " "), name);
    }
}

TEST_CASE("cli: mistakes in the command exit with 2") {
    CHECK(tu104sim("").exit_code == 2);
    CHECK(tu104sim("frobnicate").exit_code == 2);
    CHECK(tu104sim("verify").exit_code == 2);
    CHECK(tu104sim("verify /nonexistent.trace").exit_code == 2);
    CHECK(tu104sim("run -- /nonexistent").exit_code == 2);
    CHECK(tu104sim("replay --seed banana /nonexistent.trace").exit_code == 2);
    Finished missing = tu104sim("show '/nonexistent file.trace'");
    CHECK(has(missing, "reproduce: tu104sim show '/nonexistent file.trace'"));
}

TEST_CASE("cli: verify tells whole, incomplete and damaged apart") {
    Trace sample = test_support::sample_trace();
    std::string whole = encode(sample);
    std::string path = sample_file("cli_whole.trace", whole);
    Finished good = tu104sim("verify '" + path + "'");
    CHECK(good.exit_code == 0);
    CHECK(has(good, "complete"));
    sample.complete = false;
    CHECK(tu104sim("verify '" + sample_file("cli_incomplete.trace", encode(sample)) + "'").exit_code == 1);
    std::string damaged = whole;
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
    Finished bad = tu104sim("verify '" + sample_file("cli_damaged.trace", damaged) + "'");
    CHECK(bad.exit_code == 2);
    CHECK(has(bad, "offset"));
}

TEST_CASE("cli: the text twin goes both ways, and every command reads it") {
    std::string path = sample_file("cli_twin.trace", encode(test_support::sample_trace()));
    Finished text = tu104sim("show --text '" + path + "'");
    REQUIRE(text.exit_code == 0);
    std::string twin = sample_file("cli_twin.textproto", text.output);
    std::string back = test_support::scratch_path("cli_back.trace");
    CHECK(tu104sim("import '" + twin + "' -o '" + back + "'").exit_code == 0);
    CHECK(test_support::read_file(back) == test_support::read_file(path));
    CHECK(tu104sim("diff '" + twin + "' '" + path + "'").exit_code == 0);
    CHECK(tu104sim("verify '" + twin + "'").exit_code == 0);
}

TEST_CASE("cli: diff exits with 1 and shows the first divergence") {
    Trace sample = test_support::sample_trace();
    std::string left = sample_file("cli_left.trace", encode(sample));
    std::get<harness::MmioRecord>(sample.events[5]).value = 0x77;
    std::string right = sample_file("cli_right.trace", encode(sample));
    Finished done = tu104sim("diff '" + left + "' '" + right + "'");
    CHECK(done.exit_code == 1);
    CHECK(has(done, "event 5: value"));
    Finished json = tu104sim("diff --json '" + left + "' '" + right + "'");
    CHECK(json.exit_code == 1);
    CHECK(has(json, "\"same\": false"));
}

TEST_CASE("cli: import counts every pushbuffer word by name") {
    std::string trace = test_support::scratch_path("cli_import.trace");
    Finished done = tu104sim("import '" TU104SIM_SOURCE_DIR "/tests/guest_harness/data/hopper_excerpt.jsonl' -o '" + trace + "'");
    CHECK(done.exit_code == 0);
    CHECK(has(done, "CBC0 HOPPER_COMPUTE_A"));
    CHECK(has(done, "0 invalid"));
    Finished coverage = tu104sim("coverage --json '" + trace + "'");
    CHECK(coverage.exit_code == 0);
    CHECK(has(coverage, "\"NV2080_CTRL_CMD_MC_GET_ARCH_INFO\": 1"));
    // A recording of a chip that is not modelled cannot be replayed, and says so.
    Finished replay = tu104sim("replay '" + trace + "'");
    CHECK(replay.exit_code == 2);
    CHECK(has(replay, "gh100"));
}

TEST_CASE("cli: info lists chips, drivers and classes") {
    Finished text = tu104sim("info");
    CHECK(text.exit_code == 0);
    CHECK(has(text, "chip t4"));
    CHECK(has(text, "driver 570.144"));
    CHECK(has(text, "TURING_COMPUTE_A"));
    CHECK(has(tu104sim("info --json"), "\"trace_schema\": 1"));
    CHECK(has(tu104sim("info --controls"), "NV2080_CTRL_CMD_MC_GET_ARCH_INFO 16"));
}

TEST_CASE("cli: a divergence exits with 1, names the event and repeats the command") {
    // A trace that no machine would have recorded: an unknown node that opens.
    std::string path = sample_file("cli_wrong.textproto",
                                   "header { schema_version: 1 format_compatibility: 1 behaviour_compatibility: 1 chip: \"t4\" "
                                   "driver: \"570.144\" }\n"
                                   "event { call { kind: \"open\" pid: 1 tid: 1 fd: 3 path: \"/dev/nothing\" result: 3 "
                                   "begin: 1000 end: 1000 } }\n"
                                   "closing { }\n");
    Finished done = tu104sim("replay '" + path + "'");
    CHECK(done.exit_code == 1);
    CHECK(has(done, "event 0 (open /dev/nothing"));
    CHECK(has(done, "reproduce: tu104sim replay"));
    CHECK(has(done, "digest "));
}
