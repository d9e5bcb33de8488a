// One run: time, events, fibers, chance, journal, probes, fault points, the unmodelled list and the watchdog, owned
// together. No GPU word in it. A Kernel is constructed, passed and destroyed; nothing is global.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sim/check.h"
#include "sim/event_queue.h"
#include "sim/fault_point.h"
#include "sim/fiber.h"
#include "sim/journal.h"
#include "sim/probe.h"
#include "sim/rng.h"
#include "sim/unmodelled.h"
#include "sim/watchdog.h"

namespace sim {

struct KernelOptions {
    u64 seed = 0;  // 0 is the nominal schedule
};

class Kernel final : public FailureContext {
public:
    explicit Kernel(KernelOptions options = {});
    ~Kernel() override;

    u64 seed() const { return options_.seed; }
    SimTime now() const { return events_.now(); }
    EventQueue& events() { return events_; }
    Fibers& fibers() { return fibers_; }
    Journal& journal() { return journal_; }
    Probes& probes() { return probes_; }
    FaultPoints& faults() { return faults_; }
    Unmodelled& unmodelled() { return unmodelled_; }
    Watchdog& watchdog() { return watchdog_; }
    RandomStream stream(std::string_view path, std::string_view purpose) {
        ++draws_;
        return RandomStream(options_.seed, path, purpose);
    }
    // Streams asked for so far. While there is none, this run has been the same as that of any other seed.
    u64 draws() const { return draws_; }
    // Goes on as a run of another seed; a stop() that no run has met is forgotten. Preconditions: draws() == 0, no fault
    // point is armed.
    void reseed(u64 seed);

    // Ends run() after the current event; the reason is for people.
    void stop(std::string reason);
    enum class StopReason : u8 { Idle, Stopped, TimeLimit, Watchdog };
    struct RunResult {
        StopReason reason = StopReason::Idle;
        std::string text;
    };
    // Runs events until none is left, stop(), the limit (now() is then the limit), or the watchdog bites. Failing
    // checks describe this run meanwhile. Exceptions of fibers and events pass through; the kernel may be run again.
    RunResult run(SimTime limit = SimTime::max());

    std::string describe_now() const override;

    // Time, draws, pending events, journal chain, fault visits and the unmodelled list. Precondition when saving: no
    // fiber is suspended.
    void visit(StateVisitor& visitor);

private:
    KernelOptions options_;
    u64 draws_ = 0;
    bool stopping_ = false;
    std::string stop_text_;
    EventQueue events_;
    Fibers fibers_;
    Journal journal_;
    Probes probes_;
    FaultPoints faults_;
    Unmodelled unmodelled_;
    Watchdog watchdog_;
};

}  // namespace sim
