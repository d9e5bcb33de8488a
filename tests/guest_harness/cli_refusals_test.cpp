// What commands do with what they refuse: no file is left, one sentence says why, and both ways to replay judge alike.
#include <doctest/doctest.h>
#include <elf.h>

#include <cstring>
#include <filesystem>

#include "guest_harness/input_file.h"
#include "guest_harness/trace/text.h"
#include "tests/support/command_line.h"
#include "tests/support/trace_samples.h"

using namespace harness;
using test_support::Finished;
using test_support::guest;
using test_support::scratch_path;
using test_support::tu104sim;

namespace {

bool left_behind(const std::string& path) {
    return std::filesystem::exists(path) || std::filesystem::exists(path + ".incomplete");
}

std::string written(const std::string& name, const std::string& bytes) {
    const std::string path = scratch_path(name);
    test_support::write_file(path, bytes);
    return path;
}

std::string quote(const std::string& path) { return "'" + path + "'"; }

const std::string kClientTrace = TU104SIM_SOURCE_DIR "/seeds/replay/rm_client.trace";

// The trace as a text twin after a change, without what the change breaks.
template <typename Change>
std::string altered(const std::string& name, Change change) {
    trace::Trace trace = trace::load(kClientTrace);
    change(trace);
    trace.complete = false;
    return written(name, trace::to_text(trace));
}

}  // namespace

TEST_CASE("cli: a command that fails leaves no file") {
    const std::string out = scratch_path("refused.out");
    const std::string open_twin = altered("refused_open.txt", [](trace::Trace&) {});
    const std::string torn = written("refused.jsonl", "{\"kind\": \"step\", \"after\": \"a\"}\n{\"kind\": \"frob\"}\n");
    const std::string no_program = written("refused.elf", "\x7f" "ELF and no more");
    const std::string client = " -- " + guest("rm_client");
    for (const std::string& command : {"import " + quote(open_twin) + " -o " + quote(out), "import " + quote(torn) + " -o " + quote(out),
                                       "run --record " + quote(out) + " -- " + quote(no_program),
                                       "run --journal " + quote(out) + " -- " + quote(no_program),
                                       "run --timeline " + quote(out) + " -- " + quote(no_program),
                                       "run --hw=model --record " + quote(out) + " -- " + quote(no_program),
                                       "replay --journal " + quote(out) + " " + quote(torn),
                                       "report " + quote(torn) + " -o " + quote(out), "minimize " + quote(torn) + " -o " + quote(out),
                                       "extract-kernels " + quote(torn) + " -o " + quote(out),
                                       "conform --record " + quote(out) + " --driver 1.2.3",
                                       "record -o " + quote(out) + " -- /nonexistent"}) {
        std::filesystem::remove_all(out);
        const Finished done = tu104sim(command);
        CAPTURE(command);
        CHECK_MESSAGE(done.exit_code != 0, done.output);
        CHECK_MESSAGE(done.exit_code <= 2, done.errors);
        CHECK(!left_behind(out));
    }
}

TEST_CASE("cli: a journal that cannot be finished leaves the older one") {
    const std::string journal = written("refused.journal", "older\n");
    const std::string no_program = written("refused2.elf", "no program");
    CHECK(tu104sim("run --journal " + quote(journal) + " -- " + quote(no_program)).exit_code == 2);
    CHECK(read_input_file(journal, 100) == "older\n");
}

TEST_CASE("cli: places that cannot be written are the user's mistake") {
    for (const char* command : {"extract-kernels '" TU104SIM_SOURCE_DIR "/tests/guest_harness/data/embedded_like.cubin' -o /dev/null/x",
                                "report '" TU104SIM_SOURCE_DIR "/seeds/replay/rm_client.trace' -o /nonexistent/a.html",
                                "conform --record /nonexistent/a --count 1"}) {
        const Finished done = tu104sim(command);
        CAPTURE(command);
        CHECK_MESSAGE(done.exit_code == 2, done.errors);
    }
}

