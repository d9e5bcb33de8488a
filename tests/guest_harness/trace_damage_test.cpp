// Nothing that reads a trace may crash on a damaged one: it reads, or it says where the damage is.
// TU104SIM_DAMAGED_COPIES sets the number of copies (tools/damage_traces runs 10000 under the sanitizers).
#include <doctest/doctest.h>

#include <cstdlib>

#include "guest_harness/trace/damage.h"
#include "guest_harness/trace/show.h"
#include "guest_harness/trace/statistics.h"
#include "guest_harness/trace/text.h"
#include "guest_harness/trace/trace_diff.h"
#include "tests/support/trace_samples.h"

using namespace harness::trace;
using sim::u64;

namespace {

u64 copies() {
    const char* text = std::getenv("TU104SIM_DAMAGED_COPIES");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : 300;
}

struct Tally {
    u64 refused = 0;
    u64 read = 0;
};

// Every reader of traces, over one file.
void read_every_way(const std::string& bytes, const std::string& good, Tally& tally) {
    try {
        Reader shown("damaged", bytes);
        u64 characters = 0;
        ShowOptions options;
        options.raw = true;
        show(shown, options, [&characters](std::string_view text) {
            characters += text.size();
            return true;
        });
        Reader counted("damaged", bytes);
        collect(counted);
        Reader left("damaged", bytes);
        Reader right("good", good);
        diff(left, right, {});
        Reader values("damaged", bytes);
        Trace trace = read_all(values);
        std::string text = to_text(trace);
        CHECK(to_text(from_text("damaged.txt", text)) == text);
        ++tally.read;
    } catch (const sim::HostError& error) {
        CHECK(std::string(error.what()).size() > 10);
        ++tally.refused;
    }
}

}  // namespace

TEST_CASE("trace damage: raw damage never passes the checks unnoticed") {
    std::string good = encode(test_support::sample_trace());
    Tally tally;
    u64 unchanged = 0;
    for (u64 seed = 0; seed < copies() / 2; ++seed) {
        std::string bad = damaged_copy(good, seed, false);
        if (bad == good) {
            ++unchanged;
            continue;
        }
        read_every_way(bad, good, tally);
    }
    // A cut exactly between two frames is an incomplete trace; everything else is refused.
    CHECK(tally.read * 50 <= tally.refused);
    MESSAGE(tally.refused, " refused, ", tally.read, " read, ", unchanged, " unchanged");
}

TEST_CASE("trace damage: damage under fresh seals reaches the decoders and stops there") {
    std::string good = encode(test_support::sample_trace());
    Tally tally;
    for (u64 seed = 0; seed < copies() / 2; ++seed) read_every_way(damaged_copy(good, seed, true), good, tally);
    CHECK(tally.read > 0);
    CHECK(tally.refused > 0);
    MESSAGE(tally.refused, " refused, ", tally.read, " read");
}

TEST_CASE("trace damage: the text twin refuses damage, too") {
    std::string good = to_text(test_support::sample_trace());
    u64 refused = 0;
    for (u64 seed = 0; seed < copies() / 2; ++seed) {
        std::string bad = damaged_copy(good, seed, false);
        try {
            encode(from_text("damaged.txt", bad));
        } catch (const sim::HostError&) {
            ++refused;
        }
    }
    CHECK(refused > copies() / 10);
}
