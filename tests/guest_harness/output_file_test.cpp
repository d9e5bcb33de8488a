// A file that a command writes is whole, or not there.
#include "guest_harness/output_file.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "guest_harness/input_file.h"
#include "sim/check.h"
#include "tests/support/trace_samples.h"

using harness::OutputFile;

TEST_CASE("output file: an older file stays as it was until the new one is whole") {
    const std::string path = test_support::scratch_path("output.txt");
    test_support::write_file(path, "older");
    {
        OutputFile file(path);
        file.stream() << "half";
    }
    CHECK(harness::read_input_file(path, 100) == "older");
    CHECK(!std::filesystem::exists(path + ".incomplete"));
    OutputFile file(path);
    file.stream() << "whole";
    file.close();
    CHECK(harness::read_input_file(path, 100) == "whole");
    CHECK(!std::filesystem::exists(path + ".incomplete"));
}

TEST_CASE("output file: a link keeps its place") {
    const std::string path = test_support::scratch_path("output_target.txt");
    const std::string link = path + ".link";
    std::filesystem::remove(link);
    std::filesystem::create_symlink(path, link);
    OutputFile file(link);
    file.stream() << "by the link";
    file.close();
    CHECK(std::filesystem::is_symlink(link));
    CHECK(harness::read_input_file(path, 100) == "by the link");
}

TEST_CASE("output file: folders are refused, devices get the bytes") {
    CHECK_THROWS_AS(OutputFile("/"), sim::HostError);
    CHECK_THROWS_AS(OutputFile("/nowhere/at/all"), sim::HostError);
    OutputFile device("/dev/null");
    device.stream() << "nothing";
    device.close();
    OutputFile full("/dev/full");
    full.stream() << "nothing";
    CHECK_THROWS_AS(full.close(), sim::HostError);
}
