// A trace file. One that reads whole is written again and must read the same.
#include <string>

#include "fuzz/self_test.h"
#include "fuzz/target.h"
#include "guest_harness/trace/container.h"
#include "guest_harness/trace/text.h"
#include "sim/check.h"

namespace fuzz {

void run_trace(std::span<const u8> input) {
    try {
        harness::trace::Reader reader("input", std::string(input.begin(), input.end()));
        const harness::trace::Trace trace = harness::trace::read_all(reader);
        harness::trace::Reader again("again", harness::trace::encode(trace));
        const std::string text = harness::trace::to_text(trace);
        FUZZ_CHECK(harness::trace::to_text(harness::trace::read_all(again)) == text);
        note_text(text);
    } catch (const sim::HostError& error) {
        note_text(error.what());
        // Damage, said with its place.
    }
}

}  // namespace fuzz
