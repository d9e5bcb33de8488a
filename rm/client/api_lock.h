// One call into the driver at a time, in the order of arrival, as the driver's API lock has it. Calls wait for the
// firmware while they hold it.
#pragma once

#include "sim/check.h"
#include "sim/fiber.h"

namespace rm::client {

class ApiLock {
public:
    struct State {
        sim::Condition free{"driver API lock"};
        bool locked = false;
    };

    // Precondition outside a fiber: nobody holds the lock.
    ApiLock(sim::Fibers& fibers, State& state) : fibers_(fibers), state_(state) {
        if (fibers.in_fiber()) fibers.wait_until(state.free, [&state] { return !state.locked; });
        SIM_CHECK(!state.locked);
        state.locked = true;
    }
    ~ApiLock() {
        state_.locked = false;
        fibers_.notify_all(state_.free);
    }
    ApiLock(const ApiLock&) = delete;
    ApiLock& operator=(const ApiLock&) = delete;

private:
    sim::Fibers& fibers_;
    State& state_;
};

}  // namespace rm::client
