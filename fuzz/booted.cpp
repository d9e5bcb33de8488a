// Boots once; every reset puts back what differs (sim/undo.h) and drops what a kernel keeps beside its state.
#include "fuzz/booted.h"

#include <cstdio>
#include <string>

#include "fuzz/self_test.h"
#include "fuzz/target.h"

namespace fuzz {

Booted::Booted(const std::function<void(harness::Machine&)>& prepare, const harness::MachineOptions& options)
    : machine_(std::make_unique<harness::Machine>(options)) {
    states_.add("machine", *machine_);
    Kernel& kernel = machine_->kernel();
    kernel.fibers().spawn("fuzz", Phase::Guest, [&] { prepare(*machine_); });
    kernel.run(kernel.now() + SimTime::from_s(10));
    FUZZ_CHECK(kernel.fibers().suspended_count() == 0);
    clean_.emplace(states_);
    if (!self_testing()) return;
    clean_snapshot_ = Snapshot::save(states_);
    clean_digest_ = states_.digest();
}

Booted::~Booted() = default;

void Booted::run(const std::function<void()>& body, SimTime limit) {
    Kernel& kernel = machine_->kernel();
    kernel.fibers().spawn("fuzz", Phase::Guest, body);
    kernel.run(kernel.now() + limit);
    kernel.fibers().cancel_all();
    if (self_testing()) note_outcome(states_.digest());
}

void Booted::reset() {
    machine_->kernel().faults().disarm_all();
    clean_->restore();
    machine_->kernel().watchdog().progress();
    if (!self_testing() || states_.digest() == clean_digest_) return;
    for (const std::string& line : clean_snapshot_.diff_with(states_)) std::fprintf(stderr, "%s\n", line.c_str());
    finding("a reset brings the state back", __FILE__, __LINE__);
}

}  // namespace fuzz
