// Replays a recorded guest and asserts that every reply and every byte of memory is what the recording says.
#include <guest_harness/trace/player.h>

#include <cstdio>
#include <memory>
#include <string>

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: replay TRACE\n");
        return 2;
    }
    try {
        std::string path = argv[1];
        harness::trace::PlayOutcome outcome =
            harness::trace::play([&path] { return std::make_unique<harness::trace::Reader>(path); }, {});
        std::printf("%s\n", outcome.summary.line().c_str());
        if (outcome.divergence) std::printf("%s\n", outcome.divergence->text().c_str());
        return !outcome.divergence && outcome.complete && outcome.events_played > 0 ? 0 : 1;
    } catch (const sim::HostError& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
}
