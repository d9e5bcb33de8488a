// The text twin of a trace. What parses is printed, and the print parses to itself.
#include <string>

#include "fuzz/self_test.h"
#include "fuzz/target.h"
#include "guest_harness/trace/text.h"
#include "sim/check.h"

namespace fuzz {

void run_trace_text(std::span<const u8> input) {
    try {
        const harness::trace::Trace trace = harness::trace::from_text("input", std::string(input.begin(), input.end()));
        const std::string text = harness::trace::to_text(trace);
        FUZZ_CHECK(harness::trace::to_text(harness::trace::from_text("again", text)) == text);
        note_text(text);
    } catch (const sim::HostError& error) {
        note_text(error.what());
    }
}

}  // namespace fuzz
