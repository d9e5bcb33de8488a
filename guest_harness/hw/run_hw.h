// A guest program whose driver is real: the emulated processor runs it, its driver calls and its stores reach the hardware.
#pragma once

#include "guest_harness/hw/session.h"
#include "guest_harness/run.h"

namespace harness::hw {

struct HwRunOutcome {
    RunOutcome run;
    Ending ending;
};

// Of the run's options: guest, arguments, environment, output, sink, limits. The guest asks the driver for its version and speaks that.
// Throws sim::HostError: no such file, no hardware, or a driver that refuses the handshake.
HwRunOutcome run_guest_on(std::unique_ptr<System> system, const RunOptions& options, u64 abort_after);

}  // namespace harness::hw
