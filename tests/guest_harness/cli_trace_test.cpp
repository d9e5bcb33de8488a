// The trace subcommands through the program itself: output and exit codes.
#include <doctest/doctest.h>

#include <limits>

#include "guest_harness/trace/text.h"
#include "tests/support/command_line.h"
#include "tests/support/trace_samples.h"

using namespace harness::trace;
using test_support::Finished;
using test_support::tu104sim;

namespace {

bool has(const Finished& done, std::string_view text) { return done.says(text); }

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
        CHECK_MESSAGE(!has(one, " TEXT"), name << ": the help says of every value what it is");
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

TEST_CASE("cli: a replay that compares nothing does not succeed") {
    Trace sample = test_support::sample_trace();
    sample.events.clear();
    sample.complete = false;
    Finished done = tu104sim("replay '" + sample_file("cli_no_event.trace", encode(sample)) + "'");
    CHECK(done.exit_code == 1);
    CHECK(has(done, "holds no event"));
}

TEST_CASE("cli: a folder for kernel traces is made where its parent is") {
    const std::string trace = sample_file("cli_folder.trace", encode(test_support::sample_trace()));
    Finished done = tu104sim("replay --sass-trace '" + trace + ".none/x' '" + trace + "'");
    CHECK(done.exit_code == 2);
    CHECK(has(done, "its parent has to be there"));
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
    CHECK(has(done, "retargeted to t4"));
    // A recording of a chip that is not modelled cannot be replayed as it is, and says so.
    CHECK(tu104sim("import '" TU104SIM_SOURCE_DIR "/tests/guest_harness/data/hopper_excerpt.jsonl' --gpu as-recorded -o '" + trace + "'")
              .exit_code == 0);
    Finished replay = tu104sim("replay '" + trace + "'");
    CHECK(replay.exit_code == 2);
    CHECK(has(replay, "gh100"));
}

TEST_CASE("cli: the example of a recording imports and replays as docs/IMPORT.md says") {
    std::string trace = test_support::scratch_path("cli_recording.trace");
    CHECK(tu104sim("import '" TU104SIM_SOURCE_DIR "/examples/recording.jsonl' -o '" + trace + "'").exit_code == 0);
    Finished replay = tu104sim("replay '" + trace + "'");
    CHECK(replay.exit_code == 0);
    CHECK(has(replay, "RM calls 4 of 4 with the recorded status"));
    CHECK(has(replay, "unexplained differences 0"));
}

TEST_CASE("cli: info lists chips, drivers and classes") {
    Finished text = tu104sim("info");
    CHECK(text.exit_code == 0);
    CHECK(has(text, "chip t4"));
    CHECK(has(text, "driver 570.144"));
    CHECK(has(text, "TURING_COMPUTE_A"));
    CHECK(has(tu104sim("info --json"), "\"trace_schema\": 2"));
    Finished controls = tu104sim("info --controls");
    CHECK(has(controls, "NV2080_CTRL_CMD_MC_GET_ARCH_INFO"));
    CHECK(has(controls, "exact       NV_PMC_BOOT_0"));
    CHECK(has(controls, "firmware status-only clocks are fixed"));
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

// The text form of the sample once it has been written: its closing record carries the right chain.
static std::string sealed_twin() {
    Reader reader("sample", encode(test_support::sample_trace()));
    return to_text(read_all(reader));
}

TEST_CASE("cli: what cannot be written is never a success") {
    std::string path = sample_file("cli_output.trace", encode(test_support::sample_trace()));
    for (const char* command : {"info", "info --json", "show", "show --text", "verify", "coverage", "--help", "show --help"}) {
        bool reads = std::string_view("svc").find(command[0]) != std::string_view::npos;
        std::string arguments = command + (reads ? " '" + path + "'" : std::string());
        for (const char* output : {" >/dev/full", " >&-"}) {
            Finished done = tu104sim("2>&1 " + arguments + output + " #");
            CHECK_MESSAGE(done.exit_code == 2, arguments, output);
            CHECK_MESSAGE(has(done, "cannot write standard output"), arguments, output);
        }
    }
    // A standard error that takes nothing changes nothing, and no file takes the place of a closed stream.
    CHECK(tu104sim("verify '" + path + "' 2>&- #").exit_code == 0);
    CHECK(tu104sim("verify /nonexistent.trace 2>/dev/full #").exit_code == 2);
    std::string back = test_support::scratch_path("cli_output_back.trace");
    CHECK(tu104sim("import '" + sample_file("cli_output.textproto", sealed_twin()) + "' -o '" + back +
                   "' <&- >&- 2>&- #")
              .exit_code == 2);
    CHECK(test_support::read_file(back) == test_support::read_file(path));
}

TEST_CASE("cli: a trace never replaces what is not a file") {
    std::string twin = sample_file("cli_device.textproto", sealed_twin());
    for (const char* target : {"/dev/null", "/dev"}) {
        Finished done = tu104sim("import '" + twin + "' -o " + target);
        CHECK_MESSAGE(done.exit_code == 2, target);
        CHECK_MESSAGE(has(done, "give the path of a file"), target);
    }
}

TEST_CASE("cli: a journal that does not fit is a mistake on the host") {
    Finished done = tu104sim("replay --journal /dev/full '" TU104SIM_SOURCE_DIR "/seeds/replay/rm_client.trace'");
    CHECK(done.exit_code == 2);
    CHECK(has(done, "cannot write /dev/full"));
}

TEST_CASE("cli: numbers are whole, unsigned and of 64 bits") {
    for (const char* text : {"banana", "''", "-1", "+5", "' 7'", "'7 '", "1e9", "0x", "18446744073709551616", "0x10000000000000000"}) {
        for (const char* command : {"run --seed ", "run --time-limit ", "replay --seed ", "replay --goto "}) {
            Finished done = tu104sim(std::string(command) + text + " -- /nonexistent");
            CHECK_MESSAGE(done.exit_code == 2, command, text);
            CHECK_MESSAGE(has(done, "is not a number of 64 bits"), command, text);
            CHECK_MESSAGE(!has(done, "cannot open"), command, text);  // refused before any file is looked at
        }
    }
    CHECK(has(tu104sim("run --seed 0xffffffffffffffff -- /nonexistent"), "cannot open the guest program /nonexistent"));
}

TEST_CASE("cli: show takes the one result that has no positive twin") {
    Trace sample = test_support::sample_trace();
    for (Event& event : sample.events)
        if (auto* call = std::get_if<harness::CallRecord>(&event)) call->result = std::numeric_limits<sim::i64>::min();
    Finished done = tu104sim("show '" + sample_file("cli_lowest.trace", encode(sample)) + "'");
    CHECK(done.exit_code == 0);
    CHECK(has(done, "-errno 9223372036854775808"));
}

TEST_CASE("cli: a driver version that runs on another's layouts says so") {
    Finished done = tu104sim("run --driver 570.999 -- /nonexistent");
    CHECK(done.exit_code == 2);
    CHECK(has(done, "driver 570.999 runs on the layouts of 570."));
    CHECK(!has(tu104sim("run --driver 570.144 -- /nonexistent"), "layouts"));
}
