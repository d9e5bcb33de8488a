// One machine for all inputs: booted once, then put back to exactly that state before each.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "guest_harness/machine.h"
#include "sim/undo.h"

namespace fuzz {

using namespace sim;

class Booted {
public:
    // prepare: what is done once after the machine is built, on a fiber.
    explicit Booted(const std::function<void(harness::Machine&)>& prepare, const harness::MachineOptions& options = {});
    ~Booted();

    harness::Machine& machine() { return *machine_; }
    // Runs `body` on a fiber until it ends or the machine has nothing left to do within `limit` of virtual time.
    // A call that waits longer is cancelled. In a self-test, what came of it is noted (self_test.h).
    void run(const std::function<void()>& body, SimTime limit = SimTime::from_ms(200));
    // Back to the state after `prepare`. In a self-test, checks that it is.
    void reset();

private:
    void run_in_pieces(SimTime end);

    std::unique_ptr<harness::Machine> machine_;
    StateList states_;
    std::optional<Undo> clean_;
    Snapshot clean_snapshot_;  // where outcomes are noted: names the fields that differ
    Digest128 clean_digest_;
};

}  // namespace fuzz
