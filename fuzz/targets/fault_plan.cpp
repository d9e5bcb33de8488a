// A fault plan's text. What parses is printed, and the print parses to the same plan.
#include <string>

#include "fuzz/self_test.h"
#include "fuzz/target.h"
#include "guest_harness/fault_plan.h"
#include "sim/check.h"

namespace fuzz {

void run_fault_plan(std::span<const u8> input) {
    const std::string text(input.begin(), input.end());
    try {
        const std::string once = harness::fault_plan_text(harness::parse_fault_plan(text, "input"));
        FUZZ_CHECK(harness::fault_plan_text(harness::parse_fault_plan(once, "print")) == once);
        note_text(once);
    } catch (const sim::HostError& error) {
        FUZZ_CHECK(error.what()[0] != '\0');
        note_text(error.what());
    }
}

}  // namespace fuzz
