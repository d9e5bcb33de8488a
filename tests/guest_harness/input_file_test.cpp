// Files that people hand in: whole, or refused in a sentence.
#include "guest_harness/input_file.h"

#include <doctest/doctest.h>

#include "sim/check.h"
#include "tests/support/command_line.h"
#include "tests/support/trace_samples.h"

using namespace harness;

namespace {

std::string why_not(const std::string& path, u64 bytes_max) {
    try {
        read_input_file(path, bytes_max);
    } catch (const sim::HostError& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("an input file is read whole, up to its bound") {
    const std::string path = test_support::scratch_path("input_file");
    const std::string bytes(200'000, 'x');
    test_support::write_file(path, bytes);
    CHECK(read_input_file(path, bytes.size()) == bytes);
    CHECK(why_not(path, bytes.size() - 1).find("more than 199999 bytes") != std::string::npos);
    test_support::write_file(path, "");
    CHECK(read_input_file(path, 0).empty());
}

TEST_CASE("what is no file, or has no end, is refused") {
    CHECK(why_not("/nonexistent/input", 10).find("cannot be opened") != std::string::npos);
    CHECK(why_not("/", 10).find("is a folder") != std::string::npos);
    CHECK(why_not("/dev/zero", 1 << 20).find("more than") != std::string::npos);
}

TEST_CASE("cli: a file without end is refused wherever one is read") {
    const std::string trace = "'" TU104SIM_SOURCE_DIR "/seeds/replay/rm_client.trace'";
    for (const std::string& arguments :
         {std::string("run --engines /dev/zero -- /nonexistent"), "run --faults /dev/zero -- " + test_support::guest("crash"),
          "replay --faults /dev/zero " + trace, "replay --engines /dev/zero " + trace, std::string("explore /dev/zero"),
          std::string("replay /dev/zero"), std::string("import /dev/zero -o /nonexistent/x")}) {
        const test_support::Finished done = test_support::tu104sim(arguments);
        CHECK_MESSAGE(done.exit_code == 2, arguments);
        CHECK_MESSAGE(done.says("/dev/zero"), arguments);
    }
}
