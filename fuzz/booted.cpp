// Boots once; every reset loads the saved state.
#include "fuzz/booted.h"

#include <cstdlib>

#include "fuzz/target.h"

namespace fuzz {

Booted::Booted(const std::function<void(harness::Machine&)>& prepare)
    : machine_(std::make_unique<harness::Machine>(harness::MachineOptions{})) {
    states_.add("machine", *machine_);
    run([&] { prepare(*machine_); }, SimTime::from_s(10));
    FUZZ_CHECK(machine_->kernel().fibers().suspended_count() == 0);
    clean_ = Snapshot::save(states_);
    clean_digest_ = digest();
    self_test_ = std::getenv("TU104SIM_FUZZ_SELF_TEST") != nullptr;
}

Booted::~Booted() = default;

Digest128 Booted::digest() { return states_.digest(); }

void Booted::run(const std::function<void()>& body, SimTime limit) {
    Kernel& kernel = machine_->kernel();
    kernel.fibers().spawn("fuzz", Phase::Guest, body);
    kernel.run(kernel.now() + limit);
    kernel.fibers().cancel_all();
}

void Booted::reset() {
    FUZZ_CHECK(clean_.load(states_).empty());
    if (self_test_) FUZZ_CHECK(digest() == clean_digest_);
}

}  // namespace fuzz
