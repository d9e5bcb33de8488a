// A file of driver calls and answers. What parses is printed, and the print parses to itself.
#include <string>

#include "fuzz/self_test.h"
#include "fuzz/target.h"
#include "guest_harness/conform/sequence.h"
#include "sim/check.h"

namespace fuzz {

void run_driver_calls(std::span<const u8> input) {
    namespace conform = harness::conform;
    try {
        conform::Source source;
        const std::vector<conform::Sequence> sequences =
            conform::from_text(std::string(input.begin(), input.end()), source);
        const std::string text = conform::to_text(source, sequences);
        conform::Source again;
        FUZZ_CHECK(conform::to_text(again, conform::from_text(text, again)).size() == text.size());
        note_text(text);
    } catch (const sim::HostError& error) {
        note_text(error.what());
    }
}

}  // namespace fuzz
