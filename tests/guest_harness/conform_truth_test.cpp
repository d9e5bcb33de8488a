// The model against the real driver: 2,400 generated sequences as 580.159.04 answered them on an H200. Every difference that no rule of
// guest_harness/conform/rules.def explains is listed with its count and its reason in conform_580_h200.expected.txt.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "guest_harness/conform/compare.h"
#include "tests/support/packed_data.h"
#include "tests/support/trace_samples.h"

namespace {

using namespace sim;
namespace conform = harness::conform;

constexpr const char* kExpected = "conform_580_h200.expected.txt";
constexpr std::string_view kNoReason = "no reason yet";

// One line of the list: how many sequences end there, the cause, the reason.
using Reasons = std::map<std::string, std::string>;

Reasons known_reasons() {
    Reasons reasons;
    std::istringstream lines(test_support::read_file(std::string(TU104SIM_SOURCE_DIR) + "/tests/guest_harness/data/" + kExpected));
    for (std::string line; std::getline(lines, line);) {
        const std::size_t cause = line.find(" | ");
        const std::size_t reason = line.rfind(" | ");
        if (cause == reason) continue;
        reasons[line.substr(cause + 3, reason - cause - 3)] = line.substr(reason + 3);
    }
    return reasons;
}

}  // namespace

TEST_CASE("the model answers as the recorded driver did, but for what is listed with a reason") {
    conform::Source source;
    const std::vector<conform::Sequence> recorded =
        conform::from_text(test_support::read_packed("tests/guest_harness/data/conform_580_h200.jsonl.zst"), source);
    CHECK(source.driver == "580.159.04");
    REQUIRE(recorded.size() == 2400);
    harness::MachineOptions options;
    options.driver = "580.95.05";
    const conform::Comparison comparison = conform::compare(recorded, options, [](u64) {});
    CHECK(comparison.sequences == recorded.size());
    CHECK(comparison.failed_calls > 10'000);

    std::map<std::string, u64> counts;
    for (const conform::Difference& difference : comparison.differences) ++counts[difference.cause];
    const Reasons reasons = known_reasons();
    std::string text = fmt::format("{} sequences: {} equal, {} ruled, {} listed here; {} steps\n", comparison.sequences, comparison.equal(),
                                   comparison.ruled, comparison.differences.size(), comparison.steps);
    for (const auto& [cause, count] : counts) {
        const auto reason = reasons.find(cause);
        text += fmt::format("{} | {} | {}\n", count, cause, reason == reasons.end() ? kNoReason : std::string_view(reason->second));
    }
    CHECK(text.find(kNoReason) == std::string::npos);
    const std::string difference = test_support::compare_golden(kExpected, text);
    INFO(difference);
    CHECK(difference.empty());
}