TEST_CASE("cli: events out of order are refused by replay and verify alike") {
    const std::string swapped = altered("refused_swapped.txt", [](trace::Trace& trace) { std::swap(trace.events[40], trace.events[41]); });
    for (const char* command : {"replay ", "verify ", "show ", "replay --hw=model "}) {
        const Finished done = tu104sim(command + quote(swapped));
        CAPTURE(command);
        CHECK(done.exit_code == 2);
        CHECK(done.says("event 41"));
        CHECK(done.says("the order in which they ended"));
    }
}

TEST_CASE("cli: replay on the model and replay --hw judge an altered trace alike") {
    const auto nth_call = [](trace::Trace& trace, u64 number) -> CallRecord& {
        for (trace::Event& event : trace.events) {
            auto* call = std::get_if<CallRecord>(&event);
            if (call != nullptr && call->kind == CallRecord::Kind::Ioctl && !call->accesses.empty() && number-- == 0) return *call;
        }
        FAIL("the trace has no such call");
        return std::get<CallRecord>(trace.events.front());
    };
    const std::string address = altered("altered_address.txt", [&](trace::Trace& t) { nth_call(t, 12).accesses.back().address += 0x1000; });
    const std::string argument = altered("altered_argument.txt", [&](trace::Trace& t) { nth_call(t, 12).argument += 0x1000; });
    const std::string handle = altered("altered_bytes.txt", [&](trace::Trace& t) { nth_call(t, 12).accesses.back().data[0] ^= 1; });
    const std::string file = altered("altered_file.txt", [&](trace::Trace& t) { nth_call(t, 12).fd = 99; });
    for (const std::string& path : {address, argument, handle, file}) {
        const Finished plain = tu104sim("replay " + quote(path));
        const Finished hardware = tu104sim("replay --hw=model " + quote(path));
        CAPTURE(path);
        CHECK(plain.exit_code == 1);
        CHECK_MESSAGE(hardware.exit_code == 1, hardware.output);
        CHECK(hardware.says("nothing was done on hardware"));
    }
    CHECK(tu104sim("replay --hw=model " + quote(altered("not_altered.txt", [](trace::Trace&) {}))).exit_code == 0);
    CHECK(tu104sim("replay --hw=model --seed 3 " + quote(kClientTrace)).exit_code == 2);
}

TEST_CASE("cli: a trace recorded with --hw says so wherever it is read") {
    const std::string trace = scratch_path("by_hardware.trace");
    REQUIRE(tu104sim("run --hw=model --record " + quote(trace) + " -- " + guest("rm_client")).exit_code == 0);
    constexpr const char* kMark = "its replies and times are those of ";
    for (const char* command : {"show ", "verify ", "replay ", "explore "}) {
        CAPTURE(command);
        CHECK(tu104sim(command + quote(trace)).says(kMark));
    }
    CHECK(tu104sim("replay --json " + quote(trace)).output.find(kMark) != std::string::npos);
    CHECK(tu104sim("show --text " + quote(trace)).output.find("hardware: \"") != std::string::npos);
    CHECK(tu104sim("verify " + quote(trace)).exit_code == 0);
    CHECK(tu104sim("explore " + quote(trace)).exit_code == 2);
    CHECK(tu104sim("replay --hw=model " + quote(trace)).exit_code == 0);
    CHECK(!tu104sim("show " + quote(kClientTrace)).says(kMark));
}

TEST_CASE("cli: minimize needs a replay, and time for it") {
    const std::string out = quote(scratch_path("refused_small.txt"));
    for (const char* option : {"--seconds 0", "--tries 0", "--seconds 18446744073709551615"}) {
        const Finished done = tu104sim("minimize " + quote(kClientTrace) + " -o " + out + " " + option);
        CHECK(done.exit_code == 2);
        CHECK(done.says(std::string(option).substr(0, 7)));
    }
}

