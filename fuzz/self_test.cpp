// One digest for all that the input at work has come to.
#include "fuzz/self_test.h"

#include <cstdlib>

namespace fuzz {

namespace {

sim::DigestBuilder& outcome() {
    static sim::DigestBuilder builder;
    return builder;
}

}  // namespace

bool self_testing() {
    static const bool asked = std::getenv("TU104SIM_FUZZ_SELF_TEST") != nullptr;
    return asked;
}

void note_outcome(sim::Digest128 digest) {
    outcome().add_u64(digest.low);
    outcome().add_u64(digest.high);
}

sim::Digest128 take_outcome() {
    const sim::Digest128 digest = outcome().finish();
    outcome().reset();
    return digest;
}

}  // namespace fuzz
