// tu104sim minimize as people type it: a trace that fails becomes a small text that fails the same way.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "guest_harness/trace/text.h"
#include "tests/support/command_line.h"

using namespace harness;
using test_support::Finished;
using test_support::tu104sim;

namespace {

struct Folder {
    std::filesystem::path path = std::filesystem::temp_directory_path() / fmt::format("tu104sim_minimize_{}", getpid());
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string file(std::string_view name) const { return (path / name).string(); }
};

std::string text_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// A recorded run in which one answer of the driver has been changed: the write of the last ioctl that has one.
std::string spoilt_trace(const Folder& folder) {
    const std::string path = folder.file("a.trace");
    REQUIRE(tu104sim("run --record '" + path + "' -- " + test_support::guest("rm_client")).exit_code == 0);
    trace::Trace trace = trace::load(path);
    u64 ioctls = 0;
    for (trace::Event& event : trace.events) {
        auto* call = std::get_if<CallRecord>(&event);
        if (call == nullptr || call->kind != CallRecord::Kind::Ioctl || call->accesses.empty()) continue;
        UserAccess& last = call->accesses.back();
        if (++ioctls < 20 || !last.write || last.data.empty()) continue;
        last.data.back() = static_cast<u8>(last.data.back() ^ 0x40);
        break;
    }
    trace.complete = false;
    trace.closing = {};
    const std::string spoilt = folder.file("spoilt.txt");
    std::ofstream(spoilt, std::ios::binary) << trace::to_text(trace);
    return spoilt;
}

}  // namespace

TEST_CASE("minimize: few events are left, with comments, and they fail the same way") {
    Folder folder;
    const std::string spoilt = spoilt_trace(folder);
    const std::string before = tu104sim("replay '" + spoilt + "'").errors;
    CHECK(before.find("the driver wrote other bytes") != std::string::npos);
    const std::string small = folder.file("small.txt");
    const Finished done = tu104sim("minimize '" + spoilt + "' -o '" + small + "'");
    CHECK(done.exit_code == 0);
    CHECK(done.says("reproduce: tu104sim replay"));
    const std::string text = text_of(small);
    CHECK(text.find("# Failure: ") != std::string::npos);
    CHECK(text.find("# event 0, of the original ") != std::string::npos);
    const trace::Trace left = trace::load(small);
    CHECK(left.events.size() < trace::load(spoilt).events.size() / 2);
    const Finished again = tu104sim("replay '" + small + "'");
    CHECK(again.exit_code == 1);
    CHECK(again.errors.find("the driver wrote other bytes") != std::string::npos);
}

TEST_CASE("minimize: a trace that does not fail, and one that cannot be read") {
    Folder folder;
    const std::string path = folder.file("a.trace");
    REQUIRE(tu104sim("run --record '" + path + "' -- " + test_support::guest("rm_client")).exit_code == 0);
    const Finished whole = tu104sim("minimize '" + path + "' -o '" + folder.file("small.txt") + "'");
    CHECK(whole.exit_code == 1);
    CHECK(whole.says("does not fail at seed 0"));
    CHECK(!std::filesystem::exists(folder.file("small.txt")));
    CHECK(tu104sim("minimize '" + folder.file("none") + "' -o '" + folder.file("small.txt") + "'").exit_code == 2);
    CHECK(tu104sim("minimize '" + path + "' -o '" + path + "'").exit_code == 2);
    CHECK(tu104sim("minimize '" + path + "'").exit_code == 2);
}