TEST_CASE("cli: a guest that is no static program is named whole, with what to do") {
    const std::string here = std::filesystem::canonical("/proc/self/exe").string();
    for (const char* how : {"run -- ", "run --hw=model -- "}) {
        const Finished done = tu104sim(how + quote(here));  // this test is a dynamic program
        CHECK(done.exit_code == 2);
        CHECK(done.says(here + ": is a dynamic program"));
        CHECK(done.says("-static"));
    }
}

TEST_CASE("cli: a guest that leaves no room for its stack is refused by name") {
    std::string program = read_input_file(TU104SIM_BINARY_DIR "/guests/system", kPlanBytesMax);
    Elf64_Ehdr header;
    std::memcpy(&header, program.data(), sizeof header);
    for (u16 i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment;
        char* place = program.data() + header.e_phoff + i * sizeof segment;
        std::memcpy(&segment, place, sizeof segment);
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
        segment.p_memsz = 0xfff0'0000;
        std::memcpy(place, &segment, sizeof segment);
    }
    const std::string path = written("refused_large.elf", program);
    const Finished done = tu104sim("run --boot warm -- " + quote(path));
    CHECK_MESSAGE(done.exit_code == 2, done.errors);
    CHECK(done.says(path + ": the guest's segments leave no room for its stack"));
}

TEST_CASE("cli: a folder of kernel traces goes with the command that fails") {
    const std::string folder = scratch_path("refused_sass");
    std::filesystem::remove_all(folder);
    const std::string torn = written("refused.trace", "TU104TRC and no more");
    CHECK(tu104sim("replay --sass-trace " + quote(folder) + " " + quote(torn)).exit_code == 2);
    CHECK(!std::filesystem::exists(folder));
    CHECK(tu104sim("replay --sass-trace " + quote(folder) + " '" TU104SIM_SOURCE_DIR "/seeds/replay/kernel_client.trace'").exit_code == 0);
    CHECK(std::filesystem::exists(folder + "/kernelslist.g"));
    std::filesystem::remove_all(folder);
}

TEST_CASE("cli: mistakes of the command line are sentences as all others, and say where the help is") {
    struct Typed {
        const char* command;
        const char* says;
    };
    constexpr Typed kTyped[] = {
        {"frob", "tu104sim: there is no command \"frob\"; `tu104sim --help` lists them"},
        {"", "tu104sim: A subcommand is required; see `tu104sim --help`"},
        {"verify", "tu104sim: trace is required; see `tu104sim verify --help`"},
        {"verify a b", "see `tu104sim verify --help`"},
        {"replay a --report b", "tu104sim: --report requires --hw; see `tu104sim replay --help`"},
        {"run --hw=rm --seed 3 -- a", "--seed is not for --hw"},
        {"run --hw=cuda --boot warm -- a", "--boot is not for --hw"},
        {"conform --record a --count 0", "--count is 0, must be 1 to"},
        {"conform --record a --count 18446744073709551615", "must be 1 to"},
    };
    for (const Typed& typed : kTyped) {
        const Finished done = tu104sim(typed.command);
        CAPTURE(done.errors);
        CHECK(done.exit_code == 2);
        CHECK(done.says(typed.says));
        CHECK(done.says("reproduce: tu104sim"));
    }
}

TEST_CASE("cli: what compares or records nothing does not succeed") {
    const std::string answers = scratch_path("refused_answers.jsonl");
    REQUIRE(tu104sim("conform --record " + quote(answers) + " --count 2").exit_code == 0);
    CHECK(tu104sim("conform " + quote(answers)).exit_code == 0);
    const std::string text = read_input_file(answers, kPlanBytesMax);
    const std::string none = written("refused_none.jsonl", text.substr(0, text.find('\n') + 1));
    const Finished done = tu104sim("conform " + quote(none));
    CHECK(done.exit_code == 2);
    CHECK(done.says("holds no sequence"));
    const std::string out = scratch_path("refused_record.trace");
    const Finished recorded = tu104sim("record -o " + quote(out) + " -- true");
    CHECK(recorded.exit_code != 0);
    CHECK(!left_behind(out));
}
