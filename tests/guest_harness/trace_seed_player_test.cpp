// Tests of guest_harness/trace/seed_player: a seed that goes on from the shared state ends exactly as one that is
// played from the start, whatever was played before it.
#include "guest_harness/trace/seed_player.h"

#include <doctest/doctest.h>

#include <string>

#include "guest_harness/trace/text.h"

using namespace harness;

namespace {

std::string recorded(const std::string& name) {
    return trace::encode(trace::load(std::string(TU104SIM_SOURCE_DIR) + "/seeds/replay/" + name + ".trace"));
}

trace::OpenTrace opener(const std::string& bytes) {
    return [&bytes] { return std::make_unique<trace::Reader>("recorded", bytes); };
}

std::string all_of(const trace::PlayOutcome& outcome) {
    std::string text = outcome.summary.line() + " events " + std::to_string(outcome.events_played) + " by time " +
                       std::to_string(outcome.values_by_time);
    text += outcome.same_seed ? " same" : " other";
    if (outcome.divergence) text += " " + outcome.divergence->text();
    for (const auto& [key, entry] : outcome.unmodelled) text += " " + key + " " + std::to_string(entry.count);
    return text;
}

}  // namespace

TEST_CASE("seeds share the boot, and end as they do alone, in any order") {
    constexpr u64 kSeeds[] = {0, 1, 2, 3, 17, 0, 3, ~u64{0}, 1, 40, 41};
    for (const char* name : {"rm_client", "kernel_client", "rm_client_rtx2080"}) {
        CAPTURE(name);
        const std::string bytes = recorded(name);
        trace::SeedPlayer player(opener(bytes), {});
        CHECK(player.shared_events() > 5);  // the board boots when event 4 opens it
        for (u64 seed : kSeeds) {
            CAPTURE(seed);
            trace::PlayOptions alone;
            alone.seed = seed;
            CHECK(all_of(player.play(seed)) == all_of(trace::play(opener(bytes), alone)));
        }
    }
}

TEST_CASE("a trace under a fault plan shares nothing, because its faults follow from the seed") {
    const std::string bytes = recorded("rm_client_late_interrupts");
    trace::SeedPlayer player(opener(bytes), {});
    CHECK(player.shared_events() == 0);
    for (u64 seed : {u64{0}, u64{5}}) {
        trace::PlayOptions alone;
        alone.seed = seed;
        CHECK(all_of(player.play(seed)) == all_of(trace::play(opener(bytes), alone)));
    }
}

TEST_CASE("a seed that fails leaves nothing to the next") {
    trace::Trace spoilt = trace::load(std::string(TU104SIM_SOURCE_DIR) + "/seeds/replay/rm_client.trace");
    u64 polls = 0;  // the first poll waits for a value that never comes
    for (trace::Event& event : spoilt.events) {
        auto* poll = std::get_if<PollRecord>(&event);
        if (poll != nullptr && ++polls == 1) poll->new_value ^= 0x55;
    }
    REQUIRE(polls >= 1);
    spoilt.complete = false;
    spoilt.closing = {};
    const std::string bytes = trace::encode(spoilt);
    trace::SeedPlayer player(opener(bytes), {});
    CHECK(player.shared_events() > 5);
    for (u64 seed : {u64{4}, u64{0}, u64{4}}) {
        CAPTURE(seed);
        trace::PlayOptions alone;
        alone.seed = seed;
        const std::string expected = all_of(trace::play(opener(bytes), alone));
        CHECK(expected.find("never becomes") != std::string::npos);
        CHECK(all_of(player.play(seed)) == expected);
    }
}
