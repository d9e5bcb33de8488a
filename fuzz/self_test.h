// Self-test of the targets: with TU104SIM_FUZZ_SELF_TEST in the environment every reset of a machine is compared with the
// state it shall come back to, and every run leaves a digest, so that fuzz_replay can run an input twice, with another in
// between, and see that nothing was left over.
#pragma once

#include "sim/digest.h"

namespace fuzz {

bool self_testing();
// Adds to what the input at work has come to.
void note_outcome(sim::Digest128 digest);
// What it came to since the last call; zero when nothing was noted.
sim::Digest128 take_outcome();

}  // namespace fuzz
