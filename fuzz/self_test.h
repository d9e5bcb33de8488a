// Self-test of the targets: with TU104SIM_FUZZ_SELF_TEST in the environment every reset of a machine is compared with
// the state it shall come back to, and every run leaves a digest, so that fuzz_replay can run an input twice, with
// another in between, and see that nothing was left over.
#pragma once

#include <string_view>

#include "sim/digest.h"

namespace fuzz {

bool self_testing();
// As if the variable were set; before the first input.
void ask_self_test();
// Whether what inputs come to is wanted: in a self-test, and to compare two builds.
bool noting_outcomes();
void ask_outcomes();
// Whether runs of a machine are cut in the middle, saved, loaded and gone on with: nothing may come out differently.
bool cutting_runs();
void cut_runs(bool cut);
// Adds to what the input at work has come to.
void note_outcome(sim::Digest128 digest);
void note_text(std::string_view text);
// What it came to since the last call; zero when nothing was noted.
sim::Digest128 take_outcome();

}  // namespace fuzz
