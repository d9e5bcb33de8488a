// One trace under many seeds. A run that has drawn nothing yet is the same at every seed: the events up to there, the
// boot of the board among them, are played once, and each seed goes on from the state behind them.
#pragma once

#include <memory>
#include <optional>

#include "guest_harness/trace/player.h"
#include "sim/undo.h"

namespace harness::trace {

class SeedPlayer {
public:
    // options: as for play(), but for the seed, which is not used; on_end is called after each seed. Throws HostError
    // as play() does. Preconditions: no on_start, no progress, no stop_before.
    SeedPlayer(const OpenTrace& open, PlayOptions options);
    ~SeedPlayer();
    SeedPlayer(const SeedPlayer&) = delete;
    SeedPlayer& operator=(const SeedPlayer&) = delete;

    // What play() gives at this seed.
    PlayOutcome play(u64 seed);
    // Events that seeds share. 0: each seed is played from the start, because a fault plan or overlapping calls ask for
    // it, or because the trace draws at once.
    u64 shared_events() const { return shared_; }

private:
    u64 count_shared() const;
    void play_shared();

    Script script_;
    PlayOptions options_;
    std::vector<PlannedFault> faults_;
    u64 shared_ = 0;
    std::unique_ptr<Machine> machine_;  // which has played the shared events; nullptr: none are shared
    StateList states_;
    std::optional<Undo> behind_shared_;
};

}  // namespace harness::trace
