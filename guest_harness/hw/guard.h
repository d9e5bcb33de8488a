// Whether the work on real hardware may go on: a refusal (what must not or cannot be forwarded, by name), a signal of the user's, or the
// test switch that aborts at a crossing end it. After that nothing reaches the driver but the ledger's release.
#pragma once

#include <string>
#include <string_view>

#include "sim/kernel.h"

namespace harness::hw {

using namespace sim;

class Guard {
public:
    // abort_after: crossings until the forced abort; 0: none.
    Guard(sim::Kernel& kernel, u64 abort_after) : kernel_(kernel), abort_after_(abort_after) {}

    // One crossing begins; false: it must not.
    bool go_on();
    // A wait looks every now and then.
    bool stopped();
    // The run needs what must not be forwarded. Listed as unmodelled, so that it ends with exit code 3.
    void refuse(std::string_view key, std::string_view detail);
    void abort(std::string reason);
    // From now on what must not be forwarded is left out by name, and the run goes on without it.
    void leave_out() { leaves_out_ = true; }
    u64 left_out() const { return left_out_; }

    const std::string& reason() const { return reason_; }  // empty: nothing stopped it
    bool refused() const { return refused_; }
    u64 crossings() const { return crossings_; }

private:
    sim::Kernel& kernel_;
    u64 abort_after_;
    u64 crossings_ = 0;
    bool refused_ = false;
    bool leaves_out_ = false;
    u64 left_out_ = 0;
    std::string reason_;
};

// While it lives, SIGINT, SIGTERM and SIGHUP are noted instead of ending the process, so that everything is given back first.
class SignalWatch {
public:
    SignalWatch();
    ~SignalWatch();
    SignalWatch(const SignalWatch&) = delete;
    SignalWatch& operator=(const SignalWatch&) = delete;
    // The signal that came; 0: none.
    static int received();

private:
    struct Saved;
    Saved* saved_;
};

}  // namespace harness::hw
