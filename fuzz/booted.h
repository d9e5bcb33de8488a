// One machine for all inputs: booted once, then put back to exactly that state before each.
#pragma once

#include <functional>
#include <memory>

#include "guest_harness/machine.h"
#include "sim/snapshot.h"

namespace fuzz {

using namespace sim;

class Booted {
public:
    // prepare: what is done once after the machine is built, on a fiber.
    explicit Booted(const std::function<void(harness::Machine&)>& prepare);
    ~Booted();

    harness::Machine& machine() { return *machine_; }
    // Runs `body` on a fiber until it ends or the machine has nothing left to do within `limit` of virtual time.
    // A call that waits longer is cancelled.
    void run(const std::function<void()>& body, SimTime limit = SimTime::from_ms(200));
    // Back to the state after `prepare`. With TU104SIM_FUZZ_SELF_TEST set, checks that the digest is the same, too.
    void reset();

private:
    Digest128 digest();

    std::unique_ptr<harness::Machine> machine_;
    StateList states_;
    Snapshot clean_;
    Digest128 clean_digest_;
    bool self_test_ = false;
};

}  // namespace fuzz
