// A fault plan's text. What parses is printed here, every field of it, and the print parses to the same plan.
#include <fmt/format.h>

#include <string>

#include "fuzz/self_test.h"
#include "fuzz/target.h"
#include "guest_harness/fault_plan.h"
#include "sim/check.h"

namespace fuzz {

namespace {

// `argument=` only where the point has one: elsewhere it is refused.
std::string print_plan(const std::vector<harness::PlannedFault>& plan) {
    std::string text;
    for (const harness::PlannedFault& fault : plan) {
        const FaultRule& rule = fault.rule;
        text += fmt::format("{} ratio={}/{} from={} to={}", fault.point, rule.numerator, rule.denominator, rule.first_visit,
                            rule.last_visit);
        for (const harness::FaultPointRow& row : harness::fault_points())
            if (row.name == fault.point && !row.argument.empty()) text += fmt::format(" argument={}", rule.argument);
        text += '\n';
    }
    return text;
}

}  // namespace

void run_fault_plan(std::span<const u8> input) {
    const std::string text(input.begin(), input.end());
    try {
        const std::string once = print_plan(harness::parse_fault_plan(text, "input"));
        FUZZ_CHECK(print_plan(harness::parse_fault_plan(once, "print")) == once);
        note_text(once);
    } catch (const sim::HostError& error) {
        FUZZ_CHECK(error.what()[0] != '\0');
        note_text(error.what());
    }
}

}  // namespace fuzz
