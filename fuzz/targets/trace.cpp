// A trace file. One that reads whole is written again and must read the same.
#include <string>

#include "fuzz/self_test.h"
#include "fuzz/target.h"
#include "guest_harness/trace/container.h"
#include "sim/check.h"

namespace fuzz {

void run_trace(std::span<const u8> input) {
    try {
        harness::trace::Reader reader("input", std::string(input.begin(), input.end()));
        const harness::trace::Trace trace = harness::trace::read_all(reader);
        harness::trace::Reader again("again", harness::trace::encode(trace));
        const harness::trace::Trace second = harness::trace::read_all(again);
        // The chain is over the header and every event's own bytes.
        FUZZ_CHECK(again.chain() == reader.chain() && again.count() == reader.count());
        FUZZ_CHECK(second.complete == trace.complete);
        FUZZ_CHECK(second.closing.memory == trace.closing.memory);
        FUZZ_CHECK(second.closing.summary.line() == trace.closing.summary.line());
        if (noting_outcomes()) note_outcome(reader.chain());
    } catch (const sim::HostError& error) {
        note_text(error.what());  // damage, said with its place
    }
}

}  // namespace fuzz
